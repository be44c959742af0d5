//! Why the kernel refuses a program, or does not run it. Each error is one line.

use std::io;

use slowpath_bpf::{ObjectError, ProgramKind};
use thiserror::Error;

use crate::Context;
use crate::again::Interruptible;
use crate::unavailable::Unavailable;

/// Why a program is not loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The object layer refuses it.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// It is of another type.
    #[error("program {program} is of type {kind}; only XDP programs run here")]
    NotXdp {
        /// Its name.
        program: String,
        /// Its type.
        kind: ProgramKind,
    },
    /// It calls a function that the running kernel does not have.
    #[error("program {program} calls {function}, which this kernel has not; try a newer kernel")]
    NoKernelFunction {
        /// Its name.
        program: String,
        /// Name of the function.
        function: String,
    },
    /// A map cannot be created or filled.
    #[error("map {map} ({definition}): the kernel does not {action} it: {cause}; {hint}")]
    Map {
        /// Its name.
        map: String,
        /// Its type, sizes and flags.
        definition: String,
        /// The step that failed.
        action: &'static str,
        /// The kernel's answer.
        cause: io::Error,
        /// What may help.
        hint: &'static str,
    },
    /// The verifier rejects it.
    #[error("program {program}: the kernel's verifier says: {reason}{note}{}", then(.hint))]
    Rejected {
        /// Its name.
        program: String,
        /// What it says after the last instruction that it looked at.
        reason: String,
        /// In brackets, that instruction and its source line, as far as known, and what was
        /// missing already before and may be why.
        note: String,
        /// What to do about it; empty where nothing is known.
        hint: &'static str,
        /// The last lines of the verifier's log.
        log: String,
    },
    /// There is no room for counting its instructions.
    #[error("program {program}: its instructions cannot be counted: {why}")]
    NotCounted {
        /// Its name.
        program: String,
        /// The obstacle.
        why: &'static str,
    },
    /// It cannot be made to end on its way.
    #[error("program {program}: it cannot end where it is to: {why}")]
    NotCut {
        /// Its name.
        program: String,
        /// The obstacle.
        why: &'static str,
    },
    /// Its calls cannot be given answers.
    #[error("program {program}: its calls cannot be answered: {why}")]
    NotAnswered {
        /// Its name.
        program: String,
        /// The obstacle.
        why: &'static str,
    },
    /// Its exits cannot record what it does.
    #[error("program {program}: what it does to frames cannot be recorded: {why}")]
    NotRecorded {
        /// Its name.
        program: String,
        /// The obstacle.
        why: &'static str,
    },
    /// The kernel refuses it before the verifier looks at it.
    #[error("program {program}: the kernel does not load it: {cause}; {}", silent(.cause))]
    Refused {
        /// Its name.
        program: String,
        /// The kernel's answer.
        cause: io::Error,
    },
}

/// Why a packet is not run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Test runs start with an Ethernet header.
    #[error("a packet of {len} bytes; the kernel's test runs need at least 14")]
    TooShort {
        /// In bytes.
        len: usize,
    },
    /// The kernel does not run it.
    #[error("the kernel does not run a packet of {len} bytes: {cause}; {hint}")]
    Kernel {
        /// Length of the packet in bytes.
        len: usize,
        /// The kernel's answer.
        cause: io::Error,
        /// What may help.
        hint: &'static str,
    },
    /// A signal ended it before all repetitions were made.
    #[error("a signal came before all repetitions were made; run them again")]
    Interrupted,
    /// The counter of instructions cannot be read.
    #[error("the counter of instructions is not there{}", .cause.as_ref().map_or_else(String::new, |e| format!(": {e}")))]
    NoCount {
        /// The kernel's answer, if it gave one.
        cause: Option<MapError>,
    },
}

impl Interruptible for RunError {
    fn is_interrupted(&self) -> bool {
        matches!(self, RunError::Interrupted)
    }
}

impl RunError {
    /// The kernel's answer to a packet of `len` bytes, with what may be behind it.
    pub(crate) fn of(len: usize, context: &Context, cause: io::Error) -> RunError {
        if cause.raw_os_error() == Some(libc::EINTR) {
            return RunError::Interrupted;
        }
        let hint = if *context != Context::default() {
            "check metadata, device and queue"
        } else if len > 3000 {
            "longer packets than about 3,500 bytes need a program with SEC(\"xdp.frags\")"
        } else {
            "programs for devmaps and cpumaps cannot be run this way"
        };
        RunError::Kernel { len, cause, hint }
    }
}

