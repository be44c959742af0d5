//! Errors of mixes.

use thiserror::Error;

/// An error that prevents a mix from running.
#[derive(Debug, Error)]
pub enum NeighbourError {
    /// The process may use fewer CPUs than the mix needs.
    #[error(
        "it takes {needed} CPUs ({}), and this process may use {}; let it use more \
         (`taskset`, the CPUs of its control group), or leave something out",
        .purposes.join(", "), listed(.allowed)
    )]
    TooFewCpus {
        /// Number of needed CPUs.
        needed: usize,
        /// Purpose of each CPU.
        purposes: Vec<String>,
        /// CPUs that the process may use.
        allowed: Vec<usize>,
    },
    /// The process may not use a CPU.
    #[error("{purpose}: CPU {cpu} is none of those that this process may use, {}", listed(.allowed))]
    Cpu {
        /// Purpose of the CPU.
        purpose: String,
        /// Number of the CPU.
        cpu: usize,
        /// CPUs that the process may use.
        allowed: Vec<usize>,
    },
    /// Two measured threads would share a CPU.
    #[error("CPU {cpu} is for {one} and for {other}; each takes one of its own")]
    Shared {
        /// Number of the CPU.
        cpu: usize,
        /// First purpose.
        one: String,
        /// Second purpose.
        other: String,
    },
    /// A number is out of range.
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
    /// Parts of a description contradict each other.
    #[error("{0}")]
    Unfit(&'static str),
    /// There is not enough memory.
    #[error("{what} takes {bytes} bytes of memory, which there are not")]
    Memory {
        /// Purpose of the memory.
        what: &'static str,
        /// Size of the memory.
        bytes: usize,
    },
    /// A library failed.
    #[error("{0}")]
    Library(String),
    /// A thread could not be started or pinned to its CPU.
    #[error("{purpose}: {cause}")]
    Thread {
        /// Purpose of the thread.
        purpose: String,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// Work that the caller provided failed.
    #[error("{0}")]
    Given(String),
    /// A thread ended unexpectedly.
    #[error("{0} ended before it should; please report this")]
    Defect(String),
    /// The caller ended the run.
    #[error("stopped")]
    Stopped,
}

fn listed(cpus: &[usize]) -> String {
    let words: Vec<String> = cpus.iter().map(usize::to_string).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// Checks that a number is between `least` and `most`.
///
/// # Errors
/// If it is outside, or NaN.
pub fn within(what: &'static str, value: f64, least: f64, most: f64) -> Result<(), NeighbourError> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(NeighbourError::Number { what, value, least, most })
}

/// Allocates `count` zeros.
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
