//! Tests of the messages about missing privileges. They start this test binary again without the
//! privileges.

use std::env::current_exe;
use std::process::Command;

use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;

/// Text before the message in the output of [`availability_is_one_line`].
const PREFIX: &str = "available: ";

/// Checks that the message of [`Kernel::available`] has one line, and prints it. Other tests start
/// this test in processes without privileges.
#[test]
fn availability_is_one_line() {
    let answer = Kernel::available().map_or_else(|e| e.to_string(), |_| "yes".to_owned());
    assert!(!answer.contains('\n') && !answer.is_empty());
    eprintln!("{PREFIX}{answer}");
}

/// Returns the message of [`Kernel::available`] in a process that `command` starts. Returns `None`
/// if the command does not work.
fn answer_under(command: &[&str]) -> Option<String> {
    if let Err(reason) = Kernel::available() {
        Oracle::Kernel.missing(reason);
        return None;
    }
    let [program, arguments @ ..] = command else { return None };
    let mut started = Command::new(program);
    started.args(arguments).arg(current_exe().unwrap());
    let output =
        started.args(["--exact", "availability::availability_is_one_line", "--nocapture"]).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stderr).into_owned());
    let text = text.unwrap_or_default();
    let answer = text.split_once(PREFIX).and_then(|(_, rest)| rest.lines().next());
    if answer.is_none() {
        eprintln!("skipped: `{}` starts nothing here", command.join(" "));
    }
    answer.map(str::to_owned)
}

fn assert_answer(command: &[&str], expected: &str) {
    let Some(answer) = answer_under(command) else { return };
    assert!(answer.contains(expected), "{answer}");
    Oracle::Kernel.compared(1, "answers to processes without privileges");
}

#[test]
fn missing_capabilities_are_named() {
    assert_answer(
        &["setpriv", "--bounding-set=-all"],
        "this process has no CAP_BPF and no CAP_NET_ADMIN; ",
    );
}

#[test]
fn other_users_are_advised_to_be_root() {
    assert_answer(
        &["setpriv", "--reuid=65534", "--clear-groups"],
        "no CAP_BPF and no CAP_NET_ADMIN; run as root, or with CAP_BPF and CAP_NET_ADMIN",
    );
}

#[test]
fn a_single_missing_capability_is_named() {
    let without = "--bounding-set=-sys_admin,-net_admin";
    assert_answer(&["setpriv", without], "this process has no CAP_NET_ADMIN; ");
    let without = "--bounding-set=-sys_admin,-bpf";
    assert_answer(&["setpriv", without], "this process has no CAP_BPF; ");
}

#[test]
fn capabilities_of_a_user_namespace_do_not_suffice() {
    assert_answer(&["unshare", "--user", "--map-root-user"], "valid only in its user namespace");
}
