//! Fuzzes the parser of NFP listings. Every input must be exactly one of
//!
//! - a listing whose printed form parses to the same instructions and prints the same bytes. It is
//!   either lifted to a well-formed program or refused at an instruction;
//! - an error with a line number and a message of one line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_nfp::{LiftError, LiftOptions, lift, parse, parse_bytes};

fuzz_target!(|bytes: &[u8]| {
    let listing = match parse_bytes(bytes) {
        Ok(listing) => listing,
        Err(error) => {
            assert!(error.line >= 1, "{error}");
            assert_eq!(error.to_string().lines().count(), 1, "{error:?}");
            return;
        }
    };
    let text = listing.to_string();
    let again = parse(&text).expect("a printed listing can be read");
    assert!(again.insns().eq(listing.insns()), "printing changed the listing:\n{text}");
    assert_eq!(again.to_string(), text);
    match lift(&listing, "fuzz", &LiftOptions::default()) {
        Ok(program) => program.validate().expect("a lifted program is well formed"),
        Err(LiftError::Instruction { insn, line, .. }) => {
            assert!((insn as usize) < listing.len() && line >= 1);
        }
        Err(other) => panic!("{other}"),
    }
});
