//! Tests the diagnosis of each cause with facts of imaginary machines.

use std::io;

use proptest::prelude::*;

use super::facts::{Facts, Release};
use super::{Attempt, Unavailable};

/// Returns the facts of a Linux machine on which root can load programs.
fn root() -> Facts {
    Facts {
        system: "linux",
        release: Some("6.8.0-45-generic".to_owned()),
        capabilities: Some(0x1ff_ffff_ffff),
        ..Facts::default()
    }
}

fn explain(facts: &Facts, attempt: Attempt, errno: i32) -> String {
    Unavailable::explain(facts, attempt, io::Error::from_raw_os_error(errno)).to_string()
}

/// Asserts that the message for a failed load contains `expected`. The load fails with `errno` on a
/// machine with these facts.
fn assert_says(facts: Facts, errno: i32, expected: &str) {
    let said = explain(&facts, Attempt::Load, errno);
    assert!(said.contains(expected), "{said}");
    assert!(said.starts_with("the kernel does not run BPF programs for us: "), "{said}");
    assert!(!said.contains('\n'), "{said}");
}

#[test]
fn other_systems_are_named() {
    let facts = Facts { system: "macos", ..Facts::default() };
    assert_says(facts, libc::ENOSYS, "this is macos; only Linux 5.18 or later runs them");
}

#[test]
fn old_kernels_are_named_with_the_one_that_is_needed() {
    let facts = || Facts { release: Some("5.4.0-150-generic".to_owned()), ..root() };
    assert_says(facts(), libc::EINVAL, "this is Linux 5.4.0-150-generic; boot Linux 5.18 or later");
    let facts = Facts { capabilities: Some(0), ..facts() };
    assert_says(
        facts,
        libc::EPERM,
        "run as root, or with CAP_BPF and CAP_NET_ADMIN; besides, this \
                                     is Linux 5.4.0-150-generic, and 5.18 is the first",
    );
}

#[test]
fn missing_capabilities_are_named() {
    let with = |mask| Facts { capabilities: Some(mask), ..root() };
    assert_says(with(0), libc::EPERM, "has no CAP_BPF and no CAP_NET_ADMIN; run as root, or with");
    assert_says(with(1 << 39), libc::EPERM, "has no CAP_NET_ADMIN; run as root");
    assert_says(with(1 << 12), libc::EPERM, "has no CAP_BPF; run as root");
    // CAP_SYS_ADMIN implies both.
    assert_says(with(1 << 21), libc::EPERM, "a security module such as SELinux or AppArmor");
}

#[test]
fn containers_are_started_with_more() {
    let docker = Some(0xa804_25fb);
    let facts =
        || Facts { capabilities: docker, bounding_set: docker, is_container: true, ..root() };
    assert_says(
        facts(),
        libc::EPERM,
        "start the container with --cap-add SYS_ADMIN --cap-add NET_ADMIN",
    );
    // The container has the capabilities: root in the container suffices.
    let facts = Facts { capabilities: Some(0), bounding_set: root().capabilities, ..facts() };
    assert_says(facts, libc::EPERM, "; run as root, or with CAP_BPF and CAP_NET_ADMIN");
    let facts = || Facts { is_container: true, is_filtered: true, ..root() };
    assert_says(facts(), libc::EPERM, "start the container with --security-opt seccomp=unconfined");
    assert_says(facts(), libc::ENOSYS, "a seccomp filter prevents it");
}

#[test]
fn filters_outside_of_containers_are_named() {
    let facts = Facts { is_filtered: true, ..root() };
    assert_says(facts, libc::EPERM, "run without it: systemd sets SystemCallFilter=");
}

#[test]
fn roots_of_user_namespaces_are_recognised() {
    let facts = Facts { in_user_namespace: true, is_filtered: true, ..root() };
    assert_says(facts, libc::EPERM, "valid only in its user namespace");
}

#[test]
fn locked_memory_counts_on_old_kernels_only() {
    let limit = Some(65_536);
    let old = Some("5.10.0".to_owned());
    let facts = Facts { release: old, locked_memory: limit, ..root() };
    assert_says(
        facts,
        libc::EPERM,
        "65536 bytes; set `ulimit -l unlimited`; besides, this is Linux",
    );
    let facts = Facts { locked_memory: limit, ..root() };
    assert_says(facts, libc::EPERM, "a security module");
}

