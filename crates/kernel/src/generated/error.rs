//! Why a program that is written here does not do what it should.

use std::io;

use thiserror::Error;

/// Why a program that is written here does not do what it should.
#[derive(Debug, Error)]
pub enum GeneratedError {
    /// The kernel does not take it, or something that belongs to it.
    #[error("the kernel refuses {what} that measuring needs: {cause}")]
    Refused {
        /// Of what kind it is.
        what: &'static str,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The kernel does not let the program be called.
    #[error("the kernel does not let the program be called by another one: {cause}")]
    Selected {
        /// The kernel's answer.
        cause: io::Error,
    },
}
