//! What tests compare the product with, and how much they compared. Nothing but tests uses it.
//!
//! A test that asks an oracle says how much it compared ([`Oracle::compared`]), or why it could not
//! ([`Oracle::missing`]) and passes without it. `make test` collects that in the folder which the
//! environment variable [`FOLDER`] names, and prints it at its end with the program of this crate.
//! [`REQUIRE`] names oracles that have to be there, with commas between: a test that misses one
//! fails, and so does `make test` where nothing was compared with one.

mod published;
mod records;
mod required;
mod summary;

pub use published::{PUBLISHED, published_listings, published_results};
pub use required::Required;
pub use summary::summary;

use std::fmt;

/// The environment variable with the folder for what tests report; without it they only print it.
pub const FOLDER: &str = "SLOWPATH_ORACLES";
/// The environment variable with the oracles that have to be there.
pub const REQUIRE: &str = "SLOWPATH_REQUIRE";

/// Something that knows better, or at least independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// The running Linux kernel, where it lets us load and run XDP programs.
    Kernel,
    /// Types and functions that the running kernel tells (`CONFIG_DEBUG_INFO_BTF`).
    KernelTypes,
    /// The solver Z3.
    Z3,
    /// The proof checker for clauses (`crates/smt`), which shares no code with the solver.
    Proof,
    /// The compiler clang with its back end for BPF.
    Clang,
    /// A disassembler for the Netronome flow processor.
    Disassembler,
    /// Listings of the published programs, in the folder `SLOWPATH_LISTINGS`.
    Listings,
    /// The published objects that these listings were compiled from, beside them.
    Objects,
    /// What was published about these programs, measurements too, in the folder `SLOWPATH_RESULTS`.
    Results,
}

/// All of them with their names, in the order in which they are printed.
const NAMES: [(Oracle, &str); 9] = [
    (Oracle::Kernel, "kernel"),
    (Oracle::KernelTypes, "kernel-types"),
    (Oracle::Z3, "z3"),
    (Oracle::Proof, "proof"),
    (Oracle::Clang, "clang"),
    (Oracle::Disassembler, "disassembler"),
    (Oracle::Listings, "listings"),
    (Oracle::Objects, "objects"),
    (Oracle::Results, "results"),
];

impl Oracle {
    /// The one with this name.
    pub fn named(name: &str) -> Option<Oracle> {
        NAMES.iter().find(|(_, known)| *known == name).map(|&(oracle, _)| oracle)
    }

    /// How [`REQUIRE`] calls it.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|&&(oracle, _)| oracle == self).map_or("", |&(_, name)| name)
    }

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

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
