//! The errors of reading and using targets. Each message is one line.

use slowpath_codes as codes;
use thiserror::Error;

/// An error that makes a target description unusable for a program or request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The text of a description is not TOML, or its content is invalid.
    #[error("{file}:{line}: {what}{}", more(*.further))]
    Malformed {
        /// Name of the file, as the caller gave it.
        file: String,
        /// Number of the line with the problem, from 1.
        line: usize,
        /// Path of the key, and its problem.
        what: String,
        /// Number of other problems in the file.
        further: usize,
    },
    /// The target has no price for some work of the program.
    #[error(
        "target {target} has no price for {}; state one in a file with a line such as \
         `[price.\"{}\"]`, followed by `{} = CYCLES`, and pass it with --assume FILE",
        list(.classes),
        .classes.first().map_or("", |missing| missing.0.as_str()),
        .classes.first().map_or("", |missing| missing.1.as_str())
    )]
    Unpriced {
        /// Name of the target.
        target: String,
        /// Pairs of a cost class and a component on which it has no price.
        classes: Vec<(String, String)>,
    },
    /// The caller gave a number of cores for a target without cores.
    #[error("target {target} counts events: it has no cores")]
    NoCores {
        /// Name of the target.
        target: String,
    },
    /// The caller asked for a number of cores that the device does not have.
    #[error("target {target} has 1 to {available} cores, not {requested}")]
    Cores {
        /// Name of the target.
        target: String,
        /// Number of cores that the device has.
        available: u32,
        /// Number of cores that the caller asked for.
        requested: u32,
    },
}

impl TargetError {
    /// Returns the code of the error's cause.
    pub fn code(&self) -> codes::Code {
        match self {
            TargetError::Malformed { .. } => codes::TARGET_FILE_INVALID,
            TargetError::Unpriced { .. } => codes::NO_PRICE,
            TargetError::NoCores { .. } | TargetError::Cores { .. } => codes::WRONG_CORE_COUNT,
        }
    }
}

impl TargetError {
    /// Returns the line number and the description of an error in a line of a description file;
    /// `None` for other errors.
    pub fn place(&self) -> Option<(usize, String)> {
        match self {
            TargetError::Malformed { line, what, further, .. } => {
                Some((*line, format!("{what}{}", more(*further))))
            }
            _ => None,
        }
    }
}

fn more(further: usize) -> String {
    match further {
        0 => String::new(),
        1 => " (and 1 more problem)".into(),
        n => format!(" (and {n} more problems)"),
    }
}

fn list(classes: &[(String, String)]) -> String {
    let items: Vec<String> =
        classes.iter().map(|(class, component)| format!("`{class}` on {component}")).collect();
    items.join(", ")
}
