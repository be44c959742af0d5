//! Network functions in user space beside competitors, on chosen CPUs of this machine.
//!
//! A [`Mix`] has subjects, whose speed is asked for, and competitors, which share caches, memory or
//! an accelerator with them. [`Mix::block`] runs the subjects for a while, alone or beside all
//! competitors, and says what each of them did, and how much of the time its thread had the CPU.
//!
//! Functions are a data plane in memory: packets of generated flows ([`Traffic`]) stand in a ring of
//! buffers, as a driver would leave them; stages look at their headers, and an accelerator in
//! software scans or compresses their payloads. It serves bounded queues round robin, one request of
//! each in a turn, as Wu et al. found of BlueField-2 ("Tomur", section 4.1.1). A function that runs
//! to completion does all of it in one thread, that of the accelerator included; a pipeline has a
//! thread for headers and another one for the accelerator. Competitors are the paper's `mem-bench`,
//! `regex-bench` and `compression-bench` (section 6).
//!
//! Where there are no hardware counters, a probe shows how much a competitor disturbs: it waits for
//! one random access after the other, as the reporter of Mars et al. does ("Bubble-Up", MICRO 2011).
//!
//! How often to run a block, and what figures mean, is not known here.

mod accelerator;
mod clock;
mod counters;
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
mod spec;
mod stage;
mod surroundings;
mod tables;
mod traffic;
mod work;

pub use counters::{Counted, why_no_counters};
pub use cpus::allowed as allowed_cpus;
pub use error::NeighbourError;
pub use mix::{Block, Mix, Reading};
pub use spec::{
    AcceleratorSpec, ClientSpec, FunctionSpec, GivenSpec, HeaderStage, MemorySpec, MixSpec,
    Pattern, ProbeSpec, Service, Touch, WorkSpec,
};
pub use surroundings::{Surroundings, surroundings};
pub use traffic::Traffic;
pub use work::{Served, Work};
