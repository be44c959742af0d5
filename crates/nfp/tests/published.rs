//! Tests that the listings of the published programs can be lifted, and that printing them gives
//! the original text byte for byte. The listings are tested only if they are available.

use crate::listings;

use listings::published;
use slowpath_ir::FlowGraph;
use slowpath_nfp::{LiftOptions, lift, parse_bytes};
use slowpath_oracle::Oracle;

#[test]
fn published_listings_print_back_and_can_be_lifted() {
    for path in published() {
        let bytes = std::fs::read(&path).expect("the listing can be read");
        let listing = parse_bytes(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(listing.to_string().as_bytes() == bytes, "{} differs", path.display());
        Oracle::Listings.compared(1, "listings printed back");
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
