//! Tests of messages about missing privileges. They run a test of this binary again without the
//! privileges.

use std::env::current_exe;
use std::process::Command;

use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;

/// Prefix of the answer in the output of the test below.
const MARK: &str = "available: ";

/// The other tests run this test without privileges.
#[test]
fn the_answer_is_one_line() {
    let answer = Kernel::available().map_or_else(|e| e.to_string(), |_| "yes".to_owned());
    assert!(!answer.contains('\n') && !answer.is_empty());
    eprintln!("{MARK}{answer}");
}

/// Returns the answer in a process that the command starts; `None` if the command does not work.
fn answer_under(command: &[&str]) -> Option<String> {
    if let Err(reason) = Kernel::available() {
        Oracle::Kernel.missing(reason);
        return None;
    }
    let [program, arguments @ ..] = command else { return None };
    let mut started = Command::new(program);
    started.args(arguments).arg(current_exe().unwrap());
    let output =
        started.args(["--exact", "availability::the_answer_is_one_line", "--nocapture"]).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stderr).into_owned());
    let text = text.unwrap_or_default();
    let answer = text.split_once(MARK).and_then(|(_, rest)| rest.lines().next());
    if answer.is_none() {
        eprintln!("skipped: `{}` starts nothing here", command.join(" "));
    }
    answer.map(str::to_owned)
}

fn assert_says(command: &[&str], expected: &str) {
    let Some(answer) = answer_under(command) else { return };
    assert!(answer.contains(expected), "{answer}");
    Oracle::Kernel.compared(1, "answers to processes without privileges");
}

#[test]
fn a_process_without_capabilities_is_told_so() {
    assert_says(
        &["setpriv", "--bounding-set=-all"],
        "this process has no CAP_BPF and no CAP_NET_ADMIN; ",
    );
}

#[test]
fn another_user_is_told_to_be_root() {
    assert_says(
        &["setpriv", "--reuid=65534", "--clear-groups"],
        "no CAP_BPF and no CAP_NET_ADMIN; run as root, or with CAP_BPF and CAP_NET_ADMIN",
    );
}

#[test]
fn a_process_without_one_capability_is_told_which() {
    let without = "--bounding-set=-sys_admin,-net_admin";
    assert_says(&["setpriv", without], "this process has no CAP_NET_ADMIN; ");
    let without = "--bounding-set=-sys_admin,-bpf";
    assert_says(&["setpriv", without], "this process has no CAP_BPF; ");
}

#[test]
fn the_root_of_a_user_namespace_is_told_so() {
    assert_says(&["unshare", "--user", "--map-root-user"], "those of a user namespace");
}
