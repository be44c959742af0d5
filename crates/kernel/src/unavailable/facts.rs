//! What decides whether a process may load BPF programs, as far as the machine tells.

use std::fmt;
use std::path::Path;

/// What starts a container with all that measuring takes: `CAP_SYS_ADMIN` stands for `CAP_BPF`, and
/// for `CAP_PERFMON`, without which the verifier puts instructions against speculation into programs.
pub const ADDED: &str = "--cap-add SYS_ADMIN --cap-add NET_ADMIN";

/// A capability, by its bit in the masks of proc_pid_status(5).
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

/// The first two numbers of a kernel's release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// As the 5 of 5.18.
    pub major: u32,
    /// As the 18 of 5.18.
    pub minor: u32,
}

impl Release {
    /// Reads a release such as `5.4.0-150-generic` or `6.18-rc3`.
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

/// What is known. What the machine does not tell counts as no obstacle.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The operating system, as Rust calls it.
    pub system: &'static str,
    /// The kernel's release.
    pub release: Option<String>,
    /// The mask of effective capabilities.
    pub capabilities: Option<u64>,
    /// The mask of those that it could get, as by becoming root (the bounding set).
    pub attainable: Option<u64>,
    /// Whether capabilities are those of a user namespace other than the first.
    pub in_user_namespace: bool,
    /// Whether a seccomp filter sees the process's system calls.
    pub is_filtered: bool,
    /// Bytes that the process may lock in memory; none without a limit.
    pub locked_memory: Option<u64>,
    /// How the kernel is locked down: `integrity` or `confidentiality`.
    pub lockdown: Option<String>,
    /// Whether this is a container of Docker, Podman or their like.
    pub is_container: bool,
}

impl Facts {
    /// Asks this machine.
    pub fn observe() -> Facts {
        Facts::read(Path::new("/"))
    }

    /// Asks the files below a folder that looks like `/`.
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
            attainable: field(&status, "CapBnd:")
                .and_then(|mask| u64::from_str_radix(mask, 16).ok()),
            in_user_namespace: is_mapped(&text("proc/self/uid_map")),
            is_filtered: field(&status, "Seccomp:") == Some("2"),
            locked_memory: field(&text("proc/self/limits"), "Max locked memory")
                .and_then(|bytes| bytes.parse().ok()),
            lockdown: lockdown(&text("sys/kernel/security/lockdown")),
            is_container: containers.iter().any(|file| root.join(file).exists()),
        }
    }

    /// The kernel's release, if it is older than that one.
    pub fn release_before(&self, first: Release) -> Option<&str> {
        let release = self.release.as_deref()?;
        Release::parse(release).filter(|&numbers| numbers < first).map(|_| release)
    }

    /// Those of these capabilities that the process has not.
    pub fn missing(&self, needed: &[Capability]) -> Vec<Capability> {
        without(self.capabilities, needed)
    }

    /// Whether only another container would have these capabilities, not another user in this one.
    pub fn is_confined(&self, needed: &[Capability]) -> bool {
        self.is_container && !without(self.attainable, needed).is_empty()
    }
}

/// Those of these capabilities that a mask lacks. For BPF, `CAP_SYS_ADMIN` stands for all others.
fn without(mask: Option<u64>, needed: &[Capability]) -> Vec<Capability> {
    let Some(mask) = mask else { return Vec::new() };
    let has = |capability: Capability| mask >> capability as u32 & 1 == 1;
    let stands_for_all = !needed.contains(&Capability::SysAdmin) && has(Capability::SysAdmin);
    let missing = needed.iter().copied().filter(|&each| !has(each) && !stands_for_all);
    missing.collect()
}

/// The first word behind a name, in lines such as `CapEff:  000001ffffffffff`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
}

/// Whether user ids are others than those of the machine: its own namespace maps all to themselves.
fn is_mapped(map: &str) -> bool {
    let words: Vec<_> = map.split_whitespace().collect();
    !words.is_empty() && words != ["0", "0", "4294967295"]
}

/// The chosen one of `none [integrity] confidentiality`, unless that is the first.
fn lockdown(choices: &str) -> Option<String> {
    let (_, rest) = choices.split_once('[')?;
    let (mode, _) = rest.split_once(']')?;
    (mode != "none").then(|| mode.to_owned())
}
