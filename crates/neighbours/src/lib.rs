//! Runs network functions in user space beside competitors, on chosen CPUs of this machine.
//!
//! A [`Mix`] has subjects, whose speed is measured, and competitors, which share caches, memory or
//! an accelerator with them. [`Mix::block`] runs the subjects for a while, either alone or beside
//! all competitors. It returns the work of each thread, and the share of the time in which the
//! thread had its CPU.
//!
//! Functions form an in-memory data plane. Packets of generated flows ([`Traffic`]) lie in a ring
//! of buffers, as a driver would leave them. Stages process their headers, and an accelerator in
//! software scans or compresses their payloads. The accelerator serves bounded queues round robin,
//! one request per queue and turn, as Wu et al. found on BlueField-2 ("Tomur", section 4.1.1). A
//! function of the pattern run-to-completion does all this in one thread; a pipeline has one thread
//! for headers and another one for the accelerator. The competitors are the paper's `mem-bench`,
//! `regex-bench` and `compression-bench` (section 6).
//!
//! Without hardware counters, a probe measures the pressure of a competitor by dependent random
//! accesses, like the reporter of Mars et al. ("Bubble-Up", MICRO 2011).
//!
//! The caller decides how often to run a block, and interprets the figures.

mod accelerator;
mod clock;
mod counters;
mod cpu_pair;
mod cpus;
mod engines;
mod error;
mod functions;
mod header;
mod hosts;
mod memory;
mod mix;
mod packets;
mod payloads;
mod probe;
#[cfg(test)]
mod schema;
mod spec;
mod stage;
mod tables;
mod traffic;
mod work;

pub use counters::{Counted, why_no_counters};
pub use cpu_pair::{CpuPairObservation, observe_cpu_pair};
pub use cpus::allowed as allowed_cpus;
pub use error::NeighbourError;
pub use mix::{Block, Mix, Reading};
pub use spec::{
    AcceleratorSpec, ClientSpec, FunctionSpec, GivenSpec, HeaderStage, MemorySpec, MixSpec,
    Pattern, ProbeSpec, Service, Touch, WorkSpec,
};
pub use traffic::Traffic;
pub use work::{Served, Work};
