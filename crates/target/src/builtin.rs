//! The targets that come with slowpath, compiled in from `targets/*.toml`.

use crate::{Target, TargetError};

const BUILTIN: &[(&str, &str)] = &[
    ("agilio-cx-2x40", include_str!("../../../targets/agilio-cx-2x40.toml")),
    ("ebpf", include_str!("../../../targets/ebpf.toml")),
];

const NAMES: &[&str] = &["agilio-cx-2x40", "ebpf"];

impl Target {
    /// The names of the built-in targets.
    pub fn builtin_names() -> &'static [&'static str] {
        NAMES
    }

    /// The description of a built-in target, as TOML.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// A built-in target; `None` when there is none of that name.
    pub fn builtin(name: &str) -> Option<Result<Target, TargetError>> {
        Self::builtin_text(name).map(|text| Self::parse(text, &format!("{name}.toml")))
    }
}

#[cfg(test)]
mod tests;
