use crate::passes::fold_branches;
use crate::support::{after, facts};

/// A program that tells whether a call fails, with its arguments in `r2` to `r4`.
fn calls(arguments: &str, number: i32) -> String {
    format!(
        "r3 = r10
        r3 += -8
        {arguments}
        call {number}
        if r0 != 0 goto failed
        r0 = 2
        exit
        failed:
        r0 = 1
        exit"
    )
}

const ADJUST_HEAD: i32 = 44;
const ADJUST_META: i32 = 54;
const ADJUST_TAIL: i32 = 65;
const LOAD_BYTES: i32 = 189;
const STORE_BYTES: i32 = 190;

/// Whether the branch behind the call is decided for packets of at least so many bytes.
fn decided(arguments: &str, number: i32, length: u16) -> bool {
    let done = after(&calls(arguments, number), &facts(length, &[]), fold_branches);
    if let Some((_, log)) = &done {
        assert!(log.reason().length, "it rests on the length");
    }
    done.is_some()
}

#[test]
fn calls_succeed_from_the_first_length_on_that_suffices() {
    for (arguments, number, least) in [
        ("r2 = 20", ADJUST_HEAD, 34),
        ("r2 = 0", ADJUST_HEAD, 14),
        ("r2 = -20", ADJUST_TAIL, 34),
        ("r2 = 30\nr4 = 4", LOAD_BYTES, 34),
        ("r2 = 26\nr4 = 8", STORE_BYTES, 34),
    ] {
        assert!(decided(arguments, number, least), "{arguments}");
        assert!(!decided(arguments, number, least - 1), "{arguments}");
    }
}

#[test]
fn nothing_is_told_of_what_drivers_may_refuse() {
    for (arguments, number) in [
        ("r2 = -8", ADJUST_HEAD),
        ("r2 = 0", ADJUST_TAIL),
        ("r2 = 4", ADJUST_TAIL),
        ("r2 = -4", ADJUST_META),
        ("r2 = 4", ADJUST_META),
        ("r2 = -1\nr4 = 4", LOAD_BYTES),
    ] {
        assert!(!decided(arguments, number, 1500), "{arguments}");
    }
}
