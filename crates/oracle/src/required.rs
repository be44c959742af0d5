//! Oracles that must be available.

use crate::names::{NAMES, Oracle};

/// The environment variable with the names of required oracles.
pub const REQUIRE: &str = "SLOWPATH_REQUIRE";

/// A set of required oracles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required(Vec<Oracle>);

impl Required {
    /// Reads [`REQUIRE`]; empty if it is not set.
    ///
    /// # Errors
    ///
    /// If a name is unknown; the error lists the known names.
    pub fn from_environment() -> Result<Required, String> {
        Required::parse(&std::env::var(REQUIRE).unwrap_or_default())
    }

    /// Parses a comma-separated list of names.
    ///
    /// # Errors
    ///
    /// If a name is unknown; the error lists the known names.
    pub fn parse(text: &str) -> Result<Required, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let named = names.map(|name| {
            Oracle::named(name).ok_or_else(|| {
                let known: Vec<&str> = NAMES.iter().map(|&(_, known)| known).collect();
                format!("{REQUIRE}: no oracle is called {name:?}; there are {}", known.join(", "))
            })
        });
        named.collect::<Result<_, _>>().map(Required)
    }

    /// Returns true if an oracle is required.
    pub fn contains(&self, oracle: Oracle) -> bool {
        self.0.contains(&oracle)
    }
}
