//! The targets that come with slowpath, compiled in from `targets/*.toml`.

use crate::{Target, TargetError};
use std::sync::OnceLock;

/// A built-in target; read once, however often it is asked for.
struct Builtin {
    name: &'static str,
    text: &'static str,
    read: OnceLock<Target>,
}

impl Builtin {
    const fn new(name: &'static str, text: &'static str) -> Builtin {
        Builtin { name, text, read: OnceLock::new() }
    }

    fn of(name: &str) -> Option<&'static Builtin> {
        BUILTIN.iter().find(|known| known.name == name)
    }
}

/// The names of the targets, which are those of their files.
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
    /// The names of the built-in targets.
    pub fn builtin_names() -> &'static [&'static str] {
        NAMES
    }

    /// The description of a built-in target, as TOML.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        Builtin::of(name).map(|known| known.text)
    }

    /// A built-in target; `None` when there is none of that name.
    pub fn builtin(name: &str) -> Option<Result<Target, TargetError>> {
        let known = Builtin::of(name)?;
        if let Some(target) = known.read.get() {
            return Some(Ok(target.clone()));
        }
        let read = Self::parse(known.text, &format!("{name}.toml"));
        Some(read.inspect(|target| _ = known.read.set(target.clone())))
    }
}

#[cfg(test)]
mod tests;
