//! The errors of this crate. Each message is one line.

use thiserror::Error;

/// An error that makes a target unusable.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The text is not TOML, or not valid.
    #[error("{file}:{line}: {what}{}", more(*.further))]
    Malformed {
        /// The file as the caller named it.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// The key and its problem.
        what: String,
        /// Number of further problems.
        further: usize,
    },
    /// The target has no price for some work.
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
        /// Cost classes, each with the component that lacks a price.
        classes: Vec<(String, String)>,
    },
    /// A number of cores was given for a target without cores.
    #[error("target {target} counts events: it has no cores")]
    NoCores {
        /// Name of the target.
        target: String,
    },
    /// The device does not have this number of cores.
    #[error("target {target} has 1 to {available} cores, not {requested}")]
    Cores {
        /// Name of the target.
        target: String,
        /// Number of cores of the device.
        available: u32,
        /// Requested number of cores.
        requested: u32,
    },
}

impl TargetError {
    /// Returns the line number and the problem if the error is about a place in a file; `None` for
    /// other errors.
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
