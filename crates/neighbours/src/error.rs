//! Why nothing is measured.

use thiserror::Error;

/// Why a mix cannot be run.
#[derive(Debug, Error)]
pub enum NeighbourError {
    /// The process may not use as many CPUs as the mix takes.
    #[error(
        "it takes {needed} CPUs ({}), and this process may use {}; let it use more \
         (`taskset`, the CPUs of its control group), or leave something out",
        .purposes.join(", "), listed(.allowed)
    )]
    TooFewCpus {
        /// How many are needed.
        needed: usize,
        /// What each is for.
        purposes: Vec<String>,
        /// Those that the process may use.
        allowed: Vec<usize>,
    },
    /// A CPU that the process may not use.
    #[error("{purpose}: CPU {cpu} is none of those that this process may use, {}", listed(.allowed))]
    Cpu {
        /// What for.
        purpose: String,
        /// Which.
        cpu: usize,
        /// Those that the process may use.
        allowed: Vec<usize>,
    },
    /// Two threads that are measured would share a CPU.
    #[error("CPU {cpu} is for {one} and for {other}; each takes one of its own")]
    Shared {
        /// Which.
        cpu: usize,
        /// What for.
        one: String,
        /// And what else.
        other: String,
    },
    /// A number that makes no sense.
    #[error("{what}: {value} is not between {least} and {most}")]
    Number {
        /// What it is of.
        what: &'static str,
        /// What it is.
        value: f64,
        /// Its least value.
        least: f64,
        /// Its greatest value.
        most: f64,
    },
    /// Parts that do not go together.
    #[error("{0}")]
    Unfit(&'static str),
    /// Memory that there is not.
    #[error("{what} takes {bytes} bytes of memory, which there are not")]
    Memory {
        /// What it is for.
        what: &'static str,
        /// How much.
        bytes: usize,
    },
    /// What a maintained library did not do.
    #[error("{0}")]
    Library(String),
    /// A thread that could not be started, or not be kept on its CPU.
    #[error("{purpose}: {cause}")]
    Thread {
        /// What it was for.
        purpose: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// What was handed over did not do its work.
    #[error("{0}")]
    Given(String),
    /// A thread that failed in a way it should not.
    #[error("{0} ended before it should; please report this")]
    Defect(String),
    /// Somebody asked to end.
    #[error("stopped")]
    Stopped,
}

fn listed(cpus: &[usize]) -> String {
    let words: Vec<String> = cpus.iter().map(usize::to_string).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// A number within its limits.
///
/// # Errors
/// If it is outside of them, or none.
pub fn within(what: &'static str, value: f64, least: f64, most: f64) -> Result<(), NeighbourError> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(NeighbourError::Number { what, value, least, most })
}

/// Zeros, or why there is no memory for them.
///
/// # Errors
/// If there is none.
pub fn zeros<T: Clone + Default>(
    what: &'static str,
    count: usize,
) -> Result<Vec<T>, NeighbourError> {
    let mut found = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    found.try_reserve_exact(count).map_err(|_| NeighbourError::Memory { what, bytes })?;
    found.resize(count, T::default());
    Ok(found)
}
