//! Explains why the kernel does not run BPF programs for this process. Finds the first cause that
//! explains the kernel's error.
//!
//! [`facts`] collects data about the machine. The diagnosis uses only these facts, so tests can
//! check every cause on any machine.
//!
//! Source: capabilities(7), user_namespaces(7), `kernel/bpf/syscall.c` (`bpf_prog_load`: loading an
//! XDP program needs `CAP_BPF` and `CAP_NET_ADMIN`, each of which `CAP_SYS_ADMIN` can replace;
//! before Linux 5.11, memory counted against `RLIMIT_MEMLOCK`). `kernel.unprivileged_bpf_disabled`
//! is never a cause: no value of it lets a process without capabilities load an XDP program.

pub mod facts;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;

use facts::{Capability, Facts, Release};

/// The first version of the kernel that has all features which this crate uses.
pub const OLDEST: Release = Release { major: 5, minor: 18 };
/// The first version of the kernel that does not limit BPF memory by `RLIMIT_MEMLOCK`.
const UNCOUNTED: Release = Release { major: 5, minor: 11 };

/// An operation that the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Reading the number of possible CPUs.
    Cpus,
    /// Loading an empty XDP program.
    Load,
    /// A test run of an empty XDP program.
    Run,
    /// Creating a network namespace.
    Namespace,
}

impl Attempt {
    /// Returns the capabilities that the operation needs.
    fn needs(self) -> &'static [Capability] {
        match self {
            Attempt::Cpus => &[],
            Attempt::Load | Attempt::Run => &[Capability::Bpf, Capability::NetAdmin],
            Attempt::Namespace => &[Capability::SysAdmin, Capability::NetAdmin],
        }
    }

    /// Returns the name of the operation that the kernel refuses, as the start of an error message.
    fn refused(self) -> &'static str {
        match self {
            Attempt::Namespace => "does not create a network namespace",
            _ => "does not run BPF programs",
        }
    }

    /// Returns the exact step of the operation that failed, as part of an error message.
    fn step(self) -> &'static str {
        match self {
            Attempt::Cpus => "it does not report the number of CPUs",
            Attempt::Load => "it does not load an empty XDP program",
            Attempt::Run => "it makes no test run of an empty XDP program",
            Attempt::Namespace => "it refuses",
        }
    }

    /// Returns the kernel options and settings that the operation needs.
    fn setup(self) -> &'static str {
        match self {
            Attempt::Namespace => {
                "CONFIG_NET_NS=y, /proc mounted, and room in user.max_net_namespaces"
            }
            _ => "CONFIG_BPF_SYSCALL=y and CONFIG_NET=y",
        }
    }
}

/// The reason why the kernel cannot run packets here, with advice, in one sentence.
#[derive(Debug, thiserror::Error)]
#[error("the kernel {} for us: {cause}{}", attempt.refused(), self.age())]
pub struct Unavailable {
    attempt: Attempt,
    cause: Cause,
    /// Version of the kernel, if it is older than supported but this is not the cause of the error;
    /// else `None`.
    old: Option<String>,
}

impl Unavailable {
    /// Finds the cause of an error that the kernel returned from unshare(2), or when a device in a
    /// new network namespace was created.
    pub fn of_namespace(error: io::Error) -> Self {
        Unavailable::observe(Attempt::Namespace, error)
    }

    /// Finds the cause of an error that the kernel returned on this machine.
    pub(crate) fn observe(attempt: Attempt, error: io::Error) -> Self {
        Unavailable::explain(&Facts::observe(), attempt, error)
    }

    /// Finds the cause of an error that the kernel returned on a machine with these facts.
    pub(crate) fn explain(facts: &Facts, attempt: Attempt, error: io::Error) -> Self {
        let cause = cause(facts, attempt, error);
        let named = matches!(cause, Cause::Old { .. });
        let old = facts.release_before(OLDEST).filter(|_| !named);
        Unavailable { attempt, cause, old: old.map(str::to_owned) }
    }

    fn age(&self) -> String {
        self.old.as_ref().map_or_else(String::new, |release| {
            format!(
                "; besides, this is Linux {release}, and {OLDEST} is the first with all it takes"
            )
        })
    }
}

