//! Tests private network namespaces: what they contain, that they are isolated, and that they are
//! removed.

use crate::support;

use std::fs;
use std::io::{BufRead, BufReader, Write, stdout};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use slowpath_kernel::live::{Action, Live};
use slowpath_kernel::{Device, Kernel, LinkError, Mode, Namespace, NamespaceError, listing};
use slowpath_oracle::Oracle;
use support::kernel;

/// Longest time to wait until the kernel has cleaned up.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Name of the environment variable that is set in the process which a test kills.
const TO_BE_KILLED: &str = "SLOWPATH_TEST_HOLDS_A_NAMESPACE";

/// Creates a namespace. Returns `None` if the kernel does not allow it, so that the test is
/// skipped.
fn namespace() -> Option<(Kernel, Namespace)> {
    let kernel = kernel()?;
    match Namespace::new() {
        Ok(namespace) => Some((kernel, namespace)),
        Err(reason @ NamespaceError::Refused(_)) => {
            Oracle::Kernel.missing(reason);
            None
        }
        Err(fault) => panic!("{fault}"),
    }
}

/// Returns the device and inode of the file that represents a namespace.
fn identity(path: &str) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

fn inside(namespace: &Namespace) -> (u64, u64) {
    let own = namespace.enter(|| identity("/proc/thread-self/ns/net"));
    own.expect("is entered").expect("has a file")
}

