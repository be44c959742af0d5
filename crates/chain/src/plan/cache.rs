//! Stores intermediate results of plans on disk, so that later plans need not compute them again.
//! Each result has its own file, whose name is a digest of everything that the result depends on.
//!
//! The first line of a file is a digest of the rest, so that damaged files are detected and
//! ignored. A file gets its final name only after it is written, so other processes see only
//! complete files. Each file may be deleted at any time; `pruning` deletes those that have not been
//! used for the longest time.

use super::key::Key;
use super::pruning;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Text at the beginning of every file, which names the file format.
const MAGIC: &str = "slowpath plan 1 ";

/// A folder of stored results, if there is one, and statistics about its use.
pub(super) struct Cache {
    folder: Option<PathBuf>,
    /// Text that identifies the version of slowpath. Stored results with another text are ignored.
    build: String,
    found: AtomicU64,
    computed: AtomicU64,
    /// Number for the name of the next temporary file, so that names are unique.
    serial: AtomicU64,
    notes: Mutex<Vec<String>>,
}

/// The state of a topology's programs when it was last planned, to find out which have changed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct LastPlan {
    /// Digest of each program's object file, by name of the program.
    pub programs: BTreeMap<String, String>,
}

impl Cache {
    /// Creates a cache in a folder, which need not exist. Without a folder, nothing is stored.
    pub fn new(folder: Option<PathBuf>, build: String) -> Cache {
        Cache {
            folder,
            build,
            found: AtomicU64::new(0),
            computed: AtomicU64::new(0),
            serial: AtomicU64::new(0),
            notes: Mutex::new(Vec::new()),
        }
    }

    /// Returns the key under which a result is stored. `kind` is the kind of the result, and
    /// `rests_on` contains everything that the result depends on.
    pub fn key(&self, kind: &str, rests_on: &impl Serialize) -> Key {
        Key::of(&(MAGIC, &self.build, kind, rests_on))
    }

    /// Returns the result for a key, with bytes such as an object file. It is read from the folder
    /// if it is stored there, otherwise `compute` is called. The flag that `compute` returns says
    /// whether the result is complete; only complete results are stored.
    pub fn result<T: Serialize + DeserializeOwned>(
        &self,
        key: Key,
        compute: impl FnOnce() -> (T, Option<Vec<u8>>, bool),
    ) -> (T, Option<Vec<u8>>) {
        if let Some(found) = self.read(key) {
            self.found.fetch_add(1, Ordering::Relaxed);
            return found;
        }
        let (result, bytes, complete) = compute();
        self.computed.fetch_add(1, Ordering::Relaxed);
        if complete {
            self.write(key, &result, bytes.as_deref());
        }
        (result, bytes)
    }

    /// Deletes the results that were not used for the longest time, if any result was added to the
    /// cache.
    pub fn prune(&self) {
        let computed = self.computed.load(Ordering::Relaxed) > 0;
        if let (Some(folder), true) = (&self.folder, computed) {
            pruning::prune(folder, pruning::LIMITS, SystemTime::now());
        }
    }

    /// Returns the number of results that were read from the folder, and the number that were
    /// computed.
    pub fn counts(&self) -> (u64, u64) {
        (self.found.load(Ordering::Relaxed), self.computed.load(Ordering::Relaxed))
    }

    /// Returns notes for the user about problems with the folder, one sentence each, sorted.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        notes.sort();
        notes.dedup();
        notes
    }

    /// Returns the programs of a topology when it was last planned, or `None` if they are not
    /// stored.
    pub fn last(&self, topology: &str) -> Option<LastPlan> {
        self.read(Key::of(&("last", topology))).map(|(last, _)| last)
    }

    /// Stores the programs of a topology, for comparison when it is planned again.
    pub fn keep_last(&self, topology: &str, last: &LastPlan) {
        self.write(Key::of(&("last", topology)), last, None);
    }

    fn note(&self, what: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    fn file(&self, key: Key) -> Option<PathBuf> {
        let name = key.text();
        Some(self.folder.as_ref()?.join(&name[..2]).join(&name[2..]))
    }

    fn read<T: DeserializeOwned>(&self, key: Key) -> Option<(T, Option<Vec<u8>>)> {
        let file = self.file(key)?;
        let read = File::open(&file).and_then(|mut opened| {
            let mut data = Vec::new();
            opened.read_to_end(&mut data)?;
            pruning::used(&opened, SystemTime::now());
            Ok(data)
        });
        let data = match read {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                let what = format!("{} cannot be read ({error}); recomputed", file.display());
                self.note(what);
                return None;
            }
        };
        let found = decode(&data);
        if found.is_none() {
            self.note(format!("{} is damaged; recomputed", file.display()));
        }
        found
    }

    fn write<T: Serialize>(&self, key: Key, result: &T, bytes: Option<&[u8]>) {
        let (Some(file), Some(data)) = (self.file(key), encode(result, bytes)) else { return };
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = put(&file, &data, serial) {
            let folder = self.folder.as_deref().unwrap_or(Path::new(""));
            self.note(format!("{}: results cannot be kept: {error}", folder.display()));
        }
    }
}

/// Writes a file under a temporary name, and then gives it its final name.
fn put(file: &Path, data: &[u8], serial: u64) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let fresh = folder.join(format!(".{}.{serial}.new", std::process::id()));
    let written = fs::write(&fresh, data).and_then(|()| fs::rename(&fresh, file));
    if written.is_err() {
        // The file may be incomplete, so it is deleted.
        let _ = fs::remove_file(&fresh);
    }
    written
}

/// Encodes a result as the content of a file: a line with a digest, a line of JSON, then the bytes
/// if there are any.
fn encode<T: Serialize>(result: &T, bytes: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut content = serde_json::to_vec(&(result, bytes.is_some())).ok()?;
    content.push(b'\n');
    content.extend(bytes.unwrap_or_default());
    let mut data = format!("{MAGIC}{}\n", Key::bytes(&content).text()).into_bytes();
    data.extend(content);
    Some(data)
}

fn decode<T: DeserializeOwned>(data: &[u8]) -> Option<(T, Option<Vec<u8>>)> {
    let rest = data.strip_prefix(MAGIC.as_bytes())?;
    let (digest, content) = split(rest)?;
    if digest != Key::bytes(content).text().as_bytes() {
        return None;
    }
    let (text, bytes) = split(content)?;
    let (result, has_bytes): (T, bool) = serde_json::from_slice(text).ok()?;
    Some((result, has_bytes.then(|| bytes.to_vec())))
}

fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = data.iter().position(|&byte| byte == b'\n')?;
    Some((&data[..end], &data[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(text in ".*", bytes in proptest::option::of(any::<Vec<u8>>())) {
            let data = encode(&text, bytes.as_deref()).expect("plain data");
            prop_assert_eq!(decode(&data), Some((text, bytes)));
        }

        #[test]
        fn what_is_damaged_is_not_read(
            text in ".*",
            bytes in any::<Vec<u8>>(),
            place in any::<prop::sample::Index>(),
            flip in 1_u8..,
        ) {
            let mut data = encode(&text, Some(&bytes)).expect("plain data");
            let cut = place.index(data.len());
            prop_assert_eq!(decode::<String>(&data[..cut]), None);
            data[cut] ^= flip;
            prop_assert_eq!(decode::<String>(&data), None);
        }

        #[test]
        fn anything_can_be_in_a_file(data in any::<Vec<u8>>()) {
            prop_assert_eq!(decode::<String>(&data), None);
        }
    }
}
