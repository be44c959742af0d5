//! Errors of loading and running BPF programs in the kernel, and of using maps and network devices.
//! Each message is one line.

use slowpath_codes as codes;
use std::io;

use slowpath_bpf::{ObjectError, ProgramKind};
use thiserror::Error;

use crate::Context;
use crate::retry::Interruptible;
use crate::unavailable::Unavailable;

/// An error that prevents a program from being loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The object file cannot be parsed or linked.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The program is not an XDP program.
    #[error("program {program} is of type {kind}; only XDP programs run here")]
    NotXdp {
        /// Name of the program.
        program: String,
        /// Type of the program.
        kind: ProgramKind,
    },
    /// The program calls a kernel function that the running kernel does not have.
    #[error("program {program} calls {function}, which this kernel lacks; try a newer kernel")]
    NoKernelFunction {
        /// Name of the program that makes the call.
        program: String,
        /// Name of the kernel function.
        function: String,
    },
    /// The kernel did not create or fill a map.
    #[error("map {map} ({definition}): the kernel does not {action} it: {cause}; {hint}")]
    Map {
        /// Name of the map.
        map: String,
        /// Type, sizes and flags of the map.
        definition: String,
        /// Operation that the kernel did not perform on the map.
        action: &'static str,
        /// The error that the kernel returned.
        cause: io::Error,
        /// Advice to the user.
        hint: &'static str,
    },
    /// The verifier rejected the program.
    #[error("program {program}: the kernel's verifier says: {reason}{note}{}", hint_suffix(.hint))]
    Rejected {
        /// Name of the program.
        program: String,
        /// Message of the verifier that follows the last instruction that it visited.
        reason: String,
        /// Text in brackets: the last instruction that the verifier visited, its source line if
        /// known, and an earlier problem that may be the cause.
        note: String,
        /// Advice to the user; empty if there is none.
        hint: &'static str,
        /// The last lines of the verifier's log.
        log: String,
    },
    /// The program has no room for code that counts its instructions.
    #[error("program {program}: slowpath cannot count its instructions: {reason}")]
    NotCounted {
        /// Name of the program.
        program: String,
        /// Reason why its instructions cannot be counted, in a few words.
        reason: &'static str,
    },
    /// The program cannot be changed so that it exits early at a requested instruction.
    #[error("program {program}: it cannot be cut at the requested instruction: {reason}")]
    NoEarlyExit {
        /// Name of the program.
        program: String,
        /// Reason why it cannot exit at the requested instruction, in a few words.
        reason: &'static str,
    },
    /// A helper call of the program cannot be replaced by a fixed result.
    #[error("program {program}: the results of its calls cannot be replaced: {reason}")]
    NotAnswered {
        /// Name of the program.
        program: String,
        /// Reason why the call cannot be replaced, in a few words.
        reason: &'static str,
    },
    /// An exit of the program cannot be replaced by code that records the program's action.
    #[error("program {program}: its changes of frames cannot be recorded: {reason}")]
    NotRecorded {
        /// Name of the program.
        program: String,
        /// Reason why the action cannot be recorded, in a few words.
        reason: &'static str,
    },
    /// The kernel rejected the program before it was verified.
    #[error("program {program}: the kernel does not load it: {cause}; {}", load_hint(.cause))]
    Refused {
        /// Name of the program that was rejected.
        program: String,
        /// The error that the kernel returned.
        cause: io::Error,
    },
}

impl LoadError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            LoadError::Object(error) => error.code(),
            LoadError::NotXdp { .. } => codes::UNSUPPORTED_PROGRAM_TYPE,
            LoadError::NoKernelFunction { .. } => codes::KERNEL_LACKS_FUNCTION,
            LoadError::Map { .. } => codes::KERNEL_REFUSES_MAP,
            LoadError::Rejected { .. } | LoadError::Refused { .. } => codes::KERNEL_REJECTS_PROGRAM,
            LoadError::NotCounted { .. }
            | LoadError::NoEarlyExit { .. }
            | LoadError::NotAnswered { .. }
            | LoadError::NotRecorded { .. } => codes::PATH_NOT_REPEATABLE,
        }
    }
}

