//! Finds published data about programs for the card, which this repository does not contain. The
//! data is the artifact of Krude et al., "Determination of Throughput Guarantees for
//! Processor-based SmartNICs", CoNEXT 2021.

use std::path::{Path, PathBuf};

use crate::Oracle;

/// Number of programs with a published listing.
pub const PUBLISHED: usize = 28;

/// Returns the folder with all published listings (`PROGRAM.asm`), which the environment variable
/// `SLOWPATH_LISTINGS` names. If it is not set, records the oracle as missing and returns `None`.
///
/// # Panics
///
/// If listings are missing in the folder.
pub fn published_listings() -> Option<PathBuf> {
    let folder = named(Oracle::Listings, "SLOWPATH_LISTINGS", "published listings")?;
    let found = with_extension(&folder, "asm");
    let name = folder.display();
    assert!(found >= PUBLISHED, "SLOWPATH_LISTINGS: {name} has {found} of {PUBLISHED} listings");
    Some(folder)
}

/// Returns the folder with the published results (`summary.json` and `PROGRAM.jsonl.gz`), which the
/// environment variable `SLOWPATH_RESULTS` names. If it is not set, records the oracle as missing
/// and returns `None`.
///
/// # Panics
///
/// If the folder has no `summary.json`, which lists the other files.
pub fn published_results() -> Option<PathBuf> {
    let folder = named(Oracle::Results, "SLOWPATH_RESULTS", "published results")?;
    let summary = folder.join("summary.json");
    assert!(summary.exists(), "SLOWPATH_RESULTS: there is no {}", summary.display());
    Some(folder)
}

fn named(oracle: Oracle, variable: &str, what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        oracle.missing(format_args!("{variable} names no folder with {what}"));
    }
    folder
}

/// Returns the number of files in a folder with this extension.
fn with_extension(folder: &Path, extension: &str) -> usize {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|fault| panic!("{}: {fault}", folder.display()));
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|found| found == extension)).count()
}