/// Returns the names of the devices in the calling thread's namespace.
fn devices() -> Vec<String> {
    let table = fs::read_to_string("/proc/thread-self/net/dev").expect("is there");
    let names = table.lines().skip(2).filter_map(|line| line.trim().split_once(':'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Returns true if any process is in the namespace, or has an open file descriptor for it.
/// `namespace` is its device and inode.
fn is_held(namespace: (u64, u64)) -> bool {
    let below = |folder: String| {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path().display().to_string())
    };
    let processes =
        below("/proc".to_owned()).filter(|p| identity(&format!("{p}/ns/net")).is_some());
    processes.into_iter().any(|process| {
        let threads = below(format!("{process}/task")).map(|task| format!("{task}/ns/net"));
        threads.chain(below(format!("{process}/fd"))).any(|file| identity(&file) == Some(namespace))
    })
}

fn wait_for(condition: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < TIMEOUT, "still waiting for this: {condition}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_new_namespace_has_a_loopback_device_that_is_up() {
    let Some((_, namespace)) = namespace() else { return };
    assert_eq!(namespace.enter(devices).expect("is entered"), ["lo"]);
    let answered = namespace.enter(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
        socket.send_to(b"here", socket.local_addr()?)
    });
    assert_eq!(answered.expect("is entered").expect("lo is up"), 4);
    let counts = namespace.counts(Device::LOOPBACK).expect("is counted");
    assert_eq!((counts.sent, counts.received), (1, 1));
    Oracle::Kernel.compared(1, "namespaces with their loopback device");
}

#[test]
fn jobs_return_their_result_and_do_not_move_the_thread() {
    let Some((_, namespace)) = namespace() else { return };
    let outside = identity("/proc/thread-self/ns/net").expect("has a file");
    assert_ne!(inside(&namespace), outside);
    assert_eq!(inside(&namespace), inside(&namespace));
    assert_eq!(identity("/proc/thread-self/ns/net"), Some(outside));
    let other = Namespace::new().expect("is made");
    assert_ne!(inside(&namespace), inside(&other));
}

#[test]
fn pairs_are_up_silent_and_invisible_outside() {
    let Some((_, namespace)) = namespace() else { return };
    let mounts = || fs::read_dir("/run/netns").into_iter().flatten().count();
    let (before, named) = (devices(), mounts());
    let pair = namespace.create_pair(["near", "far"]).expect("is made");
    assert_ne!(pair[0], pair[1]);
    let mut names = namespace.enter(devices).expect("is entered");
    names.sort();
    assert_eq!(names, ["far", "lo", "near"]);
    assert!(!devices().iter().any(|name| ["near", "far"].contains(&name.as_str())));
    assert_eq!((devices(), mounts()), (before, named));
    for device in pair {
        let counts = namespace.counts(device).expect("is counted");
        assert_eq!((counts.sent, counts.received), (0, 0), "nobody has sent anything");
    }
    let second = namespace.create_pair(["near", "other"]).expect_err("the name is taken");
    let text = second.to_string();
    assert!(
        text.starts_with("network device near and other: the kernel does not create"),
        "{text}"
    );
    namespace.remove(pair[0]).expect("is removed");
    assert_eq!(namespace.enter(devices).expect("is entered"), ["lo"]);
    let gone = namespace.remove(pair[1]).expect_err("it went with the other one").to_string();
    assert!(gone.contains("the kernel does not remove it"), "{gone}");
    Oracle::Kernel.compared(2, "devices of a namespace");
}

#[test]
fn a_device_accepts_one_program_until_its_link_is_dropped() {
    let Some((kernel, namespace)) = namespace() else { return };
    let pass = kernel.load_pass().expect("loads");
    let lo = Device::LOOPBACK;
    let native = pass.attach(&namespace, lo, Mode::Native).expect_err("lo has no driver's mode");
    assert!(native.to_string().ends_with("try the generic mode"), "{native}");
    let link = pass.attach(&namespace, lo, Mode::Generic).expect("is attached");
    let second = pass.attach(&namespace, lo, Mode::Generic).expect_err("one is there");
    assert!(matches!(second, LinkError::Kernel { device: 1, .. }), "{second}");
    drop(link);
    drop(pass.attach(&namespace, lo, Mode::Generic).expect("there is room again"));
    let [near, _] = namespace.create_pair(["near", "far"]).expect("is made");
    let native = pass.attach(&namespace, near, Mode::Native).expect("is attached");
    let run = pass.run(&[0; 60], 1000).expect("runs while it is attached");
    assert_eq!(run.return_value, 2);
    drop((native, namespace));
    Oracle::Kernel.compared(3, "programs attached to devices of a namespace");
}

#[test]
fn dropping_a_namespace_removes_it() {
    let Some((kernel, namespace)) = namespace() else { return };
    let this = inside(&namespace);
    assert!(is_held(this));
    let pass = kernel.load_pass().expect("loads");
    let number = pass.id().expect("has a number");
    let link = pass.attach(&namespace, Device::LOOPBACK, Mode::Generic).expect("is attached");
    let known = || listing::programs().expect("are listed").contains(&number);
    drop(pass);
    assert!(known(), "it is still attached");
    drop((link, namespace));
    wait_for("the namespace is gone", || !is_held(this));
    wait_for("the program is gone", || !known());
    Oracle::Kernel.compared(1, "namespaces that are gone afterwards");
}

#[test]
fn namespaces_of_killed_processes_are_removed() {
    let Some((kernel, namespace)) = namespace() else { return };
    if std::env::var_os(TO_BE_KILLED).is_some() {
        hold(&kernel);
    }
    drop(namespace);
    let test = std::env::current_exe().expect("is known");
    let mut child = Command::new(test)
        .args(["--exact", "namespaces::namespaces_of_killed_processes_are_removed", "--nocapture"])
        .env(TO_BE_KILLED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let output = BufReader::new(child.stdout.take().expect("is a pipe"));
    let held = output.lines().map_while(Result::ok).find_map(|line| {
        let numbers = line.split_once("holds ")?.1.split(' ').map(|n| n.parse::<u64>().ok());
        numbers.collect::<Option<Vec<u64>>>()
    });
    let held = held.expect("it prints what it holds");
    let [device, number, programs @ ..] = held.as_slice() else { panic!("{held:?}") };
    let namespace = (*device, *number);
    let known = || {
        let all = listing::programs().expect("are listed");
        programs.iter().filter(|&&program| all.contains(&(program as u32))).count()
    };
    let before_killing = (is_held(namespace), known());
    child.kill().expect("is killed");
    child.wait().expect("is gone");
    assert_eq!(before_killing, (true, Action::ALL.len()), "they were there before");
    wait_for("the namespace is gone", || !is_held(namespace));
    wait_for("the programs are gone", || known() == 0);
    Oracle::Kernel.compared(1, "namespaces of killed processes that are gone");
}

/// Creates a namespace and attaches programs to its devices, prints the ids of these kernel
/// objects, and then waits until the process is killed.
fn hold(kernel: &Kernel) -> ! {
    let live = Live::new(kernel).expect("is made");
    let (device, number) = inside(live.namespace());
    let programs =
        Action::ALL.map(|action| live.minimal(action).id().expect("has a number").to_string());
    writeln!(stdout(), "holds {device} {number} {}", programs.join(" ")).expect("somebody reads");
    loop {
        sleep(TIMEOUT);
    }
}
