//! Waiting for all CPUs, shortened while a program is put in.

use std::fs;

/// Whether the kernel waits for readers of RCU by asking each CPU, instead of until each has passed
/// a quiescent state by itself (`rcu_expedited` of `Documentation/admin-guide/kernel-parameters.txt`).
const SWITCH: &str = "/sys/kernel/rcu_expedited";

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
        Expedited { switched: usual && fs::write(SWITCH, "1").is_ok() }
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
