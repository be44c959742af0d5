//! Folders of listings.

use std::path::PathBuf;

/// The listings of the published programs in the folder that the environment variable
/// `SLOWPATH_LISTINGS` names, or none and a printed reason.
pub fn published() -> Vec<PathBuf> {
    match std::env::var("SLOWPATH_LISTINGS") {
        Ok(folder) => in_folder(&folder),
        Err(_) => {
            eprintln!("skipped: SLOWPATH_LISTINGS names no folder with published listings");
            Vec::new()
        }
    }
}

/// The listings in a folder, which has some.
pub fn in_folder(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "asm"))
        .collect();
    assert!(!paths.is_empty(), "{folder} has no *.asm files");
    paths.sort();
    paths
}
