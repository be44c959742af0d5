//! A simulated SoC NIC: network functions run beside each other on its cores and share caches,
//! memory and accelerators, so that their contention shows where no such NIC is at hand.
//!
//! Discrete events: a thread executes one step of a packet after the other; each line that it
//! touches is looked up in private caches and in the shared one, and fetched from a memory of
//! banks behind one bus; accelerators serve requests of queues in turn. How fast a function is
//! beside others follows from these mechanisms; no equation of throughput stands anywhere here,
//! because the simulation is what such equations are compared with.
//!
//! What is simulated is data: the NIC (`devices/`), the functions and the competitors
//! (`functions/`), each number with its source or the word that it is assumed. The devices and
//! functions are those of Wu et al., "Tomur: Traffic-Aware Performance Prediction of On-NIC Network
//! Functions with Multi-Resource Contention". The simulation knows no models, no tables and nothing
//! of how results are used. `docs/contention.md` has its limits.
//!
//! Times are whole picoseconds, random numbers are seeded: the same run has the same outcome on any
//! machine, however many runs there are at once.

mod accelerator;
mod address;
mod agenda;
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
