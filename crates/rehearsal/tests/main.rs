//! Rehearsals: all tests as one program, which links once.

mod on_devices;
mod random_devices;
mod random_programs;
mod rehearsals;
