//! Errors of generated programs.

use std::io;

use thiserror::Error;

/// A failure to load a generated program or to connect it with another.
#[derive(Debug, Error)]
pub enum GeneratedError {
    /// The kernel rejects the program or a map that it needs.
    #[error("the kernel refuses {what} that measuring needs: {cause}")]
    Refused {
        /// Kind of the rejected object.
        what: &'static str,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The kernel does not accept a program as target of a tail call.
    #[error("the kernel does not let the program be called by another one: {cause}")]
    Selected {
        /// The kernel's error.
        cause: io::Error,
    },
}