/// Why an element of a map is not read or written.
#[derive(Debug, Error)]
pub enum MapError {
    /// A key or value has the wrong length.
    #[error("map {map}: a {what} of {len} bytes; it takes {expected}")]
    Length {
        /// Name of the map.
        map: String,
        /// "key" or "value".
        what: &'static str,
        /// In bytes.
        len: usize,
        /// In bytes.
        expected: usize,
    },
    /// The map has another number of values for each key.
    #[error("map {map}: {count} values for a key; it has {expected}, one for each CPU")]
    Count {
        /// Name of the map.
        map: String,
        /// How many were given or wanted.
        count: usize,
        /// How many there are.
        expected: usize,
    },
    /// The map's values are no maps.
    #[error("map {map} is no map of maps")]
    NoInner {
        /// Name of the map.
        map: String,
    },
    /// The map is no ring buffer.
    #[error("map {map} is no ring buffer")]
    NoRing {
        /// Name of the map.
        map: String,
    },
    /// How far a ring buffer was read and written is not shared.
    #[error("map {map}: the kernel does not share the ring buffer's positions: {cause}")]
    Shared {
        /// Name of the map.
        map: String,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The kernel refuses.
    #[error("map {map}: the kernel does not {action} the element{}: {cause}", of(.key))]
    Kernel {
        /// Name of the map.
        map: String,
        /// The step that failed.
        action: &'static str,
        /// The element's key; empty where it has none.
        key: Vec<u8>,
        /// The kernel's answer.
        cause: io::Error,
    },
}

/// Why map content is not installed.
#[derive(Debug, Error)]
pub enum InstallError {
    /// The program has no such map.
    #[error("there is no map {map}")]
    NoMap {
        /// Its name.
        map: String,
    },
    /// An element is not written.
    #[error(transparent)]
    Element(#[from] MapError),
    /// A socket to redirect packets to is not created.
    #[error("no socket to redirect packets to: {cause}")]
    Socket {
        /// The kernel's answer.
        cause: io::Error,
    },
    /// Nobody can listen to events that the program sends.
    #[error(
        "nobody can listen to what the program sends by bpf_perf_event_output: {cause}; it \
             needs CAP_PERFMON"
    )]
    Listener {
        /// The kernel's answer.
        cause: io::Error,
    },
    /// A map to put into a map of maps is not created.
    #[error(transparent)]
    Inner(#[from] LoadError),
}

/// Why there is no network namespace of one's own, or no device in it.
#[derive(Debug, Error)]
pub enum NamespaceError {
    /// The kernel refuses.
    #[error(transparent)]
    Refused(#[from] Unavailable),
    /// A device is not made, found or set up.
    #[error("network device {device}: the kernel does not {action} it: {cause}")]
    Device {
        /// Its name or number.
        device: String,
        /// The step that failed.
        action: &'static str,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// Being in a namespace takes a thread.
    #[error("no thread to be in a network namespace starts: {cause}; stop other work")]
    Thread {
        /// The system's answer.
        cause: io::Error,
    },
}

/// Why a program is not attached to a device.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The device's namespace is not entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The kernel refuses.
    #[error("the kernel does not attach the program to device {device}: {cause}{}", then(.hint))]
    Kernel {
        /// The number of the device in its namespace.
        device: u32,
        /// The kernel's answer.
        cause: io::Error,
        /// What may help; empty where nothing is known.
        hint: &'static str,
    },
}

/// Why programs do not get frames on a virtual device, or leave no records.
#[derive(Debug, Error)]
pub enum WireError {
    /// There is no network namespace, or no device in it.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The program is not attached.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The kernel does not do something with what writes the records, or with their map.
    #[error("the kernel does not {action} the records of frames: {cause}")]
    Record {
        /// The step that failed.
        action: &'static str,
        /// The kernel's answer.
        cause: io::Error,
    },
}

/// A key behind the element that has it.
fn of(key: &[u8]) -> String {
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    if key.is_empty() { digits } else { format!(" with key {digits}") }
}

impl LinkError {
    /// The kernel's answer, with what may be behind it; in the driver, or in the kernel's own code.
    pub(crate) fn of(device: u32, cause: io::Error, native: bool) -> LinkError {
        let hint = match cause.raw_os_error() {
            Some(libc::EBUSY) => "it has a program already",
            Some(libc::EOPNOTSUPP) if native => "try the generic mode",
            Some(libc::EPERM | libc::EACCES) => "run as root, or with CAP_BPF and CAP_NET_ADMIN",
            Some(libc::EINVAL) => "programs for devmaps and cpumaps cannot be attached",
            Some(libc::ENOMEM) => "there is not enough memory",
            _ => "",
        };
        LinkError::Kernel { device, cause, hint }
    }
}

/// A hint behind what went before; nothing if there is none.
fn then(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!("; {hint}") }
}

/// What may help where the verifier does not say anything.
fn silent(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => "it needs root, or CAP_BPF and CAP_NET_ADMIN",
        io::ErrorKind::ArgumentListTooLong => "the kernel takes at most 1,000,000 instructions",
        io::ErrorKind::OutOfMemory => "there is not enough memory",
        _ => "a newer kernel may take it",
    }
}
