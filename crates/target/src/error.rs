//! Errors of this crate. Each is one line that names the file, the place in it and a way out.

use thiserror::Error;

/// Why a target description cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The text is no TOML, or not a valid description.
    #[error("{file}:{line}: {what}{}", more(*.further))]
    Malformed {
        /// The file as the caller named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key and what is wrong with it.
        what: String,
        /// How many further problems there are.
        further: usize,
    },
    /// Work that the target cannot price.
    #[error(
        "target {target} has no price for {}; state one in a file with a line such as \
         `[price.\"{}\"]`, followed by `{} = CYCLES`, and pass it with --assume FILE",
        list(.classes),
        .classes.first().map_or("", |missing| missing.0.as_str()),
        .classes.first().map_or("", |missing| missing.1.as_str())
    )]
    Unpriced {
        /// The target's name.
        target: String,
        /// Cost class and the component that it has no price on.
        classes: Vec<(String, String)>,
    },
    /// A number of cores for a target without any.
    #[error("target {target} counts events: it has no cores")]
    NoCores {
        /// The target's name.
        target: String,
    },
    /// A number of cores that the device does not have.
    #[error("target {target} has 1 to {available} cores, not {requested}")]
    Cores {
        /// The target's name.
        target: String,
        /// How many there are.
        available: u32,
        /// How many were asked for.
        requested: u32,
    },
}

impl TargetError {
    /// The line in a file, and what is wrong there; `None` where no file is malformed.
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
