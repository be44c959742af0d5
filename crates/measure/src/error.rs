//! Errors of timing a path. Each error is one line.

use slowpath_capture::CaptureError;
use slowpath_kernel::live::LiveError;
use slowpath_kernel::timing::TimingError;
use slowpath_kernel::{InstallError, Interruptible, LoadError, MapError, RunError};
use slowpath_replay::ReplayError;
use thiserror::Error;

/// An error that prevents a path from being timed.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// The program cannot be replayed, or kernel and interpreter disagree.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The kernel did not load the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The map content of the witness could not be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A map could not be read or written.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel did not run the program on the packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Runs could not be timed.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The trace is not a capture file.
    #[error("trace: {0}")]
    Capture(#[from] CaptureError),
    /// The sequence of instructions of the path is unknown.
    #[error(
        "which instructions it takes in which order is not known: it depends on what packet and \
         maps do not determine{}",
        depends_suffix(.depends)
    )]
    NoTrace {
        /// Inputs other than packet and maps that the path depends on.
        depends: Vec<String>,
    },
    /// Maps did not accept their initial content for a trace.
    #[error("maps are not filled as --maps says: {0}; change that there, or leave the map out")]
    Content(Box<ReplayError>),
    /// A map that evicts has evicted part of its initial content for a trace.
    #[error(
        "map {map}: {entries} entries of --maps are more than it keeps, {kept}: a map of its type \
         evicts before it is full; name fewer, or make it larger"
    )]
    Evicted {
        /// Name of the map.
        map: String,
        /// Number of elements that were put into the map.
        entries: u64,
        /// Number of elements that the map kept.
        kept: u64,
    },
    /// The witness is not valid JSON.
    #[error("the witness cannot be read: {0}")]
    Witness(#[from] serde_json::Error),
    /// The kernel took another path.
    #[error(
        "the kernel takes a path of {taken} instructions, not {expected}{}",
        depends_suffix(.depends)
    )]
    OtherPath {
        /// Instructions of the expected path.
        expected: u64,
        /// Instructions of the path that the kernel took.
        taken: u64,
        /// Inputs other than packet and maps that the path depends on.
        depends: Vec<String>,
    },
    /// Repetitions take other paths with every arrangement.
    #[error("repetitions do not take the same path: {reason}")]
    NotRepeatable {
        /// Reason.
        reason: String,
    },
    /// A timed run did not take the path.
    #[error(
        "a timed run returned {returned}, not {expected}: it took another path, although as many \
         repetitions were counted before; please report it with the program"
    )]
    OtherValue {
        /// Expected return value of a run on the path.
        expected: u32,
        /// Actual return value of the last run.
        returned: u32,
    },
    /// Packets could not be run live.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// Live packets do not take the path, or this cannot be verified.
    #[error("{reason}; measure it without --mode live")]
    NotLive {
        /// Reason.
        reason: String,
    },
    /// More live packets were requested than the number that verifiably takes the path.
    #[error("{frames} live packets were seen to take the path; no more are timed in one load")]
    NotCounted {
        /// Number of live packets that took the path when they were counted.
        frames: u32,
    },
    /// No other packets take the path and find other map elements.
    #[error("{reason}")]
    NotCold {
        /// Reason.
        reason: String,
    },
    /// The number of a case is out of range.
    #[error("there is no case {number}")]
    NoCase {
        /// Requested number.
        number: i64,
    },
    /// The load has no wrapped reference, because none of its cases has a wrapper.
    #[error("there is no such reference")]
    NoReference,
}

impl Interruptible for MeasureError {
    fn is_interrupted(&self) -> bool {
        match self {
            MeasureError::Run(fault) => fault.is_interrupted(),
            MeasureError::Timing(fault) => fault.is_interrupted(),
            MeasureError::Live(fault) => fault.is_interrupted(),
            _ => false,
        }
    }
}

impl MeasureError {
    /// Builds [`MeasureError::NotCold`].
    pub(crate) fn not_cold(reason: impl Into<String>) -> MeasureError {
        MeasureError::NotCold { reason: reason.into() }
    }
}

/// Formats the inputs that a path depends on as a suffix of a message; empty without inputs.
fn depends_suffix(depends: &[String]) -> String {
    match depends {
        [] => String::new(),
        depends => format!("; it depends on {}", depends.join(", ")),
    }
}
