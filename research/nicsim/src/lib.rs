//! Simulates a SoC NIC, to study contention without such a NIC. Network functions run side by side
//! on its cores and share caches, memory and accelerators.
//!
//! This is a discrete-event simulation. A thread executes the steps of a packet one by one. Each
//! line that a step touches is looked up in the private and the shared caches. Misses go to a
//! memory of several banks on one bus. Accelerators serve their queues in turn. Only these
//! mechanisms determine the speed of a function. The simulation contains no throughput equation,
//! because such equations are compared with its results.
//!
//! The inputs are data: the NIC (`devices/`), the functions and the competitors (`functions/`).
//! Each number has a source or is marked as assumed. Devices and functions follow Wu et al.,
//! "Tomur: Traffic-Aware Performance Prediction of On-NIC Network Functions with Multi-Resource
//! Contention". `docs/explanation/contention-accuracy.md` lists the limits of the simulation.
//!
//! Times are whole picoseconds and random numbers are seeded. So the outcome of a run depends
//! neither on the machine nor on the number of parallel runs.

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
