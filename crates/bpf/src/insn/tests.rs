//! Tests that check the bytes, the decoded form and the text of every opcode, and that invalid
//! words are rejected.

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len() / 2)
        .map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("hex digits"))
        .collect()
}

fn check(hex: &str, text: &str) {
    let encoded = bytes(hex);
    let insns = decode(&encoded).unwrap_or_else(|e| panic!("{hex}: {e}"));
    assert_eq!(insns[0].to_string(), text, "{hex}");
    assert_eq!(encode(&insns), encoded, "{text}");
    assert_eq!(insns.len() * 8, encoded.len());
}

fn refused(hex: &str, what: &str) {
    let error = decode(&bytes(hex)).expect_err(hex);
    assert!(error.to_string().contains(what), "{hex}: {error}");
}

#[test]
fn arithmetic() {
    let ops = [
        ("0", 0, "+="),
        ("1", 0, "-="),
        ("2", 0, "*="),
        ("3", 0, "/="),
        ("3", 1, "s/="),
        ("4", 0, "|="),
        ("5", 0, "&="),
        ("6", 0, "<<="),
        ("7", 0, ">>="),
        ("9", 0, "%="),
        ("9", 1, "s%="),
        ("a", 0, "^="),
        ("b", 0, "="),
        ("c", 0, "s>>="),
    ];
    for (op, off, sign) in ops {
        check(&format!("{op}7 01 0{off}00 feffffff"), &format!("r1 {sign} -2"));
        check(&format!("{op}4 01 0{off}00 07000000"), &format!("w1 {sign} 7"));
        check(&format!("{op}f 21 0{off}00 00000000"), &format!("r1 {sign} r2"));
        check(&format!("{op}c a1 0{off}00 00000000"), &format!("w1 {sign} w10"));
    }
    check("87 03 0000 00000000", "r3 = -r3");
    check("84 03 0000 00000000", "w3 = -w3");
    check("bf 43 0800 00000000", "r3 = (s8)r4");
    check("bf 43 1000 00000000", "r3 = (s16)r4");
    check("bf 43 2000 00000000", "r3 = (s32)r4");
    check("bc 43 0800 00000000", "w3 = (s8)w4");
    check("bc 43 1000 00000000", "w3 = (s16)w4");
}

#[test]
fn byte_swaps() {
    for (imm, bits) in [("10", "16"), ("20", "32"), ("40", "64")] {
        check(&format!("d4 02 0000 {imm}000000"), &format!("r2 = le{bits} r2"));
        check(&format!("dc 02 0000 {imm}000000"), &format!("r2 = be{bits} r2"));
        check(&format!("d7 02 0000 {imm}000000"), &format!("r2 = bswap{bits} r2"));
    }
}

#[test]
fn memory() {
    check("61 10 0400 00000000", "r0 = *(u32 *)(r1 +4)");
    check("69 10 0400 00000000", "r0 = *(u16 *)(r1 +4)");
    check("71 10 fcff 00000000", "r0 = *(u8 *)(r1 -4)");
    check("79 10 0000 00000000", "r0 = *(u64 *)(r1 +0)");
    check("81 10 0400 00000000", "r0 = *(s32 *)(r1 +4)");
    check("89 10 0400 00000000", "r0 = *(s16 *)(r1 +4)");
    check("91 10 0400 00000000", "r0 = *(s8 *)(r1 +4)");
    check("63 2a fcff 00000000", "*(u32 *)(r10 -4) = r2");
    check("6b 2a fcff 00000000", "*(u16 *)(r10 -4) = r2");
    check("73 2a fcff 00000000", "*(u8 *)(r10 -4) = r2");
    check("7b 2a f8ff 00000000", "*(u64 *)(r10 -8) = r2");
    check("62 0a fcff 05000000", "*(u32 *)(r10 -4) = 5");
    check("6a 0a fcff 05000000", "*(u16 *)(r10 -4) = 5");
    check("72 0a fcff ffffffff", "*(u8 *)(r10 -4) = -1");
    check("7a 0a f8ff 05000000", "*(u64 *)(r10 -8) = 5");
    check("20 00 0000 0c000000", "r0 = *(u32 *)skb[12]");
    check("28 00 0000 0c000000", "r0 = *(u16 *)skb[12]");
    check("30 00 0000 0c000000", "r0 = *(u8 *)skb[12]");
    check("40 60 0000 0c000000", "r0 = *(u32 *)skb[r6 + 12]");
    check("48 60 0000 0c000000", "r0 = *(u16 *)skb[r6 + 12]");
    check("50 60 0000 0c000000", "r0 = *(u8 *)skb[r6 + 12]");
}

