//! Waiting for all CPUs, shortened while a program is put in.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio, id};
use std::sync::{Mutex, PoisonError};

/// Whether the kernel waits for readers of RCU by asking each CPU, instead of until each has passed
/// a quiescent state by itself (`rcu_expedited` of `Documentation/admin-guide/kernel-parameters.txt`).
const SWITCH: &str = "/sys/kernel/rcu_expedited";

/// Waits until nobody can write to it any more, and then switches it off.
const WAIT: &str = "read -r _; echo 0 > \"$1\"";

/// What switches it off when this process is killed, by the process that it belongs to.
static GUARDIAN: Mutex<Option<(u32, Child)>> = Mutex::new(None);

/// As long as this is there, the kernel asks; afterwards, again as before. Where it does already, or
/// that may not be changed, nothing is.
///
/// A normal grace period takes two to four ticks of the clock, so that ten programs take a tenth of a
/// second to attach, and more than all their samples.
#[derive(Debug)]
pub(super) struct Expedited {
    switched: bool,
}

impl Expedited {
    pub(super) fn begin() -> Expedited {
        let usual = fs::read(SWITCH).is_ok_and(|text| text.starts_with(b"0"));
        Expedited { switched: usual && is_guarded() && fs::write(SWITCH, "1").is_ok() }
    }
}

impl Drop for Expedited {
    fn drop(&mut self) {
        if self.switched {
            // What could be written before can be written now.
            let _ = fs::write(SWITCH, "0");
        }
    }
}

/// Whether somebody stays who switches it off should this process not come to it.
fn is_guarded() -> bool {
    let mut guardian = GUARDIAN.lock().unwrap_or_else(PoisonError::into_inner);
    // A process that was forked has none of its own.
    if guardian.as_ref().is_none_or(|(process, _)| *process != id()) {
        *guardian = guard(Path::new(SWITCH)).map(|child| (id(), child));
    }
    guardian.is_some()
}

/// A shell that waits for the end of this process, in a process group of its own: signals to ours,
/// as those of a terminal, do not reach it.
fn guard(switch: &Path) -> Option<Child> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", WAIT, "slowpath"]).arg(switch).current_dir("/");
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.process_group(0).spawn().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_is_switched_back_when_the_process_ends() {
        let switch = std::env::temp_dir().join(format!("slowpath-switch-{}", id()));
        fs::write(&switch, "1").expect("writes");
        let mut guardian = guard(&switch).expect("a shell");
        assert!(guardian.try_wait().expect("is asked").is_none(), "it waits");
        assert_eq!(fs::read(&switch).expect("reads"), b"1");
        // As when a process is killed: the other end of the pipe is closed.
        drop(guardian.stdin.take());
        assert!(guardian.wait().expect("ends").success());
        assert_eq!(fs::read(&switch).expect("reads"), b"0\n");
        fs::remove_file(&switch).expect("is there");
    }
}
