//! Survey of all objects and loaders. Each pair of object and loader runs in its own process, with
//! a separate mount namespace and BPF file system for pinned objects.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::attempt::{Attempt, LOADERS};
use crate::wanted::Wanted;

/// A program in the manifest that `bench/survey.py` writes.
#[derive(Deserialize)]
struct Entry {
    project: String,
    object: PathBuf,
    section: String,
    program: String,
}

/// A row of the resulting CSV file: the result of one program with one loader.
#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    pub project: String,
    pub object: String,
    pub sha256: String,
    pub section: String,
    pub program: String,
    pub loader: String,
    pub loaded: bool,
    pub error: String,
    pub error_lines: usize,
    pub printed_lines: usize,
    pub printed: String,
    pub programs: usize,
    pub maps: usize,
    pub tag: String,
    pub types: bool,
    pub milliseconds: f64,
}

/// Time limit of a process for one object, in seconds.
const LIMIT: &str = "300";

/// Shell command that mounts a separate BPF file system, and then runs its arguments as a command.
const ISOLATED: &str = "mount -t bpf bpf /sys/fs/bpf && exec \"$0\" \"$@\"";

/// Runs the survey of a manifest, and writes one CSV row for each program and loader.
pub fn run(manifest: &Path, result: &Path) -> Result<(), Box<dyn Error>> {
    let entries: Vec<Entry> = serde_json::from_slice(&std::fs::read(manifest)?)?;
    let mut objects: BTreeMap<PathBuf, (String, Vec<Wanted>)> = BTreeMap::new();
    for Entry { project, object, section, program } in entries {
        let (_, wanted) = objects.entry(object).or_insert((project, Vec::new()));
        wanted.push(Wanted { section, program });
    }
    let before = in_kernel();
    let mut rows = csv::Writer::from_path(result)?;
    for (object, (project, wanted)) in &objects {
        let sha256 = format!("{:x}", Sha256::digest(std::fs::read(object)?));
        let name = object.file_name().unwrap_or_default().to_string_lossy();
        for loader in LOADERS {
            for attempt in attempts(loader, object, wanted)? {
                rows.serialize(row(project, &name, &sha256[..16], loader, attempt))?;
            }
        }
    }
    rows.flush()?;
    let left = left(&before);
    if left.is_empty() {
        return Ok(());
    }
    Err(format!("programs and maps that were not there before: {left:?}").into())
}

fn row(project: &str, object: &str, sha256: &str, loader: &str, attempt: Attempt) -> Row {
    Row {
        project: project.to_owned(),
        object: object.to_owned(),
        sha256: sha256.to_owned(),
        section: attempt.section,
        program: attempt.program,
        loader: loader.to_owned(),
        loaded: attempt.loaded,
        error: attempt.error,
        error_lines: attempt.error_lines,
        printed_lines: attempt.printed_lines,
        printed: attempt.printed,
        programs: attempt.programs,
        maps: attempt.maps,
        tag: attempt.tag,
        types: attempt.types,
        milliseconds: attempt.milliseconds,
    }
}

/// Runs a loader on the programs of an object, in one process. If the process ends early, the
/// programs without output get its exit status as their error.
fn attempts(
    loader: &str,
    object: &Path,
    wanted: &[Wanted],
) -> Result<Vec<Attempt>, Box<dyn Error>> {
    let mut child = Command::new("timeout")
        .args([LIMIT, "unshare", "--mount", "sh", "-c", ISOLATED])
        .arg(std::env::current_exe()?)
        .args(["try", loader])
        .arg(object)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    input.write_all(&serde_json::to_vec(wanted)?)?;
    drop(input);
    let done = child.wait_with_output()?;
    let output = String::from_utf8_lossy(&done.stdout);
    let mut attempts: Vec<Attempt> =
        output.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    for Wanted { section, program } in wanted.iter().skip(attempts.len()) {
        attempts.push(Attempt {
            section: section.clone(),
            program: program.clone(),
            error: format!("the process ended: {}", done.status),
            error_lines: 1,
            printed: String::from_utf8_lossy(&done.stderr).into_owned(),
            ..Attempt::default()
        });
    }
    Ok(attempts)
}

/// Returns the kernel's IDs of all programs and of all maps on the machine.
fn in_kernel() -> (BTreeSet<u32>, BTreeSet<u32>) {
    (
        ProgInfoIter::default().map(|info| info.id).collect(),
        MapInfoIter::default().map(|info| info.id).collect(),
    )
}

/// Returns the programs and maps that the survey has left in the kernel. The kernel frees objects
/// with some delay, and other processes create objects, too. So only objects count that did not
/// exist before the survey and stay for ten seconds.
fn left(before: &(BTreeSet<u32>, BTreeSet<u32>)) -> Vec<String> {
    let new = || {
        let (programs, maps) = in_kernel();
        let programs = programs.difference(&before.0).map(|id| format!("program {id}"));
        let maps = maps.difference(&before.1).map(|id| format!("map {id}"));
        programs.chain(maps).collect::<BTreeSet<String>>()
    };
    let started = Instant::now();
    let mut left = new();
    while !left.is_empty() && started.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(200));
        left = left.intersection(&new()).cloned().collect();
    }
    left.into_iter().collect()
}
