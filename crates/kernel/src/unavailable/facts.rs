//! Reads the facts about the machine that decide whether a process may load BPF programs.

use std::fmt;
use std::path::Path;

/// Container options that grant all capabilities which measurements need. `CAP_SYS_ADMIN` implies
/// `CAP_BPF` and `CAP_PERFMON`. Without `CAP_PERFMON`, the verifier adds instructions to programs
/// that prevent speculative execution.
pub const CONTAINER_OPTIONS: &str = "--cap-add SYS_ADMIN --cap-add NET_ADMIN";

/// A capability of a process. Its number is its bit in the masks of proc_pid_status(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// `CAP_NET_ADMIN`.
    NetAdmin = 12,
    /// `CAP_SYS_ADMIN`.
    SysAdmin = 21,
    /// `CAP_BPF`.
    Bpf = 39,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::NetAdmin => "CAP_NET_ADMIN",
            Capability::SysAdmin => "CAP_SYS_ADMIN",
            Capability::Bpf => "CAP_BPF",
        })
    }
}

/// The major and minor version of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Major version, such as the 5 of 5.18.
    pub major: u32,
    /// Minor version, such as the 18 of 5.18.
    pub minor: u32,
}

impl Release {
    /// Parses a release such as `5.4.0-150-generic` or `6.18-rc3`.
    pub fn parse(text: &str) -> Option<Release> {
        let mut parts = text.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
        Some(Release { major, minor: minor[..digits].parse().ok()? })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Facts about the machine and this process. If a fact is unknown, it is assumed not to be an
/// obstacle.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Name of the operating system, as in `std::env::consts::OS`.
    pub system: &'static str,
    /// Release of the kernel, as text.
    pub release: Option<String>,
    /// Effective capabilities of the process, as a bit mask.
    pub capabilities: Option<u64>,
    /// Capabilities that the process could gain, for example by becoming root (the bounding set),
    /// as a bit mask.
    pub bounding_set: Option<u64>,
    /// True if the capabilities of the process belong to a user namespace other than the initial
    /// one.
    pub in_user_namespace: bool,
    /// True if a seccomp filter checks the system calls of the process.
    pub is_filtered: bool,
    /// Number of bytes that the process may lock in memory; `None` if there is no limit.
    pub locked_memory: Option<u64>,
    /// Lockdown mode of the kernel: `integrity` or `confidentiality`.
    pub lockdown: Option<String>,
    /// True if the process runs in a container of Docker, Podman or similar.
    pub is_container: bool,
}

impl Facts {
    /// Reads the facts of this machine.
    pub fn observe() -> Facts {
        Facts::read(Path::new("/"))
    }

    /// Reads the facts from files below a folder that is laid out like `/`.
    pub fn read(root: &Path) -> Facts {
        let text = |file: &str| std::fs::read_to_string(root.join(file)).unwrap_or_default();
        let status = text("proc/self/status");
        let release = text("proc/sys/kernel/osrelease").trim().to_owned();
        let containers = [".dockerenv", "run/.containerenv"];
        Facts {
            system: std::env::consts::OS,
            release: Some(release).filter(|release| !release.is_empty()),
            capabilities: field(&status, "CapEff:")
                .and_then(|mask| u64::from_str_radix(mask, 16).ok()),
            bounding_set: field(&status, "CapBnd:")
                .and_then(|mask| u64::from_str_radix(mask, 16).ok()),
            in_user_namespace: is_mapped(&text("proc/self/uid_map")),
            is_filtered: field(&status, "Seccomp:") == Some("2"),
            locked_memory: field(&text("proc/self/limits"), "Max locked memory")
                .and_then(|bytes| bytes.parse().ok()),
            lockdown: lockdown(&text("sys/kernel/security/lockdown")),
            is_container: containers.iter().any(|file| root.join(file).exists()),
        }
    }

    /// Returns the release of the kernel if it is older than `first`.
    pub fn release_before(&self, first: Release) -> Option<&str> {
        let release = self.release.as_deref()?;
        Release::parse(release).filter(|&numbers| numbers < first).map(|_| release)
    }

    /// Returns those `needed` capabilities that the process does not have.
    pub fn missing(&self, needed: &[Capability]) -> Vec<Capability> {
        without(self.capabilities, needed)
    }

    /// Returns true if the process is in a container that grants fewer than the `needed`
    /// capabilities, even to root.
    pub fn is_confined(&self, needed: &[Capability]) -> bool {
        self.is_container && !without(self.bounding_set, needed).is_empty()
    }
}

/// Returns those `needed` capabilities that are not in the bit mask `mask`. Returns no capabilities
/// if the mask is unknown. For BPF, `CAP_SYS_ADMIN` implies all others.
fn without(mask: Option<u64>, needed: &[Capability]) -> Vec<Capability> {
    let Some(mask) = mask else { return Vec::new() };
    let has = |capability: Capability| mask >> capability as u32 & 1 == 1;
    let stands_for_all = !needed.contains(&Capability::SysAdmin) && has(Capability::SysAdmin);
    let missing = needed.iter().copied().filter(|&each| !has(each) && !stands_for_all);
    missing.collect()
}

/// Returns the first word after the name `name` in a text with lines such as `CapEff:
/// 000001ffffffffff`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
}

/// Returns true if the content of `uid_map` is that of a user namespace other than the initial one.
/// The initial one maps all user ids to themselves.
fn is_mapped(map: &str) -> bool {
    let words: Vec<_> = map.split_whitespace().collect();
    !words.is_empty() && words != ["0", "0", "4294967295"]
}

/// Returns the active lockdown mode, which is in brackets as in `none [integrity] confidentiality`.
/// Returns `None` if the mode is `none`.
fn lockdown(choices: &str) -> Option<String> {
    let (_, rest) = choices.split_once('[')?;
    let (mode, _) = rest.split_once(']')?;
    (mode != "none").then(|| mode.to_owned())
}
