//! Provides the built-in target descriptions, which are the files `targets/*.toml`.

use crate::{Target, TargetError};
use std::sync::OnceLock;

/// A built-in target description, which is parsed at most once.
struct Builtin {
    name: &'static str,
    text: &'static str,
    target: OnceLock<Target>,
}

impl Builtin {
    const fn new(name: &'static str, text: &'static str) -> Builtin {
        Builtin { name, text, target: OnceLock::new() }
    }

    fn of(name: &str) -> Option<&'static Builtin> {
        BUILTIN.iter().find(|known| known.name == name)
    }
}

/// Defines the built-in targets by the names of their files, without the ending `.toml`.
macro_rules! builtin {
    ($($name:literal,)*) => {
        static BUILTIN: [Builtin; NAMES.len()] = [$(
            Builtin::new($name, include_str!(concat!("../../../targets/", $name, ".toml"))),
        )*];

        const NAMES: &[&str] = &[$($name,)*];
    };
}

builtin! {
    "agilio-cx-2x40",
    "ebpf",
    "linux-xdp",
}

impl Target {
    /// Returns the names of the built-in targets.
    pub fn builtin_names() -> &'static [&'static str] {
        NAMES
    }

    /// Returns the description of a built-in target as TOML text, or `None` if the name is unknown.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        Builtin::of(name).map(|known| known.text)
    }

    /// Returns the built-in target with this name, or `None` if the name is unknown.
    pub fn builtin(name: &str) -> Option<Result<Target, TargetError>> {
        let known = Builtin::of(name)?;
        if let Some(target) = known.target.get() {
            return Some(Ok(target.clone()));
        }
        let parsed = Self::parse(known.text, &format!("{name}.toml"));
        Some(parsed.inspect(|target| _ = known.target.set(target.clone())))
    }
}

#[cfg(test)]
mod tests;
