//! Tests of the simulated NIC, in a single program that is linked once.

mod support;

mod accelerators;
mod conservation;
mod runs;
mod sharing;
