//! Limits the size of the cache on disk. Results that have not been used for a long time are
//! deleted. If the remaining files are still too large, those whose last use is longest ago are
//! deleted as well.
//!
//! Other processes may read, write and delete files at the same time. This does no harm: each file
//! is complete or missing, and a missing result is computed again. A file that cannot be deleted
//! stays until the next time. Only files with names of results are deleted.

use std::fs::{self, File, FileTimes, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Limits of the cache.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum total size of all files in bytes.
    pub bytes: u64,
    /// Time without use after which a file is deleted.
    pub age: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Default limits of the cache, as the documentation states them.
pub const LIMITS: Limits = Limits { bytes: 500 << 20, age: DAY.saturating_mul(90) };

/// Time between two prunings of a folder. It limits their cost: each pruning has to look at all
/// files.
const PERIOD: Duration = Duration::from_secs(5 * 60);
/// A command prunes the folder, even if it was pruned recently, when it has written more than the
/// size limit divided by this number.
const SHARE: u64 = 16;
/// Name of an empty file whose modification time is the time of the last pruning.
const MARKER: &str = "pruned";

/// Number and total size of stored results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of results.
    pub results: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

/// Records that a file of the cache was used now. To save writes, the recorded time changes at most
/// once a day.
pub(crate) fn used(file: &File, now: SystemTime) {
    let fresh = |about: Metadata| about.modified().is_ok_and(|at| since(at, now) < DAY);
    if !file.metadata().is_ok_and(fresh) {
        // Failure does no harm: the file counts as unused since its last recorded use.
        let _ = file.set_times(FileTimes::new().set_modified(now));
    }
}

/// Prunes a folder like [`prune`], unless this was done recently. `written` is the number of bytes
/// that this command has written to the folder; if it is large, prunes even then.
pub(crate) fn prune_if_due(folder: &Path, limits: Limits, written: u64, now: SystemTime) {
    let marker = folder.join(MARKER);
    let last = fs::metadata(&marker).and_then(|about| about.modified());
    let recent = last.is_ok_and(|last| last <= now && since(last, now) < PERIOD);
    if recent && written < limits.bytes / SHARE {
        return;
    }
    // Failure does no harm: the next command prunes as well.
    let _ = fs::write(&marker, "");
    prune(folder, limits, now);
}

/// Deletes cached files that were not used for too long. If the remaining files exceed the size
/// limit, deletes more of them, in the order of their last use, until they fit.
pub fn prune(folder: &Path, limits: Limits, now: SystemTime) {
    let mut kept = Vec::new();
    for (file, about) in files(folder) {
        let unused = about.modified().map_or(Duration::ZERO, |at| since(at, now));
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

/// Returns the number and the total size of the results in a folder.
pub fn usage(folder: &Path) -> Usage {
    let mut usage = Usage::default();
    for (file, about) in files(folder) {
        if is_hexadecimal(&file, 62) {
            usage.results += 1;
            usage.bytes += about.len();
        }
    }
    usage
}

/// Deletes all results in a folder, and those of its subfolders that are then empty. Returns the
/// number and size of the deleted results.
///
/// # Errors
/// The first result that cannot be deleted, with the reason. All other results are deleted
/// nevertheless.
pub fn clear(folder: &Path) -> Result<Usage, (PathBuf, std::io::Error)> {
    let (mut usage, mut failed) = (Usage::default(), None);
    for (file, about) in files(folder) {
        if !is_hexadecimal(&file, 62) && !is_unfinished(&file) {
            continue;
        }
        match fs::remove_file(&file) {
            Ok(()) if is_hexadecimal(&file, 62) => {
                usage.results += 1;
                usage.bytes += about.len();
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                failed.get_or_insert((file, error));
            }
            _ => {}
        }
    }
    for place in entries(folder).filter(|place| is_hexadecimal(place, 2)) {
        // Fails if the folder has other files, or another process just stored a result.
        let _ = fs::remove_dir(place);
    }
    remove(&folder.join(MARKER));
    failed.map_or(Ok(usage), Err)
}

/// Returns the regular files in the subfolders of the cache folder, including files that are not
/// results.
fn files(folder: &Path) -> impl Iterator<Item = (PathBuf, Metadata)> {
    let places = entries(folder).filter(|place| is_hexadecimal(place, 2));
    places.flat_map(|place| entries(&place).collect::<Vec<_>>()).filter_map(|file| {
        let about = file.symlink_metadata().ok()?;
        about.is_file().then_some((file, about))
    })
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

/// Returns true if a file has a temporary name. A process that was killed while it wrote a result
/// may have left such a file.
fn is_unfinished(file: &Path) -> bool {
    name(file).starts_with('.') && name(file).ends_with(".new")
}

#[cfg(test)]
mod tests;