#[test]
fn lockdown_is_blamed_where_nothing_else_is() {
    let facts = Facts { lockdown: Some("confidentiality".to_owned()), ..root() };
    assert_says(facts, libc::EPERM, "it is locked down (confidentiality); boot with lockdown=none");
}

#[test]
fn missing_calls_differ_from_unexpected_errors() {
    assert_says(
        root(),
        libc::ENOSYS,
        "no system call bpf(2); boot a kernel with CONFIG_BPF_SYSCALL",
    );
    assert_says(root(), libc::ENOMEM, "it does not load an empty XDP program (");
    let said = explain(&root(), Attempt::Run, libc::EOPNOTSUPP);
    assert!(said.contains("it makes no test run of an empty XDP program ("), "{said}");
}

#[test]
fn a_missing_sysfs_is_named() {
    let said = explain(&root(), Attempt::Cpus, libc::ENOENT);
    assert!(said.contains("report the number of CPUs (") && said.ends_with("mount /sys"), "{said}");
}

#[test]
fn namespaces_need_other_capabilities_than_loading() {
    let facts = Facts { capabilities: Some(1 << 39 | 1 << 12), ..root() };
    let said = explain(&facts, Attempt::Namespace, libc::EPERM);
    assert!(said.starts_with("the kernel does not create a network namespace for us: "), "{said}");
    assert!(
        said.contains("has no CAP_SYS_ADMIN; run as root, or with CAP_SYS_ADMIN and"),
        "{said}"
    );
    let said = explain(&root(), Attempt::Namespace, libc::ENOSPC);
    assert!(said.ends_with("room in user.max_net_namespaces"), "{said}");
}

#[test]
fn facts_are_read_from_files() -> io::Result<()> {
    let root = tempfile()?;
    let write = |file: &str, text: &str| -> io::Result<()> {
        let path = root.join(file);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, text)
    };
    write(
        "proc/self/status",
        "Name:\tx\nCapEff:\t00000000a80425fb\nCapBnd:\t00000000a80425ff\nSeccomp:\t2\n",
    )?;
    write("proc/sys/kernel/osrelease", "5.15.0-1-amd64\n")?;
    write("proc/self/uid_map", "         0       1000          1\n")?;
    write("proc/self/limits", "Max locked memory         8388608              8388608   bytes\n")?;
    write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")?;
    write(".dockerenv", "")?;
    let facts = Facts::read(&root);
    std::fs::remove_dir_all(&root)?;
    assert_eq!(facts.release.as_deref(), Some("5.15.0-1-amd64"));
    assert_eq!(facts.capabilities, Some(0xa804_25fb));
    assert_eq!(facts.bounding_set, Some(0xa804_25ff));
    assert_eq!(facts.locked_memory, Some(8_388_608));
    assert_eq!(facts.lockdown.as_deref(), Some("integrity"));
    assert!(facts.in_user_namespace && facts.is_filtered && facts.is_container);
    // A fact that cannot be read does not count as an obstacle.
    let nothing = Facts::read(&root.join("none"));
    assert_eq!(nothing.release, None);
    assert!(!nothing.in_user_namespace && !nothing.is_filtered && !nothing.is_container);
    Ok(())
}

/// Creates a folder for temporary files, and returns its path.
fn tempfile() -> io::Result<std::path::PathBuf> {
    let path = std::env::temp_dir().join(format!("slowpath-facts-{}", std::process::id()));
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

#[test]
fn releases_are_read() {
    let read = |text| Release::parse(text).map(|r| (r.major, r.minor));
    assert_eq!(read("5.18.0-rc1+"), Some((5, 18)));
    assert_eq!(read("6.18-rc3"), Some((6, 18)));
    assert_eq!(read("6"), None);
    assert_eq!(read("x.y"), None);
}

proptest! {
    #[test]
    fn no_release_panics(text in ".*") {
        let _ = Release::parse(&text);
    }

    #[test]
    fn every_answer_on_every_machine_is_one_sentence(
        errno in 1..140_i32,
        mask in any::<Option<u64>>(),
        (namespace, filter, container) in any::<(bool, bool, bool)>(),
        attempt in 0..4_usize,
    ) {
        let facts = Facts {
            capabilities: mask,
            in_user_namespace: namespace,
            is_filtered: filter,
            is_container: container,
            ..root()
        };
        let attempts = [Attempt::Cpus, Attempt::Load, Attempt::Run, Attempt::Namespace];
        let said = explain(&facts, attempts[attempt], errno);
        prop_assert!(said.starts_with("the kernel ") && !said.contains('\n'));
    }
}
