//! Tests that decode arbitrary 8-byte words. The decoder returns either instructions that encode to
//! the same bytes, or an error with the position of the invalid word.

use proptest::prelude::*;
use slowpath_bpf::insn::{decode, encode};

/// Generates 8-byte words that are valid BPF instructions more often than random bytes are.
fn word() -> impl Strategy<Value = [u8; 8]> {
    let zero_or_any = prop_oneof![3 => Just(0u8), 1 => any::<u8>()];
    let small = prop_oneof![3 => 0u8..=10, 1 => any::<u8>()];
    (any::<u8>(), small, zero_or_any.clone(), zero_or_any.clone(), any::<u8>(), zero_or_any)
        .prop_map(|(code, regs, off, off_high, imm, rest)| {
            [code, regs, off, off_high, imm, rest, rest, rest]
        })
}

fn holds(bytes: &[u8]) -> Result<(), TestCaseError> {
    match decode(bytes) {
        Ok(insns) => {
            prop_assert_eq!(insns.len() * 8, bytes.len());
            prop_assert_eq!(encode(&insns), bytes);
            prop_assert!(insns.iter().all(|insn| !insn.to_string().contains('\n')));
        }
        Err(error) => {
            prop_assert!(error.slot <= bytes.len() / 8);
            prop_assert_eq!(error.to_string().lines().count(), 1);
            // The words before the error are valid.
            prop_assert!(decode(&bytes[..error.slot * 8]).is_ok());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn one_word(bytes in word()) {
        holds(&bytes)?;
    }

    #[test]
    fn several_words(words in prop::collection::vec(word(), 0..6), cut in 0usize..8) {
        let bytes = words.concat();
        holds(&bytes)?;
        holds(&bytes[..bytes.len().saturating_sub(cut)])?;
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        holds(&bytes)?;
    }
}

#[test]
fn all_codes_with_plain_fields() {
    let accepted = (0..=u8::MAX).filter(|code| {
        let bytes = [*code, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        decode(&bytes[..8]).is_ok() || decode(&bytes).is_ok()
    });
    // There are 13 operators with two sources and two widths, without signed ones, and negation
    // (one source); loads, stores, atomics; packet loads; 11 conditions with two sources and two
    // widths; two gotos, may_goto, call, exit; the 64-bit immediate.
    assert_eq!(accepted.count(), 12 * 4 + 2 + (4 + 3) + (4 + 4 + 2) + 6 + 11 * 4 + 5 + 1);
}
