//! Tests that the verifier's log is parsed correctly.

use super::{HINTS, reason, verdict};

const LOG: [&str; 8] = [
    "; return *(volatile __u8 *)(long)ctx->data; @ a.c:1",
    "0: (61) r1 = *(u32 *)(r1 +0)          ; R1=pkt(r=0)",
    "1: (71) r0 = *(u8 *)(r1 +0)",
    "invalid access to packet, off=0 size=1, R1(id=0,off=0,r=0)",
    "R1 offset is outside of the packet",
    "verification time 61 usec",
    "stack depth 0",
    "processed 2 insns (limit 1000000) max_states_per_insn 0",
];

#[test]
fn the_reason_follows_the_last_instruction() {
    let expected = "invalid access to packet, off=0 size=1, R1(id=0,off=0,r=0); \
                    R1 offset is outside of the packet";
    assert_eq!(reason(&LOG), expected);
    assert_eq!(reason(&["0: (95) exit", "expected thisprocessed 1 insns"]), "expected this");
    assert_eq!(reason(&[]), "");
    assert_eq!(reason(&["processed 0 insns"]), "");
}

#[test]
fn verdicts_name_the_instruction_and_give_advice() {
    let found = verdict(&LOG).expect("there is a reason");
    assert_eq!(found.at, Some(1));
    assert!(found.hint.contains("data_end"), "{found:?}");
    let states = ["3: (bf) r1 = r2", "from 3 to 9: R1=1 R2=2", "9: R1=1", "back-edge from 9 to 3"];
    assert_eq!(verdict(&states).map(|found| found.at), Some(Some(3)));
    let unknown = verdict(&["words of another kernel"]).expect("there is a reason");
    assert_eq!((unknown.at, unknown.hint), (None, ""));
    assert_eq!(verdict(&["processed 0 insns"]), None);
}

#[test]
fn no_hint_hides_another() {
    for (number, (words, _)) in HINTS.iter().enumerate() {
        let first = HINTS.iter().position(|(earlier, _)| words.contains(earlier));
        assert_eq!(first, Some(number), "{words}");
    }
}