/// The reason why the kernel refused an operation.
#[derive(Debug)]
enum Cause {
    NotLinux { system: &'static str },
    NoSysfs { error: io::Error },
    Old { release: String },
    NoCall,
    Capabilities { attempt: Attempt, missing: Vec<Capability>, container: bool },
    UserNamespace,
    Filter { error: io::Error, container: bool },
    LockedMemory { limit: u64 },
    Lockdown { mode: String },
    Other { attempt: Attempt, error: io::Error },
}

fn cause(facts: &Facts, attempt: Attempt, error: io::Error) -> Cause {
    if facts.system != "linux" {
        return Cause::NotLinux { system: facts.system };
    }
    if attempt == Attempt::Cpus {
        return Cause::NoSysfs { error };
    }
    if error.kind() == io::ErrorKind::PermissionDenied {
        return forbidden(facts, attempt, error);
    }
    let old = facts.release_before(OLDEST).map(str::to_owned);
    match old {
        Some(release) => Cause::Old { release },
        None if !has_no_call(&error) => Cause::Other { attempt, error },
        // Some seccomp filters return `ENOSYS`.
        None if facts.is_filtered => Cause::Filter { error, container: facts.is_container },
        None => Cause::NoCall,
    }
}

/// Finds the cause of an error about missing permissions. Checks the most certain causes first.
fn forbidden(facts: &Facts, attempt: Attempt, error: io::Error) -> Cause {
    let missing = facts.missing(attempt.needs());
    let memory = facts.locked_memory.filter(|_| facts.release_before(UNCOUNTED).is_some());
    if !missing.is_empty() {
        let container = facts.is_confined(attempt.needs());
        Cause::Capabilities { attempt, missing, container }
    } else if facts.in_user_namespace {
        Cause::UserNamespace
    } else if facts.is_filtered {
        Cause::Filter { error, container: facts.is_container }
    } else if let Some(limit) = memory {
        Cause::LockedMemory { limit }
    } else if let Some(mode) = facts.lockdown.clone() {
        Cause::Lockdown { mode }
    } else {
        Cause::Other { attempt, error }
    }
}

fn has_no_call(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOSYS)
}

fn list(capabilities: &[Capability], between: &str) -> String {
    let names: Vec<_> = capabilities.iter().map(Capability::to_string).collect();
    names.join(between)
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::NotLinux { system } => {
                write!(f, "this is {system}; only Linux {OLDEST} or later runs them")
            }
            Cause::NoSysfs { error } => {
                write!(f, "it does not report the number of CPUs ({error}); mount /sys")
            }
            Cause::Old { release } => {
                write!(f, "this is Linux {release}; boot Linux {OLDEST} or later")
            }
            Cause::NoCall => {
                write!(f, "it has no system call bpf(2); boot a kernel with CONFIG_BPF_SYSCALL=y")
            }
            Cause::Capabilities { attempt, missing, container } => {
                write!(f, "this process has no {}; ", list(missing, " and no "))?;
                match container {
                    true => write!(f, "start the container with {}", facts::CONTAINER_OPTIONS),
                    false => write!(f, "run as root, or with {}", list(attempt.needs(), " and ")),
                }
            }
            Cause::UserNamespace => write!(
                f,
                "the capabilities of this process are valid only in its user namespace; run as \
                 root of the machine, not in a rootless container"
            ),
            Cause::Filter { error, container } => {
                write!(f, "a seccomp filter prevents it ({error}); ")?;
                match container {
                    true => write!(
                        f,
                        "start the container with --security-opt seccomp=unconfined, or with a \
                         profile that allows bpf and unshare"
                    ),
                    false => write!(f, "run without it: systemd sets SystemCallFilter="),
                }
            }
            Cause::LockedMemory { limit } => write!(
                f,
                "it counts them as locked memory, which is limited to {limit} bytes; set `ulimit \
                 -l unlimited`"
            ),
            Cause::Lockdown { mode } => write!(
                f,
                "it is locked down ({mode}); boot with lockdown=none, and without Secure Boot where \
                 that sets it"
            ),
            Cause::Other { attempt, error } => {
                write!(f, "{} ({error}); ", attempt.step())?;
                match error.kind() {
                    io::ErrorKind::PermissionDenied => write!(
                        f,
                        "a security module such as SELinux or AppArmor may forbid it: see the \
                         kernel's log"
                    ),
                    _ => write!(f, "it needs {}", attempt.setup()),
                }
            }
        }
    }
}
