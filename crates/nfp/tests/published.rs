//! Listings of the published programs, if the environment variable `SLOWPATH_LISTINGS` names a
//! folder of them: they print back byte for byte and all have a meaning.

use std::path::PathBuf;

use slowpath_ir::FlowGraph;
use slowpath_nfp::{LiftOptions, lift, parse_bytes};

/// The listings, or none and a printed reason.
fn listings() -> Vec<PathBuf> {
    let Ok(folder) = std::env::var("SLOWPATH_LISTINGS") else {
        eprintln!("skipped: SLOWPATH_LISTINGS names no folder with published listings");
        return Vec::new();
    };
    let entries = std::fs::read_dir(&folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "asm"))
        .collect();
    assert!(!paths.is_empty(), "{folder} has no *.asm files");
    paths.sort();
    paths
}

#[test]
fn published_listings_print_back_byte_for_byte() {
    for path in listings() {
        let bytes = std::fs::read(&path).expect("the listing can be read");
        let listing = parse_bytes(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(listing.to_string().as_bytes() == bytes, "{} differs", path.display());
    }
}

#[test]
fn published_listings_have_a_meaning() {
    for path in listings() {
        let bytes = std::fs::read(&path).expect("the listing can be read");
        let listing = parse_bytes(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let program = lift(&listing, "published", &LiftOptions::default())
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        program.validate().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        FlowGraph::of(&program).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let ops: usize = program.blocks.iter().map(|block| block.ops.len()).sum();
        eprintln!(
            "{}: {} instructions, {} blocks, {ops} operations, {} registers",
            path.display(),
            listing.len(),
            program.blocks.len(),
            program.regs.len()
        );
    }
}