#[test]
fn atomics() {
    for (imm, fetch, name, sign) in [
        ("00", "01", "add", "+="),
        ("40", "41", "or", "|="),
        ("50", "51", "and", "&="),
        ("a0", "a1", "xor", "^="),
    ] {
        check(&format!("db 21 0000 {imm}000000"), &format!("lock *(u64 *)(r1 +0) {sign} r2"));
        check(&format!("c3 21 0400 {imm}000000"), &format!("lock *(u32 *)(r1 +4) {sign} r2"));
        check(
            &format!("db 21 0000 {fetch}000000"),
            &format!("r2 = atomic64_fetch_{name}((u64 *)(r1 +0), r2)"),
        );
        check(
            &format!("c3 21 0000 {fetch}000000"),
            &format!("r2 = atomic_fetch_{name}((u32 *)(r1 +0), r2)"),
        );
    }
    check("db 21 0000 e1000000", "r2 = atomic64_xchg((u64 *)(r1 +0), r2)");
    check("c3 21 0000 e1000000", "r2 = atomic_xchg((u32 *)(r1 +0), r2)");
    check("db 21 0000 f1000000", "r0 = atomic64_cmpxchg((u64 *)(r1 +0), r0, r2)");
    check("c3 21 0000 f1000000", "r0 = atomic_cmpxchg((u32 *)(r1 +0), r0, r2)");
    for (code, size) in [("c3", "u32"), ("cb", "u16"), ("d3", "u8"), ("db", "u64")] {
        check(
            &format!("{code} 12 0800 00010000"),
            &format!("r2 = load_acquire(({size} *)(r1 +8))"),
        );
        check(
            &format!("{code} 21 0800 10010000"),
            &format!("store_release(({size} *)(r1 +8), r2)"),
        );
    }
}

#[test]
fn jumps_and_calls() {
    let conditions = [
        ("1", "=="),
        ("2", ">"),
        ("3", ">="),
        ("4", "&"),
        ("5", "!="),
        ("6", "s>"),
        ("7", "s>="),
        ("a", "<"),
        ("b", "<="),
        ("c", "s<"),
        ("d", "s<="),
    ];
    for (op, sign) in conditions {
        check(&format!("{op}5 01 0500 10000000"), &format!("if r1 {sign} 0x10 goto pc+5"));
        check(&format!("{op}d 21 feff 00000000"), &format!("if r1 {sign} r2 goto pc-2"));
        check(&format!("{op}6 01 0500 ffffffff"), &format!("if w1 {sign} 0xffffffff goto pc+5"));
        check(&format!("{op}e 21 0000 00000000"), &format!("if w1 {sign} w2 goto pc+0"));
    }
    check("05 00 feff 00000000", "goto pc-2");
    check("06 00 0000 00000100", "gotol pc+65536");
    check("e5 00 0300 00000000", "may_goto pc+3");
    check("95 00 0000 00000000", "exit");
    check("85 00 0000 01000000", "call bpf_map_lookup_elem#1");
    check("85 00 0000 0c000000", "call bpf_tail_call#12");
    check("85 00 0000 b5000000", "call bpf_loop#181");
    check("85 00 0000 d3000000", "call bpf_cgrp_storage_delete#211");
    check("85 00 0000 d4000000", "call unknown#212");
    check("85 00 0000 ffffffff", "call unknown#-1");
    check("85 10 0000 07000000", "call pc+7");
    check("85 20 0000 2a000000", "call kernel-function#42");
    check("85 20 0100 2a000000", "call kernel-function#42");
}

