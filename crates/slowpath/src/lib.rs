//! Throughput guarantees for packet-processing programs: the Rust API.
//!
//! Wires a front end, a target and the search together; replays and re-adds every result before it
//! is reported. [`Analysis`] does the work on a thread of its own and is polled for events, so that
//! callers can show progress and stop with the bound reached so far.

mod analysis;
mod bound;
mod error;
mod frontend;
mod options;
mod report;
mod result;
mod show;
mod witness;

pub use analysis::{Analysis, Event, Report, Step};
pub use error::Error;
pub use options::{Options, Request};
pub use show::show;

/// The version of this library.
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Names of the targets that are built in.
pub fn target_names() -> Vec<&'static str> {
    slowpath_target::Target::builtin_names().to_vec()
}

/// The description of a built-in target.
pub fn target_text(name: &str) -> Option<&'static str> {
    slowpath_target::Target::builtin_text(name)
}

/// Everything that is wrong with a target description; empty when it is fine.
pub fn check_target(text: &str) -> Vec<String> {
    slowpath_target::check(text)
}
