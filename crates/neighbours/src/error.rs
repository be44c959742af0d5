//! Errors that occur when network functions run together with competitors.

use slowpath_codes as codes;
use thiserror::Error;

/// An error that prevents network functions and their competitors from running.
#[derive(Debug, Error)]
pub enum NeighbourError {
    /// The process may use fewer CPUs than the functions and competitors need.
    #[error(
        "{needed} CPUs are needed ({}), but this process may use {}; allow more (`taskset`, \
         control group), or remove a thread",
        .purposes.join(", "), listed(.allowed)
    )]
    TooFewCpus {
        /// Number of CPUs that the functions and competitors need, one for each thread.
        needed: usize,
        /// The use of each needed CPU, in words, for the error message.
        purposes: Vec<String>,
        /// Numbers of the CPUs that the process may use.
        allowed: Vec<usize>,
    },
    /// The process may not use a CPU that the description names.
    #[error(
        "{purpose}: CPU {cpu} is not among those that this process may use, {}",
        listed(.allowed)
    )]
    Cpu {
        /// The use of the CPU, in words, for the error message.
        purpose: String,
        /// Number of the CPU.
        cpu: usize,
        /// Numbers of the CPUs that the process may use.
        allowed: Vec<usize>,
    },
    /// Two measured threads would run on the same CPU.
    #[error("CPU {cpu} is for {one} and for {other}; each needs its own")]
    Shared {
        /// Number of the CPU.
        cpu: usize,
        /// The first use of the CPU, in words.
        one: String,
        /// The second use of the CPU, in words.
        other: String,
    },
    /// A number in the description is out of range.
    #[error("{what}: {value} is not between {least} and {most}")]
    Number {
        /// Name of the quantity.
        what: &'static str,
        /// Value of the quantity.
        value: f64,
        /// Least allowed value.
        least: f64,
        /// Greatest allowed value.
        most: f64,
    },
    /// Two parts of the description contradict each other, or packets with the described properties
    /// are impossible. The field is the error message.
    #[error("{0}")]
    Unfit(&'static str),
    /// There is not enough memory.
    #[error("{what} needs {bytes} bytes of memory, more than available")]
    Memory {
        /// The use of the memory, in words.
        what: &'static str,
        /// Size of the memory in bytes.
        bytes: usize,
    },
    /// The regex library or zstd failed. The field is its error message.
    #[error("{0}")]
    Library(String),
    /// A thread could not be started or pinned to its CPU.
    #[error("{purpose}: {cause}")]
    Thread {
        /// The use of the thread, in words.
        purpose: String,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// Work that the caller passed in has failed. The field is the reason.
    #[error("{0}")]
    Given(String),
    /// A thread ended before it was told to, which is a bug. The field is the name of the thread.
    #[error("{0} ended before it should; please report this")]
    Defect(String),
    /// The run ended early because the caller asked for this.
    #[error("stopped")]
    Stopped,
}

impl NeighbourError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            NeighbourError::TooFewCpus { .. } => codes::MACHINE_UNSUITABLE,
            NeighbourError::Cpu { .. } => codes::CPU_NOT_ALLOWED,
            NeighbourError::Shared { .. }
            | NeighbourError::Number { .. }
            | NeighbourError::Unfit(_)
            | NeighbourError::Given(_) => codes::FUNCTION_NOT_RUNNABLE,
            NeighbourError::Memory { .. }
            | NeighbourError::Thread { .. }
            | NeighbourError::Library(_) => codes::SYSTEM_RESOURCES,
            NeighbourError::Defect(_) => codes::INTERNAL_ERROR,
            NeighbourError::Stopped => codes::INTERRUPTED,
        }
    }
}

fn listed(cpus: &[usize]) -> String {
    let words: Vec<String> = cpus.iter().map(usize::to_string).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// Checks that the number `value` is between `least` and `most`. `what` is the name of the
/// quantity, for the error.
///
/// # Errors
/// If the number is not in this range, or is NaN.
pub fn within(what: &'static str, value: f64, least: f64, most: f64) -> Result<(), NeighbourError> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(NeighbourError::Number { what, value, least, most })
}

/// Allocates `count` elements that are zero.
///
/// # Errors
/// If there is not enough memory.
pub fn zeros<T: Clone + Default>(
    what: &'static str,
    count: usize,
) -> Result<Vec<T>, NeighbourError> {
    let mut zeros = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    zeros.try_reserve_exact(count).map_err(|_| NeighbourError::Memory { what, bytes })?;
    zeros.resize(count, T::default());
    Ok(zeros)
}
