//! Results on disk, from one plan to the next: a file each, named by what the result rests on.
//!
//! A file says what it should contain: its first line has the digest of what follows. One that does
//! not is as if it were not there. Files are put into place in one step, so that nobody reads half of
//! one; each can be deleted at any time. What was used longest ago goes in the end (`pruning`).

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

/// What every file begins with.
const MAGIC: &str = "slowpath plan 1 ";

/// Where results are kept, if anywhere, and how often that helped.
pub(super) struct Cache {
    folder: Option<PathBuf>,
    /// What all results rest on: which slowpath it is that computes them.
    build: String,
    found: AtomicU64,
    computed: AtomicU64,
    /// Numbers files that are not in place yet.
    serial: AtomicU64,
    notes: Mutex<Vec<String>>,
}

/// The programs of a topology when it was planned last.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct LastPlan {
    /// The digests of their objects, by name.
    pub programs: BTreeMap<String, String>,
}

impl Cache {
    /// Results in a folder, which need not be there; `None` keeps nothing.
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

    /// The key of a result of some kind that rests on some values.
    pub fn key(&self, kind: &str, rests_on: &impl Serialize) -> Key {
        Key::of(&(MAGIC, &self.build, kind, rests_on))
    }

    /// A result with bytes beside it, from the folder, or computed; then it is kept, if `compute`
    /// says that it is complete.
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

    /// Makes room, if anything was computed, and kept.
    pub fn prune(&self) {
        let computed = self.computed.load(Ordering::Relaxed) > 0;
        if let (Some(folder), true) = (&self.folder, computed) {
            pruning::prune(folder, pruning::LIMITS, SystemTime::now());
        }
    }

    /// How many results were found, and how many computed.
    pub fn counts(&self) -> (u64, u64) {
        (self.found.load(Ordering::Relaxed), self.computed.load(Ordering::Relaxed))
    }

    /// What there is to say about the folder, one sentence each, in order.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        notes.sort();
        notes.dedup();
        notes
    }

    /// The programs when this topology was planned last, if that is known.
    pub fn last(&self, topology: &str) -> Option<LastPlan> {
        self.read(Key::of(&("last", topology))).map(|(last, _)| last)
    }

    /// Keeps the programs for the next plan.
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
                let what = format!("{} cannot be read ({error}): computed anew", file.display());
                self.note(what);
                return None;
            }
        };
        let found = decode(&data);
        if found.is_none() {
            self.note(format!("{} is damaged: computed anew", file.display()));
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

/// Puts a file in its place in one step.
fn put(file: &Path, data: &[u8], serial: u64) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let fresh = folder.join(format!(".{}.{serial}.new", std::process::id()));
    let written = fs::write(&fresh, data).and_then(|()| fs::rename(&fresh, file));
    if written.is_err() {
        // Whatever there is of it is of no use.
        let _ = fs::remove_file(&fresh);
    }
    written
}

/// A result as a file: a line with a digest, then JSON in a line, then the bytes, if there are any.
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

/// The first line, and what follows.
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