/// An error that prevents a program from running on a packet.
#[derive(Debug, Error)]
pub enum RunError {
    /// The packet is shorter than an Ethernet header, which test runs need.
    #[error("a packet of {len} bytes; the kernel's test runs need at least 14")]
    TooShort {
        /// Length of the packet in bytes.
        len: usize,
    },
    /// The kernel did not run the program on the packet.
    #[error("the kernel does not run a packet of {len} bytes: {cause}; {hint}")]
    Kernel {
        /// Length of the packet in bytes.
        len: usize,
        /// The error that the kernel returned.
        cause: io::Error,
        /// Advice to the user.
        hint: &'static str,
    },
    /// A signal ended the run before all repetitions were done.
    #[error("a signal came before all repetitions were made; run them again")]
    Interrupted,
    /// The counter of instructions cannot be read.
    #[error("the counter of instructions is missing{}", .cause.as_ref().map_or_else(String::new, |e| format!(": {e}")))]
    NoCount {
        /// The error when the counter's map was read; `None` if the program has no such map.
        cause: Option<MapError>,
    },
}

impl RunError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            RunError::TooShort { .. } | RunError::Kernel { .. } => codes::PACKET_NOT_RUNNABLE,
            RunError::Interrupted => codes::INTERRUPTED,
            RunError::NoCount { .. } => codes::KERNEL_REFUSES_MAP,
        }
    }
}

impl Interruptible for RunError {
    fn is_interrupted(&self) -> bool {
        matches!(self, RunError::Interrupted)
    }
}

impl RunError {
    /// Converts the error that the kernel returned for a packet of `len` bytes, and adds advice on
    /// a likely cause.
    pub(crate) fn of(len: usize, context: &Context, cause: io::Error) -> RunError {
        if cause.raw_os_error() == Some(libc::EINTR) {
            return RunError::Interrupted;
        }
        let hint = if *context != Context::default() {
            "check metadata, device and queue"
        } else if len > 3000 {
            "packets longer than about 3,500 bytes need a program with SEC(\"xdp.frags\")"
        } else {
            "programs for devmaps and cpumaps cannot be run this way"
        };
        RunError::Kernel { len, cause, hint }
    }
}

/// An error that prevents an element of a map from being read or written.
#[derive(Debug, Error)]
pub enum MapError {
    /// A key or value has the wrong length.
    #[error("map {map}: a {what} of {len} bytes; it takes {expected}")]
    Length {
        /// Name of the map.
        map: String,
        /// Argument with the wrong length: "key" or "value".
        what: &'static str,
        /// Actual length in bytes.
        len: usize,
        /// Expected length in bytes.
        expected: usize,
    },
    /// The number of values to write differs from the number that the map has for each key.
    #[error("map {map}: {count} values for a key; it has {expected}, one for each CPU")]
    Count {
        /// Name of the map.
        map: String,
        /// Number of values that the caller passed.
        count: usize,
        /// Number of values that the map has for each key, one for each CPU.
        expected: usize,
    },
    /// The map is not a map of maps.
    #[error("map {map} is not a map of maps")]
    NoInner {
        /// Name of the map.
        map: String,
    },
    /// The map is not a ring buffer.
    #[error("map {map} is not a ring buffer")]
    NoRing {
        /// Name of the map.
        map: String,
    },
    /// The kernel did not give access to the positions of the ring buffer's reader and writers.
    #[error("map {map}: the kernel does not share the ring buffer's positions: {cause}")]
    Shared {
        /// Name of the map.
        map: String,
        /// The error that the kernel returned.
        cause: io::Error,
    },
    /// The kernel rejected an operation on an element.
    #[error("map {map}: the kernel does not {action} the element{}: {cause}", key_suffix(.key))]
    Kernel {
        /// Name of the map.
        map: String,
        /// Operation that the kernel did not perform on the element.
        action: &'static str,
        /// Key of the element. It is empty for maps without keys.
        key: Vec<u8>,
        /// The error that the kernel returned.
        cause: io::Error,
    },
}

impl MapError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            MapError::Length { .. }
            | MapError::Count { .. }
            | MapError::NoInner { .. }
            | MapError::NoRing { .. } => codes::MAPS_DO_NOT_FIT,
            MapError::Shared { .. } | MapError::Kernel { .. } => codes::KERNEL_REFUSES_MAP,
        }
    }
}

/// An error that prevents map content from being installed.
#[derive(Debug, Error)]
pub enum InstallError {
    /// The program does not have a map with this name.
    #[error("the object has no map {map}")]
    NoMap {
        /// Name of the missing map.
        map: String,
    },
    /// An element of a map could not be read or written.
    #[error(transparent)]
    Element(#[from] MapError),
    /// The `AF_XDP` socket to which a map should redirect packets could not be created.
    #[error("no socket to redirect packets to: {cause}")]
    Socket {
        /// The error that the kernel returned.
        cause: io::Error,
    },
    /// No perf event could be opened, so nothing receives what the program sends with
    /// `bpf_perf_event_output`.
    #[error("output of bpf_perf_event_output cannot be received: {cause}; this needs CAP_PERFMON")]
    Listener {
        /// The error that the kernel returned.
        cause: io::Error,
    },
    /// An inner map of a map of maps could not be created.
    #[error(transparent)]
    Inner(#[from] LoadError),
}

impl InstallError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            InstallError::NoMap { .. } => codes::MAPS_DO_NOT_FIT,
            InstallError::Element(error) => error.code(),
            InstallError::Socket { .. } | InstallError::Listener { .. } => {
                codes::KERNEL_UNAVAILABLE
            }
            InstallError::Inner(error) => error.code(),
        }
    }
}

