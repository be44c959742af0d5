//! Tests that generated listings stay the same when they are printed and parsed. Parsing a damaged
//! listing gives an error and never a panic.

use crate::generate;

use generate::insn;
use proptest::collection::vec;
use proptest::prelude::*;
use slowpath_nfp::{BranchCondition, Insn, LiftOptions, Listing, lift, parse, parse_bytes};

fn instructions(listing: &Listing) -> Vec<Insn> {
    listing.insns().copied().collect()
}

/// Checks that bytes are parsed either to a listing that survives printing and parsing, or to an
/// error with a line number.
fn check_contract(bytes: &[u8]) {
    match parse_bytes(bytes) {
        Ok(listing) => {
            let again = parse(&listing.to_string()).expect("printed listings can be read");
            assert_eq!(instructions(&again), instructions(&listing));
            if let Ok(program) = lift(&listing, "generated", &LiftOptions::default()) {
                program.validate().expect("lifted programs are well formed");
            }
        }
        Err(error) => assert!(error.line >= 1, "{error}"),
    }
}

proptest! {
    #[test]
    fn listings_print_and_read_back(insns in vec(insn(), 1..40)) {
        let listing = Listing::new(insns);
        let text = listing.to_string();
        let again = parse(&text).expect("printed listings can be read");
        prop_assert_eq!(&again, &listing);
        prop_assert_eq!(again.to_string(), text);
    }

    #[test]
    fn straight_programs_are_well_formed(insns in vec(insn(), 1..30)) {
        let body = insns.into_iter().filter(|insn| !insn.is_branch());
        let exit =
            Insn::Branch { condition: BranchCondition::Always, target: 15_000, defer: 0 };
        for one in body {
            // Each instruction is a listing of its own, so that an error does not hide later ones.
            let listing = Listing::new([one, exit]);
            if let Ok(program) = lift(&listing, "generated", &LiftOptions::default()) {
                prop_assert_eq!(program.validate(), Ok(()));
            }
        }
    }

    #[test]
    fn damaged_listings_give_one_located_error(
        insns in vec(insn(), 1..20),
        damage in vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..4),
    ) {
        let mut bytes = Listing::new(insns).to_string().into_bytes();
        for (place, byte, kind) in damage {
            let at = place.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        check_contract(&bytes);
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        check_contract(&bytes);
    }
}
