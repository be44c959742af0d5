//! Errors that occur when a path is timed. Each message is one line.

use slowpath_bpf::ProgramKind;
use slowpath_capture::CaptureError;
use slowpath_codes as codes;
use slowpath_kernel::echo::EchoError;
use slowpath_kernel::live::LiveError;
use slowpath_kernel::timing::TimingError;
use slowpath_kernel::{InstallError, Interruptible, LoadError, MapError, RunError};
use slowpath_replay::ReplayError;
use thiserror::Error;

/// An error that prevents a path from being timed.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// The program could not run in kernel and interpreter side by side, or their results differ.
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
    /// The kernel could not time runs of the program.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The file with the trace of packets is not a valid capture file.
    #[error("trace: {0}")]
    Capture(#[from] CaptureError),
    /// The order of the instructions that the path executes is unknown.
    #[error(
        "the instructions of the path are unknown: they depend on more than the packet and the \
         maps{}",
        depends_suffix(.depends)
    )]
    NoTrace {
        /// Names of inputs, apart from packet and maps, that decide the path, such as the time.
        depends: Vec<String>,
    },
    /// A map did not accept the initial content that the user gave for a trace.
    #[error("maps cannot be filled as in --maps: {0}; change the entry, or omit the map")]
    Content(Box<ReplayError>),
    /// A map evicted some of the initial elements that the user gave for a trace.
    #[error(
        "map {map}: {entries} entries of --maps are more than the map keeps, {kept}: a map of its \
         type evicts entries before it is full; name fewer entries, or make the map larger"
    )]
    Evicted {
        /// Name of the map.
        map: String,
        /// Number of elements that were put into the map.
        entries: u64,
        /// Number of elements that the map kept without evicting them.
        kept: u64,
    },
    /// The witness is not valid JSON.
    #[error("the witness cannot be read: {0}")]
    Witness(#[from] serde_json::Error),
    /// The kernel executed more or fewer instructions than the expected path has.
    #[error(
        "the kernel takes a path of {taken} instructions, not {expected}{}",
        depends_suffix(.depends)
    )]
    OtherPath {
        /// Number of instructions of the expected path.
        expected: u64,
        /// Number of instructions that the kernel executed.
        taken: u64,
        /// Names of inputs, apart from packet and maps, that decide the path.
        depends: Vec<String>,
    },
    /// No way was found to make repeated runs take the same path.
    #[error("repetitions do not take the same path: {reason}")]
    NotRepeatable {
        /// Reason why repeated runs take other paths.
        reason: String,
    },
    /// A timed run returned another value than expected, so it took another path.
    #[error(
        "a timed run returned {returned}, not {expected}: it took another path, although as many \
         repetitions were counted before; please report it with the program"
    )]
    OtherValue {
        /// Return value of the expected path.
        expected: u32,
        /// Return value of the last run of the timed call.
        returned: u32,
    },
    /// The kernel did not run the program on live packets, which really go where it sends them.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// Packets could not be offered to the program at a given rate.
    #[error(transparent)]
    Echo(#[from] EchoError),
    /// Live packets take another path than the witness packet, or their path cannot be verified.
    #[error("{reason}; measure it without --mode live")]
    NotLive {
        /// Reason why the path cannot be timed with live packets.
        reason: String,
    },
    /// The caller requested more live packets than were counted and verified to take the path.
    #[error("only {frames} live packets were counted on the path; one load cannot time more")]
    NotCounted {
        /// Number of live packets that were counted and took the path.
        frames: u32,
    },
    /// No other packets are known that take the same path with other map elements, so the caches
    /// stay warm.
    #[error("{reason}")]
    NotCold {
        /// Reason why there are no other packets for this path.
        reason: String,
    },
    /// The path needs a value in a field of `struct __sk_buff` that test runs of the kernel cannot
    /// set.
    #[error(
        "the path needs {field} = {value}, which a test run cannot set (BPF_PROG_TEST_RUN with \
         struct __sk_buff)"
    )]
    NotInTestRun {
        /// Name of the field.
        field: &'static str,
        /// Value of the field that the path needs.
        value: u64,
    },
    /// Programs of this type cannot be timed.
    #[error("programs of type {0} are not measured, only XDP and tc programs (sched_cls)")]
    NotMeasured(ProgramKind),
    /// The programs to time together have different types.
    #[error("XDP and tc programs run in different loops; their times cannot be compared")]
    SeveralTypes,
    /// The set of cases loaded into the kernel has no case at this index.
    #[error("there is no case {number}")]
    NoCase {
        /// Index of the requested case.
        number: i64,
    },
    /// The requested reference, an empty program that is called through a wrapper, was not loaded.
    /// It is loaded only if some case needs a wrapper.
    #[error("there is no such reference")]
    NoReference,
}

impl MeasureError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            MeasureError::Replay(error) => error.code(),
            MeasureError::Load(error) => error.code(),
            MeasureError::Install(error) => error.code(),
            MeasureError::Map(error) => error.code(),
            MeasureError::Run(error) => error.code(),
            MeasureError::Timing(error) => error.code(),
            MeasureError::Capture(error) => error.code(),
            MeasureError::Live(error) => error.code(),
            MeasureError::Echo(error) => error.code(),
            MeasureError::Content(_) | MeasureError::Evicted { .. } => {
                codes::MAPS_DO_NOT_FIT_KERNEL
            }
            MeasureError::NoTrace { .. }
            | MeasureError::OtherPath { .. }
            | MeasureError::NotInTestRun { .. } => codes::PATH_NOT_TAKEN,
            MeasureError::NotMeasured(_) | MeasureError::SeveralTypes => {
                codes::UNSUPPORTED_PROGRAM_TYPE
            }
            MeasureError::NotRepeatable { .. } | MeasureError::OtherValue { .. } => {
                codes::PATH_NOT_REPEATABLE
            }
            MeasureError::NotLive { .. } | MeasureError::NotCounted { .. } => {
                codes::NOT_MEASURABLE_LIVE
            }
            MeasureError::NotCold { .. } => codes::COLD_NOT_POSSIBLE,
            MeasureError::Witness(_) | MeasureError::NoCase { .. } | MeasureError::NoReference => {
                codes::INTERNAL_ERROR
            }
        }
    }
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

/// Formats the names of inputs that a path depends on as the end of an error message. Returns an
/// empty text if there are none.
fn depends_suffix(depends: &[String]) -> String {
    match depends {
        [] => String::new(),
        depends => format!("; it depends on {}", depends.join(", ")),
    }
}
