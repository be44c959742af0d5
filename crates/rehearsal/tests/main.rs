//! Tests of rehearsals. They are in a single program, so that it is linked only once.

mod on_devices;
mod random_devices;
mod random_programs;
mod rehearsals;
