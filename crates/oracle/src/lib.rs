//! Records how tests compare results with oracles, which are independent sources of correct
//! results. Only tests use this crate.
//!
//! A test that uses an oracle records its number of comparisons ([`Oracle::compared`]). If the
//! oracle is not available, the test records the reason ([`Oracle::missing`]) and passes. `make
//! test` collects the records in the folder that the environment variable [`FOLDER`] names, and
//! prints a summary with the program of this crate. The variable [`REQUIRE`] is a comma-separated
//! list of required oracles. A test without a required oracle fails, and `make test` fails if
//! nothing was compared with a required oracle.

mod golden;
mod names;
mod published;
mod records;
mod summary;

pub use golden::{check_golden, schema};
pub use names::{Oracle, REQUIRE, Required};
pub use published::{PUBLISHED, published_listings, published_results};
pub use records::FOLDER;
pub use summary::summary;

use std::fmt;

impl Oracle {
    /// Records that a test compared `count` items with the oracle. `what` is the plural noun for
    /// the items, such as "packets". The summary adds up the counts of all tests that use the same
    /// noun.
    ///
    /// # Panics
    ///
    /// If nothing was compared: such a test cannot fail.
    #[track_caller]
    pub fn compared(self, count: usize, what: &str) {
        assert!(count > 0, "{self}: no {what} were compared");
        records::write(&records::Record::Compared { oracle: self, count, what: what.to_owned() });
    }

    /// Records that a test does not use the oracle, because something is missing. `reason` says
    /// what is missing and how to provide it.
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

/// Name of the environment variable that multiplies the number of cases of random tests. `make
/// campaign` sets it.
pub const CAMPAIGN: &str = "SLOWPATH_CAMPAIGN";

/// Returns the number of cases that a random test runs: `default` times the factor in [`CAMPAIGN`].
///
/// # Panics
///
/// If the factor is not a positive integer.
pub fn random_cases<N: TryFrom<u64> + Into<u64>>(default: N) -> N {
    let factor = std::env::var(CAMPAIGN).map_or(1, |text| match text.parse::<u64>() {
        Ok(factor) if factor > 0 => factor,
        _ => panic!("{CAMPAIGN}: {text:?} is not a positive integer"),
    });
    let cases = default.into().saturating_mul(factor);
    N::try_from(cases).unwrap_or_else(|_| panic!("{CAMPAIGN}: {cases} cases are too many"))
}

#[cfg(test)]
mod tests;
