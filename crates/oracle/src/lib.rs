//! What tests compare the product with, and how much they compared. Nothing but tests uses it.
//!
//! A test that asks an oracle says how much it compared ([`Oracle::compared`]), or why it could not
//! ([`Oracle::missing`]) and passes without it. `make test` collects that in the folder which the
//! environment variable [`FOLDER`] names, and prints it at its end with the program of this crate.
//! [`REQUIRE`] names oracles that have to be there, with commas between: a test that misses one
//! fails, and so does `make test` where nothing was compared with one.

mod names;
mod published;
mod records;
mod required;
mod summary;

pub use names::Oracle;
pub use published::{PUBLISHED, published_listings, published_results};
pub use records::FOLDER;
pub use required::{REQUIRE, Required};
pub use summary::summary;

use std::fmt;

impl Oracle {
    /// A test compared so many of something (a plural: "packets") with it. Numbers of the same
    /// things are added up over all tests.
    ///
    /// # Panics
    ///
    /// If nothing was compared: such a test cannot fail.
    #[track_caller]
    pub fn compared(self, count: usize, what: &str) {
        assert!(count > 0, "{self}: no {what} were compared");
        records::write(&records::Record::Compared { oracle: self, count, what: what.to_owned() });
    }

    /// A test does without it, for this reason: what is missing and where to get it.
    ///
    /// # Panics
    ///
    /// If it is required, or [`REQUIRE`] has a name that is none.
    #[track_caller]
    pub fn missing(self, reason: impl fmt::Display) {
        let reason = reason.to_string();
        match Required::from_environment() {
            Ok(required) => assert!(
                !required.contains(self),
                "{REQUIRE} has {self}, and it is missing: {reason}"
            ),
            Err(fault) => panic!("{fault}"),
        }
        records::write(&records::Record::Missing { oracle: self, reason });
    }
}

#[cfg(test)]
mod tests;
