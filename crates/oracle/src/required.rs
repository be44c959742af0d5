//! Which oracles have to be there.

use crate::names::{NAMES, Oracle};

/// The environment variable with the oracles that have to be there.
pub const REQUIRE: &str = "SLOWPATH_REQUIRE";

/// The oracles that have to be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required(Vec<Oracle>);

impl Required {
    /// What [`REQUIRE`] says; without it, none.
    ///
    /// # Errors
    ///
    /// A name that no oracle has, with those that there are.
    pub fn from_environment() -> Result<Required, String> {
        Required::parse(&std::env::var(REQUIRE).unwrap_or_default())
    }

    /// Names with commas between.
    ///
    /// # Errors
    ///
    /// A name that no oracle has, with those that there are.
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

    /// Whether this one has to be there.
    pub fn contains(&self, oracle: Oracle) -> bool {
        self.0.contains(&oracle)
    }
}