#[test]
fn wide_immediates() {
    let wide = |src: &str, low: &str, high: &str| format!("18 {src}1 0000 {low} 00 00 0000 {high}");
    check(&wide("0", "efcdab89", "67452301"), "r1 = 0x123456789abcdef");
    check(&wide("1", "05000000", "00000000"), "r1 = map[fd:5]");
    check(&wide("2", "05000000", "10000000"), "r1 = map[fd:5][0]+16");
    check(&wide("3", "2a000000", "00000000"), "r1 = var[42]");
    check(&wide("3", "2a000000", "07000000"), "r1 = var[42, module 7]");
    check(&wide("4", "fbffffff", "00000000"), "r1 = func[pc-5]");
    check(&wide("5", "02000000", "00000000"), "r1 = map[idx:2]");
    check(&wide("6", "02000000", "10000000"), "r1 = map[idx:2][0]+16");
}

#[test]
fn refusals_say_what_is_wrong() {
    refused("18 01 0000 00000000", "second half");
    refused("07 01 0000 00000000 95", "multiple of 8");
    refused("18 01 0000 00000000 01 00 0000 00000000", "not zero");
    refused("18 11 0000 00000000 00 00 0000 01000000", "not zero");
    refused("18 71 0000 00000000 00 00 0000 01000000", "64-bit immediate");
    refused("07 0b 0000 00000000", "no such register");
    refused("0f b0 0000 00000000", "no such register");
    refused("07 01 0100 00000000", "not zero");
    refused("0f 21 0000 01000000", "not zero");
    refused("bc 43 2000 00000000", "not zero");
    refused("bf 43 0100 00000100", "address spaces");
    refused("d4 02 0000 11000000", "byte swap");
    refused("df 02 0000 10000000", "not zero");
    refused("87 13 0000 00000000", "not zero");
    refused("e7 03 0000 00000000", "unknown instruction");
    refused("99 10 0000 00000000", "unknown instruction");
    refused("38 00 0000 00000000", "unknown instruction");
    refused("00 00 0000 00000000", "unknown instruction");
    refused("cb 21 0000 00000000", "1 or 2 bytes");
    refused("db 21 0000 02000000", "unknown atomic");
    refused("8d 01 0000 00000000", "indirect call");
    refused("0d 01 0000 00000000", "indirect jump");
    refused("85 30 0000 00000000", "kind of call");
    refused("85 00 0100 01000000", "not zero");
    refused("96 00 0000 00000000", "unknown instruction");
    let error = decode(&bytes("95 00 0000 00000000 ff 00 0000 00000000")).expect_err("bad word");
    assert_eq!(error.slot, 1);
}

#[test]
fn targets_count_slots() {
    let jump = Insn::Jump { offset: -3, long: false };
    assert_eq!(jump.jump_target(5), Some(3));
    assert_eq!(jump.jump_target(1), None);
    let call = Insn::Call(Call::Subprogram { offset: 7 });
    assert_eq!((call.jump_target(1), call.function_target(1)), (None, Some(9)));
    let far = Insn::Jump { offset: i32::MAX, long: true };
    assert_eq!(far.jump_target(0), Some(1 << 31));
}

#[test]
fn every_helper_has_one_name() {
    assert_eq!(helper_name(0), None);
    assert_eq!(helper_name(i32::MIN), None);
    assert_eq!(helper_name(44), Some("bpf_xdp_adjust_head"));
    assert_eq!(helper_name(helper::TAIL_CALL), Some("bpf_tail_call"));
    assert_eq!(helper_name(51), Some("bpf_redirect_map"));
    assert_eq!(helper_name(130), Some("bpf_ringbuf_output"));
    let names: std::collections::BTreeSet<_> = (1..=211).filter_map(helper_name).collect();
    assert_eq!(names.len(), 211);
}
