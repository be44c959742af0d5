//! Why a path is not timed. Each error is one line.

use slowpath_capture::CaptureError;
use slowpath_kernel::live::LiveError;
use slowpath_kernel::timing::TimingError;
use slowpath_kernel::{InstallError, Interruptible, LoadError, MapError, RunError};
use slowpath_replay::ReplayError;
use thiserror::Error;

/// Why a path is not timed.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// The program is not replayed, or kernel and interpreter disagree.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The kernel does not load the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What the witness says about maps is not installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A map is not read or written.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel does not run the packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Runs are not timed.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The trace is no capture file.
    #[error("trace: {0}")]
    Capture(#[from] CaptureError),
    /// It is not known which instructions the path takes.
    #[error(
        "which instructions it takes in which order is not known: it depends on what packet and \
         maps do not determine{}",
        open(.depends)
    )]
    NoTrace {
        /// What that is.
        depends: Vec<String>,
    },
    /// Maps do not take what they are to hold before a trace.
    #[error("maps are not filled as --maps says: {0}; change that there, or leave the map out")]
    Content(Box<ReplayError>),
    /// A map that evicts has evicted some of what it is to hold before a trace.
    #[error(
        "map {map}: {entries} entries of --maps are more than it keeps, {kept}: a map of its type \
         evicts before it is full; name fewer, or make it larger"
    )]
    Evicted {
        /// Name of the map.
        map: String,
        /// How many there should be.
        entries: u64,
        /// How many there are.
        kept: u64,
    },
    /// The witness is no JSON.
    #[error("the witness cannot be read: {0}")]
    Witness(#[from] serde_json::Error),
    /// The kernel takes another path.
    #[error(
        "the kernel takes a path of {taken} instructions, not {expected}{}",
        open(.depends)
    )]
    OtherPath {
        /// Instructions of the path that is meant.
        expected: u64,
        /// Instructions of the path that the kernel takes.
        taken: u64,
        /// What the path depends on that is not in packet and maps.
        depends: Vec<String>,
    },
    /// Repetitions take other paths, and nothing helps.
    #[error("repetitions do not take the same path: {why}")]
    NotRepeatable {
        /// What is in the way.
        why: String,
    },
    /// A timed run did not take the path.
    #[error(
        "a timed run returned {returned}, not {expected}: it took another path, although as many \
         repetitions were counted before; please report it with the program"
    )]
    OtherValue {
        /// What a run on the path returns.
        expected: u32,
        /// What the last of these runs returned.
        returned: u32,
    },
    /// Packets are not run live.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// Live packets do not take the path, or cannot be seen to.
    #[error("{why}; measure it without --mode live")]
    NotLive {
        /// What is in the way.
        why: String,
    },
    /// More live packets were to be timed than were seen to take the path.
    #[error("{frames} live packets were seen to take the path; no more are timed in one load")]
    NotCounted {
        /// How many were seen.
        frames: u32,
    },
    /// There are no packets that take the path and find other data.
    #[error("{why}")]
    NotCold {
        /// Why not.
        why: String,
    },
    /// There is no such case.
    #[error("there is no case {number}")]
    NoCase {
        /// Its number.
        number: i64,
    },
    /// Nothing in this load is restored between runs, so there is nothing that is called like that.
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
    /// There is no cold data for a path, and why.
    pub(crate) fn not_cold(why: impl Into<String>) -> MeasureError {
        MeasureError::NotCold { why: why.into() }
    }
}

fn open(depends: &[String]) -> String {
    match depends {
        [] => String::new(),
        depends => format!("; it depends on {}", depends.join(", ")),
    }
}
