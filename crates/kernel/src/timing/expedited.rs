//! Expedites RCU grace periods while programs are being attached.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio, id};
use std::sync::{Mutex, PoisonError};

/// File that switches expedited grace periods on and off. If they are on, the kernel interrupts all
/// CPUs instead of waiting until each passes a quiescent state by itself (`rcu_expedited` of
/// `Documentation/admin-guide/kernel-parameters.txt`).
const SWITCH: &str = "/sys/kernel/rcu_expedited";

/// Shell script that switches expediting off when its input is closed. This happens at the latest
/// when this process ends.
const WAIT: &str = "read -r _; echo 0 > \"$1\"";

/// The shell that switches expediting off if this process is killed, with the id of the process
/// that started it.
static GUARDIAN: Mutex<Option<(u32, Child)>> = Mutex::new(None);

/// A guard that expedites grace periods until it is dropped. It has no effect if they are expedited
/// already, or if the process may not change the setting.
///
/// A normal grace period takes two to four timer ticks, so attaching ten programs would take a
/// tenth of a second: longer than all their samples.
#[derive(Debug)]
pub(super) struct Expedited {
    switched: bool,
}

impl Expedited {
    pub(super) fn begin() -> Expedited {
        let is_off = fs::read(SWITCH).is_ok_and(|text| text.starts_with(b"0"));
        Expedited { switched: is_off && is_guarded() && fs::write(SWITCH, "1").is_ok() }
    }
}

impl Drop for Expedited {
    fn drop(&mut self) {
        if self.switched {
            // This write can hardly fail, because the earlier one succeeded.
            let _ = fs::write(SWITCH, "0");
        }
    }
}

/// Starts the shell that guards the setting, unless it is running already. Returns false if it
/// cannot be started.
fn is_guarded() -> bool {
    let mut guardian = GUARDIAN.lock().unwrap_or_else(PoisonError::into_inner);
    // A forked process needs a guardian of its own.
    if guardian.as_ref().is_none_or(|(process, _)| *process != id()) {
        *guardian = guard(Path::new(SWITCH)).map(|child| (id(), child));
    }
    guardian.is_some()
}

/// Starts the shell that waits for the end of this process. It has its own process group, so that
/// it does not receive signals that a terminal sends to this process.
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
    fn the_switch_is_reset_when_the_process_ends() {
        let switch = std::env::temp_dir().join(format!("slowpath-switch-{}", id()));
        fs::write(&switch, "1").expect("writes");
        let mut guardian = guard(&switch).expect("a shell");
        assert!(guardian.try_wait().expect("is asked").is_none(), "it waits");
        assert_eq!(fs::read(&switch).expect("reads"), b"1");
        // Closes the pipe, as happens when a process is killed.
        drop(guardian.stdin.take());
        assert!(guardian.wait().expect("ends").success());
        assert_eq!(fs::read(&switch).expect("reads"), b"0\n");
        fs::remove_file(&switch).expect("is there");
    }
}
