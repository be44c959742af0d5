//! Provides the built-in target descriptions, which are the files `targets/*.toml`.

use crate::{Target, TargetError};
use std::sync::OnceLock;

/// A built-in target description, which is parsed at most once.
struct Builtin {
    name: &'static str,
    /// Content of the file `targets/*.toml` with the description.
    file: &'static str,
    text: OnceLock<String>,
    target: OnceLock<Target>,
}

impl Builtin {
    const fn new(name: &'static str, file: &'static str) -> Builtin {
        Builtin { name, file, text: OnceLock::new(), target: OnceLock::new() }
    }

    /// Returns the description as TOML text. If the file states another target name, as files of
    /// several targets do, the text states the name of this target instead.
    fn text(&'static self) -> &'static str {
        let name = format!("name = \"{}\"", self.name);
        if self.file.contains(&name) {
            return self.file;
        }
        self.text.get_or_init(|| {
            let own = self.file.lines().find(|line| line.starts_with("name = "));
            self.file.replacen(own.unwrap_or_default(), &name, 1)
        })
    }

    fn of(name: &str) -> Option<&'static Builtin> {
        BUILTIN.iter().find(|known| known.name == name)
    }
}

/// Defines the built-in targets by their names and the names of their files, without the ending
/// `.toml`.
macro_rules! builtin {
    ($($name:literal = $file:literal,)*) => {
        static BUILTIN: [Builtin; NAMES.len()] = [$(
            Builtin::new($name, include_str!(concat!("../../../targets/", $file, ".toml"))),
        )*];

        const NAMES: &[&str] = &[$($name,)*];
    };
}

builtin! {
    "agilio-cx-2x40" = "agilio-cx-2x40",
    "dpdk-swx" = "dpdk-swx",
    "ebpf" = "ebpf",
    "linux-xdp" = "linux-xdp-zen4",
    "linux-xdp-golden-cove" = "linux-xdp-golden-cove",
    "linux-xdp-zen3" = "linux-xdp-zen3",
    "linux-xdp-zen4" = "linux-xdp-zen4",
}

impl Target {
    /// Returns the names of the built-in targets.
    pub fn builtin_names() -> &'static [&'static str] {
        NAMES
    }

    /// Returns the description of a built-in target as TOML text, or `None` if the name is unknown.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        Builtin::of(name).map(Builtin::text)
    }

    /// Returns the built-in target with this name, or `None` if the name is unknown.
    pub fn builtin(name: &str) -> Option<Result<Target, TargetError>> {
        let known = Builtin::of(name)?;
        if let Some(target) = known.target.get() {
            return Some(Ok(target.clone()));
        }
        let parsed = Self::parse(known.text(), &format!("{name}.toml"));
        Some(parsed.inspect(|target| _ = known.target.set(target.clone())))
    }
}

#[cfg(test)]
mod tests;
