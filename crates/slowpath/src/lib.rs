//! Throughput guarantees for packet-processing programs: the Rust API.
//!
//! Wires a front end, a target and the search together; replays and re-adds every result before it
//! is reported. [`Analysis`] does the work on a thread of its own and is polled for events, so that
//! callers can show progress and stop with the bound reached so far.

mod analysis;
mod assume;
mod bound;
mod compile;
mod contents;
mod error;
mod events;
mod frontend;
mod loops;
mod options;
mod refusal;
mod report;
mod result;
#[cfg(test)]
mod schema;
mod show;
mod so_far;
mod source_line;
mod stages;
mod verify;
mod witness;

pub use analysis::{Analysis, Step};
pub use compile::compile;
pub use error::Error;
pub use events::{Event, Report};
pub use frontend::{Kernel, ProgramInfo, programs, read_object};
pub use options::{Options, Request};
pub use refusal::Refusal;
pub use show::{ShowRequest, show};
pub use slowpath_bpf::Object;
pub use slowpath_stop::{Limits, Reason, Stop};
use slowpath_target::{InstructionSet, Target};
pub use verify::{Counterexample, ElementByte, FinalState, Verification, verify, verify_listing};

/// The version of this library.
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Names of the targets that are built in.
pub fn target_names() -> Vec<&'static str> {
    Target::builtin_names().to_vec()
}

/// The description of a built-in target.
pub fn target_text(name: &str) -> Option<&'static str> {
    Target::builtin_text(name)
}

/// What options call the components of a target that counts: the metrics of its analyses. `None` for
/// a target with rates, and for what is no valid target. `target` is the name of a built-in target,
/// or a description when `is_text`.
pub fn target_counters(target: &str, is_text: bool) -> Option<Vec<String>> {
    read_target(target, is_text)?.metrics()
}

/// Whether programs are compiled for a target; not for one that has the instructions of BPF objects,
/// nor for what is no valid target. `target` is as for [`target_counters`].
pub fn target_compiles(target: &str, is_text: bool) -> bool {
    read_target(target, is_text).is_some_and(|t| t.instruction_set == InstructionSet::Nfp)
}

/// The target, if it is a valid one.
fn read_target(target: &str, is_text: bool) -> Option<Target> {
    let read = if is_text { Target::parse(target, "--target") } else { Target::builtin(target)? };
    read.ok()
}

/// Everything that is wrong with a target description; empty when it is fine.
pub fn check_target(text: &str) -> Vec<String> {
    slowpath_target::check(text)
}
