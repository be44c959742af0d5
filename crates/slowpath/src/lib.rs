//! Rust API of slowpath, which computes throughput guarantees for packet-processing programs.
//!
//! This crate connects a front end, a target and the search. It replays every result and adds its
//! costs up again before it reports the result. [`Analysis`] runs on its own thread. Callers poll
//! it for events, so they can show progress and stop with the bound reached so far.

mod analysis_thread;
mod arrivals;
mod assume;
mod card_conditions;
mod certificate;
mod compile;
mod contents;
mod error;
mod estimation;
mod events;
mod failure;
mod frontend;
mod interleaved;
mod intermediate;
mod job;
mod kernel_types;
mod loops;
mod object;
mod options;
mod panics;
mod pipeline;
mod refusal;
mod report;
mod result;
#[cfg(test)]
mod schema;
mod settings;
mod show;
mod source_line;
mod stages;
mod stand_ins;
mod structural;
mod target;
mod unreached_programs;
mod verify;
mod witness;

pub use analysis_thread::{Analysis, Poll};
pub use arrivals::{Arrivals, ArrivingProgram, FindArrivals};
pub use card_conditions::conditions_on_card;
pub use certificate::{CheckedCertificate, check_certificate, export_proofs};
pub use compile::compile;
pub use contents::{initial_maps, map_contents, runner_maps};
pub use error::Error;
pub use events::{Event, Report};
pub use failure::{ErrorKind, Failure};
pub use kernel_types::KernelTypes;
pub use object::{ChainMember, ProgramChain, ProgramFile, ProgramInfo};
pub use options::{Options, ProgramRequest};
pub use refusal::Refusal;
pub use settings::{as_witnessed, configured, has_open, with_stated};
pub use show::{ShowRequest, Shown, show};
pub use slowpath_bpf::insn::helper::helper_names;
pub use slowpath_bpf::lift::{Handover, Network};
pub use slowpath_bpf::{MapKind, UnlinkedObject};
pub use slowpath_nfp::tokens;
pub use slowpath_stop::{Activity, Limits, Reason, Stop};
pub use stand_ins::{StandIn, WithStandIns, compile_with_stand_ins, replace_calls};
pub use target::Target;
pub use verify::{Counterexample, ElementByte, FinalState, Verification, verify, verify_listing};

/// Returns the version of this library.
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Returns the names of the built-in performance targets, which describe devices and their prices.
pub fn target_names() -> Vec<&'static str> {
    slowpath_target::Target::builtin_names().to_vec()
}

/// Returns the text that describes a built-in target; `None` if there is no target of this name.
pub fn target_text(name: &str) -> Option<&'static str> {
    slowpath_target::Target::builtin_text(name)
}
