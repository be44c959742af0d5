//! Runs network functions in user space together with competitors, on chosen CPUs of this machine.
//!
//! A [`Mix`] consists of subjects and competitors. The crate measures the speed of the subjects,
//! while competitors share caches, memory or an accelerator with them. [`Mix::block`] runs the
//! subjects for a given time, with or without the competitors. It returns how much work each thread
//! did, and its CPU time.
//!
//! Functions process packets in memory. A ring of buffers contains packets of generated flows
//! ([`Traffic`]), as a driver would leave them. Stages process their headers, and an accelerator in
//! software scans or compresses their payloads. The accelerator serves bounded queues round robin,
//! one request of each queue after the other, as Wu et al. found on BlueField-2 ("Tomur", section
//! 4.1.1). A function with the pattern run-to-completion has one thread. A pipeline has one thread
//! for headers and another for the accelerator. The competitors are the paper's `mem-bench`,
//! `regex-bench` and `compression-bench` (section 6).
//!
//! If there are no hardware counters, a probe measures how much a competitor slows down caches and
//! memory. It makes random accesses, each of which depends on the previous one, like the reporter
//! of Mars et al. ("Bubble-Up", MICRO 2011).
//!
//! The caller decides how many blocks to run, and interprets the results.

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
