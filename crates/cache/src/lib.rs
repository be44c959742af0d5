//! Keeps results on disk, so that later commands need not compute them again. Each result has its
//! own file, whose name is a digest of everything that the result depends on.
//!
//! The first line of a file is a digest of its key and of the rest, so that damaged files, and
//! files under a wrong name, are detected and ignored. A file gets its final name only after it is
//! written, so other processes see only complete files. Each file may be deleted at any time;
//! [`pruning`] deletes those that have not been used for the longest time.
//!
//! This crate does not know what a result is. The caller decides which results are complete, and
//! puts everything that a result depends on into its key.

mod key;
pub mod pruning;

pub use key::Key;
pub use pruning::Usage;

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Text at the beginning of every file, which names the file format.
const MAGIC: &str = "slowpath cache 1 ";

/// Number for the name of the next temporary file of this process.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A folder of stored results, if there is one, and statistics about its use.
#[derive(Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    /// Text that identifies the version of slowpath. Stored results with another text are ignored.
    build: String,
    found: AtomicU64,
    computed: AtomicU64,
    /// Bytes that were written to the folder.
    written: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl Cache {
    /// Creates a cache in a folder, which need not exist. Without a folder, nothing is stored.
    /// `build` becomes part of each key that [`Cache::key`] returns.
    pub fn new(folder: Option<PathBuf>, build: String) -> Cache {
        Cache {
            folder,
            build,
            found: AtomicU64::new(0),
            computed: AtomicU64::new(0),
            written: AtomicU64::new(0),
            notes: Mutex::new(Vec::new()),
        }
    }

    /// Returns the key under which a result is stored. `kind` is the kind of the result, and
    /// `rests_on` contains everything that the result depends on.
    pub fn key(&self, kind: &str, rests_on: &impl Serialize) -> Key {
        Key::of(&(MAGIC, &self.build, kind, rests_on))
    }

    /// Returns the result for a key, together with optional bytes such as an object file. Reads it
    /// from the folder if it is stored there; otherwise calls `compute`. The flag that `compute`
    /// returns is true if the result is complete; only complete results are stored.
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

    /// Deletes the results that were not used for the longest time, if this cache stored a result
    /// and the folder was not pruned recently.
    pub fn prune(&self) {
        let written = self.written.load(Ordering::Relaxed);
        if let (Some(folder), true) = (&self.folder, written > 0) {
            pruning::prune_if_due(folder, pruning::LIMITS, written, SystemTime::now());
        }
    }

    /// Returns the number of results that [`Cache::result`] read from the folder, and the number
    /// that were computed.
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

    fn note(&self, what: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    fn file(&self, key: Key) -> Option<PathBuf> {
        let name = key.text();
        Some(self.folder.as_ref()?.join(&name[..2]).join(&name[2..]))
    }

    /// Returns the stored result for a key, together with its optional bytes. Returns `None` if no
    /// result is stored or the file is damaged. Records problems as notes for the user.
    pub fn read<T: DeserializeOwned>(&self, key: Key) -> Option<(T, Option<Vec<u8>>)> {
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
        let found = decode(key, &data);
        if found.is_none() {
            self.note(format!("{} is damaged; recomputed", file.display()));
        }
        found
    }

    /// Stores a result, together with optional bytes such as an object file. Records a failure as a
    /// note for the user.
    pub fn write<T: Serialize>(&self, key: Key, result: &T, bytes: Option<&[u8]>) {
        if let Err(error) = self.store(key, result, bytes) {
            let folder = self.folder.as_deref().unwrap_or(Path::new(""));
            self.note(format!("{}: results cannot be kept: {error}", folder.display()));
        }
    }

    /// Stores a result, together with optional bytes such as an object file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn store<T: Serialize>(
        &self,
        key: Key,
        result: &T,
        bytes: Option<&[u8]>,
    ) -> io::Result<()> {
        let Some(file) = self.file(key) else { return Ok(()) };
        let data = encode(key, result, bytes)?;
        put(&file, &data)?;
        self.written.fetch_add(data.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Writes a file under a temporary name, and then gives it its final name.
fn put(file: &Path, data: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    create_private(folder)?;
    let (fresh, mut opened) = temporary(folder)?;
    let written = opened.write_all(data).and_then(|()| fs::rename(&fresh, file));
    if written.is_err() {
        // The file may be incomplete, so it is deleted.
        let _ = fs::remove_file(&fresh);
    }
    written
}

/// Creates a folder and its missing parents. Only the user can access them, because results show
/// what the user analyses.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a file with a temporary name that no other process uses. Process numbers alone do not
/// suffice: processes in different containers that share the folder may have the same number.
fn temporary(folder: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let fresh = folder.join(format!(".{}.{serial}.new", std::process::id()));
        match File::create_new(&fresh) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|opened| (fresh, opened)),
        }
    }
}

/// Encodes a result as the content of a file: a line with a digest, a line of JSON, then the bytes
/// if there are any.
fn encode<T: Serialize>(key: Key, result: &T, bytes: Option<&[u8]>) -> io::Result<Vec<u8>> {
    let mut content = serde_json::to_vec(&(result, bytes.is_some()))?;
    content.push(b'\n');
    content.extend(bytes.unwrap_or_default());
    let mut data = format!("{MAGIC}{}\n", key.seal(&content).text()).into_bytes();
    data.extend(content);
    Ok(data)
}

fn decode<T: DeserializeOwned>(key: Key, data: &[u8]) -> Option<(T, Option<Vec<u8>>)> {
    let rest = data.strip_prefix(MAGIC.as_bytes())?;
    let (digest, content) = split(rest)?;
    if digest != key.seal(content).text().as_bytes() {
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

    fn some_key() -> Key {
        Key::bytes(b"some key")
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text in ".*", bytes in proptest::option::of(any::<Vec<u8>>())) {
            let data = encode(some_key(), &text, bytes.as_deref()).expect("plain data");
            prop_assert_eq!(decode(some_key(), &data), Some((text, bytes)));
        }

        #[test]
        fn what_is_damaged_is_not_read(
            text in ".*",
            bytes in any::<Vec<u8>>(),
            place in any::<prop::sample::Index>(),
            flip in 1_u8..,
        ) {
            let mut data = encode(some_key(), &text, Some(&bytes)).expect("plain data");
            let cut = place.index(data.len());
            prop_assert_eq!(decode::<String>(some_key(), &data[..cut]), None);
            data[cut] ^= flip;
            prop_assert_eq!(decode::<String>(some_key(), &data), None);
        }

        #[test]
        fn anything_can_be_in_a_file(data in any::<Vec<u8>>()) {
            prop_assert_eq!(decode::<String>(some_key(), &data), None);
        }
    }

    #[test]
    fn a_file_under_another_name_is_not_read() {
        let data = encode(some_key(), &"text", None).expect("plain data");
        assert_eq!(decode::<String>(Key::bytes(b"other"), &data), None);
    }

    #[test]
    fn names_of_temporary_files_are_not_used_twice() {
        let folder = std::env::temp_dir().join(format!("slowpath-cache-{}", std::process::id()));
        create_private(&folder).expect("a folder");
        let next = SERIAL.load(Ordering::Relaxed);
        // Another container with this process number has taken the next names.
        for serial in next..next + 3 {
            let taken = folder.join(format!(".{}.{serial}.new", std::process::id()));
            fs::write(taken, "other").expect("a file");
        }
        let (fresh, _) = temporary(&folder).expect("a free name");
        assert_eq!(fs::read(&fresh).expect("it is there"), b"");
        let _ = fs::remove_dir_all(&folder);
    }
}
