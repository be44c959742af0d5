//! Simulates a SoC NIC, so that contention can be studied without such a NIC. Network functions run
//! side by side on its cores and share caches, memory and accelerators.
//!
//! The simulation is driven by discrete events. A thread executes one step of a packet after the
//! other. Each line that a step touches is looked up in the private and the shared caches. Misses
//! are fetched from a memory of banks behind one bus. Accelerators serve the requests of their
//! queues in turn. The speed of a function follows from these mechanisms alone; the simulation
//! contains no throughput equation, because such equations are compared with it.
//!
//! The inputs are data: the NIC (`devices/`), the functions and the competitors (`functions/`).
//! Each number has its source or is marked as assumed. Devices and functions follow Wu et al.,
//! "Tomur: Traffic-Aware Performance Prediction of On-NIC Network Functions with Multi-Resource
//! Contention". This crate knows neither models nor tables, nor the use of its results.
//! `docs/contention.md` lists its limits.
//!
//! Times are whole picoseconds and random numbers are seeded: a run has the same outcome on any
//! machine, and with any number of parallel runs.

mod accelerator;
mod address;
mod cache;
mod cores;
mod count;
mod device;
mod error;
mod estimate;
mod function;
mod hierarchy;
mod link;
mod many;
mod measure;
mod memory;
mod noise;
mod outcome;
mod packet;
mod random;
mod scenario;
mod schedule;
mod setup;
mod simulation;
mod state;
mod time;

pub use device::{AcceleratorParameters, Device};
pub use error::NicError;
pub use function::{Function, Functions};
pub use many::run_all;
pub use noise::{NOISE, Noise};
pub use outcome::{AcceleratorOutcome, ClientOutcome, Counters, MemoryOutcome, Outcome};
pub use scenario::{Client, Scenario};
pub use simulation::run;
