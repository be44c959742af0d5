//! Tests of rehearsals, in a single program that is linked once.

mod on_devices;
mod random_devices;
mod random_programs;
mod rehearsals;
