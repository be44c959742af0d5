//! Tests that the encoder and the decoder of instruction words agree with each other. They must
//! also agree with the published listings, if available, and with the BFD disassembler, if it
//! supports this device.

use crate::generate;
use crate::listings;
use crate::objdump;

use std::path::{Path, PathBuf};

use generate::insn;
use objdump::{blanks_reduced, disassemble};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use slowpath_nfp::word::{WordError, decode, encode};
use slowpath_nfp::{AluOp, Insn, Listing, parse_bytes};
use slowpath_oracle::Oracle;

proptest! {
    #[test]
    fn instructions_read_back_from_their_words(insns in vec(insn(), 1..60)) {
        for insn in insns {
            if let Ok(word) = encode(&insn) {
                prop_assert!(word < 1 << 45, "{insn}");
                prop_assert_eq!(decode(word), Ok(insn), "{:#x}", word);
            }
        }
    }

    #[test]
    fn words_that_the_encoder_does_not_produce_are_unknown(
        insn in insn(),
        flips in vec(0..64u32, 0..3),
        other in any::<u64>(),
    ) {
        let word = flips.iter().fold(encode(&insn).unwrap_or(other), |word, flip| word ^ 1 << flip);
        match decode(word) {
            Ok(insn) => prop_assert_eq!(encode(&insn), Ok(word)),
            Err(error) => prop_assert_eq!(error, WordError::Unknown { word }),
        }
    }
}

/// Returns the instructions of a listing, each with the 64-bit word that encodes it.
fn words(listing: &Listing) -> Vec<(Insn, u64)> {
    let word = |insn: &Insn| encode(insn).unwrap_or_else(|error| panic!("{insn}: {error}"));
    listing.insns().map(|insn| (*insn, word(insn))).collect()
}

/// Returns false for instructions that the device does not have. The examples use them to be easier
/// to read.
fn has_word(insn: &Insn) -> bool {
    !matches!(insn, Insn::AluShf { op: AluOp::Xor, .. })
}

/// Returns the listings of the examples, and the published ones if they are available.
fn listings() -> Vec<(PathBuf, Listing)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let paths = listings::in_folder(&own).into_iter().chain(listings::published());
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("the listing can be read");
        let listing = parse_bytes(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path, Listing::new(listing.insns().copied().filter(has_word)))
    };
    paths.map(read).collect()
}

#[test]
fn listings_read_back_from_their_words() {
    for (path, listing) in listings() {
        for (insn, word) in words(&listing) {
            assert_eq!(decode(word), Ok(insn), "{}: {insn}", path.display());
        }
    }
}

fn check_against(objdump: &str, name: &str, listing: &Listing) {
    let words: Vec<_> = words(listing).into_iter().map(|(_, word)| word).collect();
    let found = disassemble(objdump, name, &words);
    let expected: Vec<_> = listing.to_string().lines().map(blanks_reduced).collect();
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{name}");
    }
    Oracle::Disassembler.compared(expected.len(), "instructions");
}

#[test]
fn the_disassembler_prints_listings_as_they_are() {
    let Some(objdump) = objdump::find() else { return };
    for (number, (path, listing)) in listings().iter().enumerate() {
        eprintln!("{}: {} instructions", path.display(), listing.len());
        check_against(&objdump, &format!("listing-{number}"), listing);
    }
}

#[test]
fn the_disassembler_prints_generated_instructions_as_the_printer_does() {
    let Some(objdump) = objdump::find() else { return };
    let mut runner = TestRunner::deterministic();
    let mut insns = Vec::new();
    while insns.len() < 4000 {
        let insn = insn().new_tree(&mut runner).expect("instructions can be generated").current();
        insns.extend(encode(&insn).is_ok().then_some(insn));
    }
    let listing = Listing::new(insns);
    for form in ["br_bset[", "br_bclr[", "rtn[", "local_csr_rd[", "mem[read8", "mem[add64", "asr["]
    {
        let found = listing.insns().any(|insn| insn.to_string().starts_with(form));
        assert!(found, "{form}");
    }
    check_against(&objdump, "generated", &listing);
}
