//! Limits the size of the plan cache on disk. Results that have not been used for a long time are
//! deleted. If the remaining files are still too large, those whose last use is longest ago are
//! deleted as well.
//!
//! Other processes may read, write and delete files at the same time. This does no harm: each file
//! is complete or missing, and a missing result is computed again. A file that cannot be deleted
//! stays until the next time. Only files with names of results are deleted.

use std::fs::{self, File, FileTimes, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum total size of all files in bytes.
    pub bytes: u64,
    /// Time without use after which a file is deleted.
    pub age: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Default limits of the plan cache, as the documentation states them.
pub(super) const LIMITS: Limits = Limits { bytes: 256 << 20, age: DAY.saturating_mul(90) };

/// Records that a file of the cache is used. To save writes, the recorded time changes at most once
/// a day.
pub(super) fn used(file: &File, now: SystemTime) {
    let fresh = |about: Metadata| about.modified().is_ok_and(|at| since(at, now) < DAY);
    if !file.metadata().is_ok_and(fresh) {
        // Failure does no harm: the file counts as unused since its last recorded use.
        let _ = file.set_times(FileTimes::new().set_modified(now));
    }
}

/// Deletes cached files that were not used for too long. If the remaining files exceed the size
/// limit, deletes more of them, oldest last use first.
pub(super) fn prune(folder: &Path, limits: Limits, now: SystemTime) {
    let mut kept = Vec::new();
    for place in entries(folder).filter(|place| is_hexadecimal(place, 2)) {
        for file in entries(&place) {
            let Ok(about) = file.symlink_metadata() else { continue };
            let unused = about.modified().map_or(Duration::ZERO, |at| since(at, now));
            if !about.is_file() {
                continue;
            }
            if is_hexadecimal(&file, 62) {
                if unused > limits.age {
                    remove(&file);
                } else {
                    kept.push((unused, about.len(), file));
                }
            } else if is_unfinished(&file) && unused > DAY {
                remove(&file);
            }
        }
    }
    kept.sort_by(|one, other| other.cmp(one));
    let mut bytes: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, size, file) in kept {
        if bytes <= limits.bytes {
            break;
        }
        remove(&file);
        bytes -= size;
    }
}

/// Returns the time that has passed since `at`; zero if `at` is in the future.
fn since(at: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(at).unwrap_or_default()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn remove(file: &Path) {
    // Failure does no harm: another process may have deleted the file.
    let _ = fs::remove_file(file);
}

fn name(file: &Path) -> &str {
    file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_hexadecimal(file: &Path, digits: usize) -> bool {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name(file).len() == digits && name(file).bytes().all(digit)
}

/// Returns true if a file has the name of a temporary file, which a killed process may have left.
fn is_unfinished(file: &Path) -> bool {
    name(file).starts_with('.') && name(file).ends_with(".new")
}

#[cfg(test)]
mod tests;