/// An error that prevents a private network namespace or a device in it from being created.
#[derive(Debug, Error)]
pub enum NamespaceError {
    /// The kernel did not create or enter a namespace.
    #[error(transparent)]
    Refused(#[from] Unavailable),
    /// A device could not be created, found or configured.
    #[error("network device {device}: the kernel does not {action} it: {cause}")]
    Device {
        /// Name or number of the device.
        device: String,
        /// Operation that the kernel did not perform on the device.
        action: &'static str,
        /// The error that the kernel returned.
        cause: io::Error,
    },
    /// The thread that would enter the namespace could not be started.
    #[error("a thread for a network namespace does not start: {cause}; stop other programs")]
    Thread {
        /// The error of the operating system.
        cause: io::Error,
    },
}

impl NamespaceError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            NamespaceError::Refused(_) => codes::KERNEL_UNAVAILABLE,
            NamespaceError::Device { .. } => codes::DEVICE_UNAVAILABLE,
            NamespaceError::Thread { .. } => codes::SYSTEM_RESOURCES,
        }
    }
}

/// An error that prevents a program from being attached to a device.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The namespace of the device could not be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The kernel did not attach the program.
    #[error(
        "the kernel does not attach the program to device {device}: {cause}{}",
        hint_suffix(.hint)
    )]
    Kernel {
        /// Interface index of the device in its namespace.
        device: u32,
        /// The error that the kernel returned.
        cause: io::Error,
        /// Advice to the user; empty if there is none.
        hint: &'static str,
    },
}

impl LinkError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            LinkError::Namespace(error) => error.code(),
            LinkError::Kernel { .. } => codes::DEVICE_UNAVAILABLE,
        }
    }
}

/// An error while frames run through programs on virtual devices, or while their results are
/// recorded.
#[derive(Debug, Error)]
pub enum WireError {
    /// The network namespace or its devices could not be created.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The program could not be attached to the device.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The map of records could not be created or accessed, or a program could not be loaded.
    /// Programs write into this map what happened to each frame.
    #[error("the kernel does not {action} the records of frames: {cause}")]
    Record {
        /// Operation that the kernel did not perform on the map of records.
        action: &'static str,
        /// The error that the kernel returned.
        cause: io::Error,
    },
}

impl WireError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            WireError::Namespace(error) => error.code(),
            WireError::Link(error) => error.code(),
            WireError::Record { .. } => codes::KERNEL_REFUSES_MAP,
        }
    }
}

/// Returns the text ` with key …`, which follows the word "element" in a message. Returns an empty
/// text if there is no key.
fn key_suffix(key: &[u8]) -> String {
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    if key.is_empty() { digits } else { format!(" with key {digits}") }
}

impl LinkError {
    /// Converts the error that the kernel returned for attaching a program to a device, and adds
    /// advice on a likely cause. `native` is true if the program was to run in the driver.
    pub(crate) fn of(device: u32, cause: io::Error, native: bool) -> LinkError {
        let hint = match cause.raw_os_error() {
            Some(libc::EBUSY) => "the device already has a program",
            Some(libc::EOPNOTSUPP) if native => "try the generic mode",
            Some(libc::EPERM | libc::EACCES) => "run as root, or with CAP_BPF and CAP_NET_ADMIN",
            Some(libc::EINVAL) => "programs for devmaps and cpumaps cannot be attached",
            Some(libc::ENOMEM) => "there is not enough memory",
            _ => "",
        };
        LinkError::Kernel { device, cause, hint }
    }
}

/// Formats a hint as the end of an error message. Returns an empty text if there is no hint.
fn hint_suffix(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!("; {hint}") }
}

/// Returns advice to the user if the kernel refused to load a program, and the verifier gave no
/// message.
fn load_hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => "run as root, or with CAP_BPF and CAP_NET_ADMIN",
        io::ErrorKind::ArgumentListTooLong => "the kernel takes at most 1,000,000 instructions",
        io::ErrorKind::OutOfMemory => "there is not enough memory",
        _ => "try a newer kernel",
    }
}
