//! Finds the listings of the published programs, and listings in other folders.

use slowpath_oracle::{Oracle, PUBLISHED, published_listings};
use std::path::{Path, PathBuf};

/// Returns the paths of the published listings. If there are none, reports the reason.
pub fn published() -> Vec<PathBuf> {
    published_listings().map(|folder| in_folder(&folder)).unwrap_or_default()
}

/// Returns the published listings with the content of the objects from which they were compiled. If
/// there are none, reports the reason.
pub fn published_pairs() -> Vec<(PathBuf, Vec<u8>)> {
    let object = |path: PathBuf| {
        let data = std::fs::read(path.with_extension("bpf.o")).ok()?;
        Some((path, data))
    };
    let listings = published();
    if listings.is_empty() {
        Oracle::Objects.missing("there are no published listings");
        return Vec::new();
    }
    let pairs: Vec<_> = listings.into_iter().filter_map(object).collect();
    if pairs.is_empty() {
        Oracle::Objects.missing("SLOWPATH_LISTINGS has no NAME.bpf.o beside NAME.asm");
    } else {
        assert_eq!(pairs.len(), PUBLISHED, "SLOWPATH_LISTINGS has not all published objects");
    }
    pairs
}

/// Returns the paths of the listings in a folder. Panics if there are none.
pub fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "asm"))
        .collect();
    assert!(!paths.is_empty(), "{} has no *.asm files", folder.display());
    paths.sort();
    paths
}
