//! Errors of timing a path. Each message is one line.

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
    /// It is unknown which instructions the path executes in which order.
    #[error(
        "which instructions it takes in which order is not known: it depends on what packet and \
         maps do not determine{}",
        depends_suffix(.depends)
    )]
    NoTrace {
        /// Inputs, apart from packet and maps, that decide the path.
        depends: Vec<String>,
    },
    /// A map did not accept the initial content that was given for a trace.
    #[error("maps are not filled as --maps says: {0}; change that there, or leave the map out")]
    Content(Box<ReplayError>),
    /// A map evicted part of the initial content that was given for a trace.
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
    /// The kernel executed another number of instructions than the expected path has.
    #[error(
        "the kernel takes a path of {taken} instructions, not {expected}{}",
        depends_suffix(.depends)
    )]
    OtherPath {
        /// Number of instructions of the expected path.
        expected: u64,
        /// Number of instructions that the kernel executed.
        taken: u64,
        /// Inputs, apart from packet and maps, that decide the path.
        depends: Vec<String>,
    },
    /// No arrangement was found with which repetitions take the same path.
    #[error("repetitions do not take the same path: {reason}")]
    NotRepeatable {
        /// Reason why repetitions take other paths.
        reason: String,
    },
    /// A timed run returned another value, so it took another path.
    #[error(
        "a timed run returned {returned}, not {expected}: it took another path, although as many \
         repetitions were counted before; please report it with the program"
    )]
    OtherValue {
        /// Return value of the expected path.
        expected: u32,
        /// Return value of the last timed run.
        returned: u32,
    },
    /// The kernel did not run the program on live packets.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// Live packets take another path, or it cannot be verified that they take this one.
    #[error("{reason}; measure it without --mode live")]
    NotLive {
        /// Reason why the path cannot be timed with live packets.
        reason: String,
    },
    /// The caller requested more live packets than were counted on the path.
    #[error("{frames} live packets were seen to take the path; no more are timed in one load")]
    NotCounted {
        /// Number of live packets that were counted and took the path.
        frames: u32,
    },
    /// There are no other packets that take the path with other map elements.
    #[error("{reason}")]
    NotCold {
        /// Reason why there are no such packets.
        reason: String,
    },
    /// The load has no case with this number.
    #[error("there is no case {number}")]
    NoCase {
        /// Number of the requested case.
        number: i64,
    },
    /// The load does not have this reference, because none of its cases has a wrapper.
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
    /// Builds the error [`MeasureError::NotCold`] with this reason.
    pub(crate) fn not_cold(reason: impl Into<String>) -> MeasureError {
        MeasureError::NotCold { reason: reason.into() }
    }
}

/// Formats what a path depends on as the end of a message. Returns an empty text if there is
/// nothing.
fn depends_suffix(depends: &[String]) -> String {
    match depends {
        [] => String::new(),
        depends => format!("; it depends on {}", depends.join(", ")),
    }
}
