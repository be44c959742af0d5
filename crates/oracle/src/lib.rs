//! Oracles for tests: independent sources that results are compared with, and a record of these
//! comparisons. Only tests use this crate.
//!
//! A test that uses an oracle records how much it compared ([`Oracle::compared`]). If the oracle is
//! not available, the test records the reason ([`Oracle::missing`]) and passes. `make test`
//! collects the records in the folder that the environment variable [`FOLDER`] names, and prints a
//! summary with the program of this crate. [`REQUIRE`] is a comma-separated list of required
//! oracles. A test that misses a required oracle fails, and `make test` fails if nothing was
//! compared with one.

mod campaign;
mod golden;
mod names;
mod published;
mod records;
mod required;
mod summary;

pub use campaign::{CAMPAIGN, random_cases};
pub use golden::{check_golden, schema};
pub use names::Oracle;
pub use published::{PUBLISHED, published_listings, published_results};
pub use records::FOLDER;
pub use required::{REQUIRE, Required};
pub use summary::summary;

use std::fmt;

impl Oracle {
    /// Records that a test compared `count` items of some kind (a plural: "packets") with the
    /// oracle. Counts of the same kind are summed over all tests.
    ///
    /// # Panics
    ///
    /// If nothing was compared: such a test cannot fail.
    #[track_caller]
    pub fn compared(self, count: usize, what: &str) {
        assert!(count > 0, "{self}: no {what} were compared");
        records::write(&records::Record::Compared { oracle: self, count, what: what.to_owned() });
    }

    /// Records that a test runs without the oracle. `reason` is the missing requirement, and a way
    /// to get it.
    ///
    /// # Panics
    ///
    /// If the oracle is required, or [`REQUIRE`] contains an unknown name.
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
