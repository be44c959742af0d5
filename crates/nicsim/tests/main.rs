//! The simulated NIC: all tests as one program, which links once.

mod support;

mod accelerators;
mod conservation;
mod runs;
mod sharing;
