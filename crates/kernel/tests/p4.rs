//! Tests P4 programs in the running kernel: compares packets and tables with values computed by
//! hand.

use crate::support;

use support::clang::clang;
use support::kernel;
use support::p4::{P4, number};
use support::p4_parts::{
    Parts, a, chooses, crc, internet_checksum, load, packet, sends, sends_in_dpdk,
};

#[test]
fn an_exact_table_chooses_a_port() {
    let parts = Parts {
        locals: "table t { key = { hdr.h.a: exact; hdr.h.d: exact; } actions = { port; drop; }
                           default_action = drop(); }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write("t 10.0.0.1, 80 -> port(7)\nt 10.0.0.2, 80 -> port(n=511)");
    let to = |a, d| packet(a, 1, 2, d, 3, 4);
    chooses(
        &program,
        &[
            (to(0x0a00_0001, 80), Some(7)),
            (to(0x0a00_0001, 81), None),
            // Port 511 stands for a drop.
            (to(0x0a00_0002, 80), None),
            (to(0x0a00_0003, 80), None),
        ],
    );
}

#[test]
fn the_longest_prefix_wins() {
    let parts = Parts {
        locals: "table t { key = { hdr.h.a: lpm; hdr.h.f: exact; } actions = { port; drop; }
                           default_action = port(9); }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write(
        "t 10.0.0.0/8, 0 -> port(1)
         t 10.1.0.0/16, 0 -> port(2)
         t 10.1.2.3/32, 0 -> drop()
         t *, 1 -> port(3)",
    );
    chooses(
        &program,
        &[
            (a(0x0a02_0000), Some(1)),
            (a(0x0a01_ffff), Some(2)),
            (a(0x0a01_0203), None),
            (a(0x0b01_0203), Some(9)),
            (packet(0x0a01_0203, 0, 0, 0, 0, 1), Some(3)),
        ],
    );
}

#[test]
fn the_highest_priority_wins() {
    let parts = Parts {
        locals: "table t { key = { hdr.h.a: ternary; hdr.h.d: optional; } actions = { port; } }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write(
        "t 1 &&& 0xff, * priority 1 -> port(1)
         t 0x100/24, 5 priority 3 -> port(2)
         t *, 5 priority 2 -> port(3)
         t 0x101, 7 -> port(4)",
    );
    chooses(
        &program,
        &[
            (packet(0x2201, 0, 0, 0, 0, 0), Some(1)),
            (packet(0x0101, 0, 0, 5, 0, 0), Some(2)),
            (packet(0x2201, 0, 0, 5, 0, 0), Some(3)),
            (packet(0x0101, 0, 0, 7, 0, 0), Some(1)),
            (packet(0x2202, 0, 0, 0, 0, 0), Some(0)),
        ],
    );
}

#[test]
fn ranges_have_both_limits() {
    let parts = Parts {
        locals: "table t { key = { hdr.h.d: range; hdr.h.a: lpm; } actions = { port; } size = 64; }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write("t 80..90, * -> port(1)\nt 85..0xffff, 10.0.0.0/8 priority 1 -> port(2)");
    let to = |d, a| packet(a, 0, 0, d, 0, 0);
    chooses(
        &program,
        &[
            (to(79, 0), Some(0)),
            (to(80, 0), Some(1)),
            (to(90, 0), Some(1)),
            (to(91, 0), Some(0)),
            (to(85, 0x0a00_0000), Some(2)),
            (to(84, 0x0a00_0000), Some(1)),
            (to(0xffff, 0x0aff_ffff), Some(2)),
        ],
    );
}

#[test]
fn entries_of_the_program_choose_without_maps() {
    let parts = Parts {
        locals: "table t {
                key = { hdr.h.a: ternary; hdr.h.d: range; }
                actions = { port; drop; }
                const entries = {
                    (0x10 &&& 0xf0, 5..6): port(1);
                    (0x11, _): port(2);
                    (_, 9): drop();
                }
                const default_action = port(3);
            }
            table r {
                key = { hdr.h.b: lpm; }
                actions = { port; NoAction; }
                const entries = {
                    0 &&& 0: NoAction();
                    0x0a000000 &&& 0xff000000: port(4);
                    0x0a0b0000 &&& 0xffff0000: port(5);
                }
            }",
        body: "t.apply(); r.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let to = |a, b, d| packet(a, b, 0, d, 0, 0);
    chooses(
        &program,
        &[
            (to(0x11, 0, 5), Some(1)),
            (to(0x11, 0, 7), Some(2)),
            (to(0x12, 0, 7), Some(3)),
            (to(0x12, 0, 9), None),
            (to(0, 0x0a0b_0001, 0), Some(5)),
            (to(0, 0x0a0c_0001, 0), Some(4)),
        ],
    );
}

#[test]
fn initial_entries_and_default_actions_can_be_changed() {
    let parts = Parts {
        locals: "table t { key = { hdr.h.a: exact; } actions = { port; drop; }
                           entries = { 1: port(1); } default_action = drop(); }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    chooses(&program, &[(a(1), Some(1)), (a(2), None)]);
    program.write("t 2 -> port(2)\nt default -> port(3)");
    chooses(&program, &[(a(1), Some(1)), (a(2), Some(2)), (a(4), Some(3))]);
}

#[test]
fn headers_that_become_valid_or_invalid_change_the_length() {
    let parts = Parts {
        body: "if (hdr.h.e == 1) { hdr.x.setValid(); hdr.x.v = hdr.h.d; }
               if (hdr.h.e == 2) { hdr.h.setInvalid(); hdr.x.setValid(); hdr.x.v = 0xabcd; }
               if (hdr.h.e == 3) { hdr.x = { 7 }; hdr.x.setInvalid(); }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |e, rest: &[u8]| [&packet(1, 2, 3, 4, e, 5)[..], rest].concat();
    let rest = [0x55; 20];
    sends(
        &program,
        &[
            (with(0, &rest), Some((0, with(0, &rest)))),
            (with(1, &rest), Some((0, with(1, &[&[0, 4][..], &rest].concat())))),
            (with(2, &rest), Some((0, [&[0xab, 0xcd][..], &rest].concat()))),
            (with(3, &rest), Some((0, with(3, &rest)))),
        ],
    );
}

#[test]
fn a_stack_is_parsed_pushed_and_popped() {
    let parts = Parts {
        states: "state next { transition select(hdr.h.e) { 0: accept; default: labels; } }
            state labels {
                b.extract(hdr.s.next);
                transition select(hdr.s.last.last) { 0: labels; default: accept; }
            }",
        body: "if (s.parser_error == error.StackOutOfBounds) { s.egress_spec = 5; }
               if (hdr.h.f == 1) { hdr.s.push_front(1); hdr.s[0] = { 0, 0xee }; }
               if (hdr.h.f == 2) { hdr.s.pop_front(1); }
               if (hdr.h.f == 3) { hdr.s[hdr.h.d].v = 0x77; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |d, f, rest: &[u8]| [&packet(1, 2, 3, d, 1, f)[..], rest].concat();
    let (one, two) = (&[1, 0xa1][..], &[0, 0xa1, 1, 0xa2][..]);
    let four = &[0, 1, 0, 2, 0, 3, 1, 4][..];
    sends(
        &program,
        &[
            (with(0, 0, one), Some((0, with(0, 0, one)))),
            (with(0, 1, one), Some((0, with(0, 1, &[0, 0xee, 1, 0xa1])))),
            (with(0, 1, two), Some((0, with(0, 1, &[0, 0xee, 0, 0xa1, 1, 0xa2])))),
            (with(0, 2, two), Some((0, with(0, 2, &[1, 0xa2])))),
            (with(1, 3, two), Some((0, with(1, 3, &[0, 0xa1, 1, 0x77])))),
            // Three of four labels fit; the rest is payload.
            (with(0, 0, four), Some((5, with(0, 0, four)))),
            // The first of three labels is lost.
            (with(0, 1, &four[2..]), Some((0, with(0, 1, &[0, 0xee, 0, 2, 0, 3])))),
        ],
    );
}

#[test]
fn checksums_are_verified_and_updated() {
    let data = "{ hdr.h.a, hdr.h.b, hdr.h.c, hdr.h.e, hdr.h.f }, hdr.h.d, HashAlgorithm.csum16);";
    let parts = Parts {
        body: "if (s.checksum_error == 1) { s.egress_spec = 3; } hdr.h.f = hdr.h.f - 1;",
        checksums: [
            &format!("verify_checksum(hdr.h.e != 0xff, {data}"),
            &format!("update_checksum(true, {data}"),
        ],
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let sum = |a, b, c, e, f| {
        let mut bytes = packet(a, b, c, 0, e, f);
        bytes.drain(12..14);
        internet_checksum(&bytes)
    };
    let with = |a, b, c, e, f| packet(a, b, c, sum(a, b, c, e, f), e, f);
    let mut cases = Vec::new();
    for (a, b, c, e, f) in [
        (1, 2, 3, 4, 5),
        (u32::MAX, u32::MAX, u32::MAX, 255, 255),
        (0, 0, 0, 0, 1),
        (0xfeed_beef, 0x1234_5678, 0x9abc_def0, 0x80, 0x7f),
    ] {
        cases.push((with(a, b, c, e, f), Some((0, with(a, b, c, e, f - 1)))));
        let wrong = packet(a, b, c, sum(a, b, c, e, f) ^ 0x10, e, f);
        let port = if e == 255 { 0 } else { 3 };
        cases.push((wrong, Some((port, with(a, b, c, e, f - 1)))));
    }
    sends(&program, &cases);
}

#[test]
fn hashes_are_those_of_their_algorithms() {
    let parts = Parts {
        body: "bit<32> r; bit<16> q; bit<16> k;
            hash(r, HashAlgorithm.crc32, 32w0, { hdr.h.a, hdr.h.b }, 64w0x100000000);
            hash(q, HashAlgorithm.crc16, 16w0, { hdr.h.a, hdr.h.b }, 32w0x10000);
            hash(k, HashAlgorithm.csum16, 16w100, { hdr.h.a, hdr.h.b }, 32w7);
            hdr.h.c = r; hdr.h.d = q; hdr.h.f = (bit<8>)k;",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let cases: Vec<_> = [(1, 2), (0xdead_beef, 0), (u32::MAX, 0x0102_0304)]
        .map(|(a, b): (u32, u32)| {
            let bytes = [a.to_be_bytes(), b.to_be_bytes()].concat();
            let wide = !crc(&bytes, 0xedb8_8320, u32::MAX);
            let narrow = crc(&bytes, 0xa001, 0) as u16;
            let key = 100 + (internet_checksum(&bytes) % 7) as u8;
            (packet(a, b, 9, 9, 9, 9), Some((0, packet(a, b, wide, narrow, 9, key))))
        })
        .into();
    sends(&program, &cases);
}

#[test]
fn counters_and_registers_keep_their_values() {
    let parts = Parts {
        locals: "counter(4, CounterType.packets_and_bytes) n;
                 register<bit<32>>(2) r;
                 register<int<8>>(1) i;",
        body: "n.count((bit<32>)hdr.h.e);
               bit<32> old; r.read(old, (bit<32>)hdr.h.f);
               r.write((bit<32>)hdr.h.f, old + hdr.h.a);
               hdr.h.b = old;
               int<8> v; i.read(v, 0); hdr.h.c = (bit<32>)(bit<8>)(v >> 1); i.write(0, v - 3);",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let to = |a, b, c, e, f| packet(a, b, c, 0, e, f);
    sends(
        &program,
        &[
            (to(5, 0, 0, 1, 0), Some((0, to(5, 0, 0, 1, 0)))),
            // -3 / 2 is -2 by an arithmetic shift.
            (to(6, 0, 0, 1, 1), Some((0, to(6, 0, 0xfe, 1, 1)))),
            (to(7, 0, 0, 3, 0), Some((0, to(7, 5, 0xfd, 3, 0)))),
            // Accesses beyond the end of the register and of the counter have no effect.
            (to(1, 9, 0, 4, 2), Some((0, to(1, 0, 0xfb, 4, 2)))),
            (to(1, 0, 0, 3, 0), Some((0, to(1, 12, 0xfa, 3, 0)))),
        ],
    );
    let count = |at| {
        let values = program.element("I_n", at);
        let sum = |from: usize| values.iter().map(|one| number(&one[from..from + 8])).sum::<u64>();
        (sum(0), sum(8))
    };
    assert_eq!([0, 1, 2, 3].map(count), [(0, 0), (2, 32), (0, 0), (2, 32)]);
}

#[test]
fn saturating_arithmetic_stops_at_limits() {
    let parts = Parts {
        locals: "action add(inout bit<8> to, in bit<8> with) { to = to |+| with; }",
        body: "add(hdr.h.e, hdr.h.f);
               hdr.h.d = hdr.h.d |-| 10;
               int<8> x = (int<8>)hdr.h.a[7:0]; int<8> y = (int<8>)hdr.h.a[15:8];
               hdr.h.b[7:0] = (bit<8>)(x |+| y); hdr.h.b[15:8] = (bit<8>)(x |-| y);",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    sends(
        &program,
        &[
            (packet(0x017f, 0, 0, 9, 200, 56), Some((0, packet(0x017f, 0x7e7f, 0, 0, 255, 56)))),
            (packet(0x0180, 0, 0, 11, 200, 55), Some((0, packet(0x0180, 0x8081, 0, 1, 255, 55)))),
            (packet(0x8000, 0, 0, 10, 1, 2), Some((0, packet(0x8000, 0x7f80, 0, 0, 3, 2)))),
        ],
    );
}

#[test]
fn slices_are_read_and_written() {
    let parts = Parts {
        body: "hdr.h.a[11:4] = hdr.h.b[31:24];
               hdr.h.c[23:8][11:4] = hdr.h.e;
               hdr.h.d[15:15] = hdr.h.f[0:0];
               hdr.h.b[3:0] += 15;",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    sends(
        &program,
        &[(
            packet(0xffff_ffff, 0x5a00_0003, 0, 0x1234, 0xc3, 1),
            Some((0, packet(0xffff_f5af, 0x5a00_0002, 0x000c_3000, 0x9234, 0xc3, 1))),
        )],
    );
}

#[test]
fn signed_numbers_keep_their_sign() {
    let parts = Parts {
        body: "int<8> x = (int<8>)hdr.h.e; int<8> y = (int<8>)hdr.h.f;
               if (x < y) { s.egress_spec = 1; }
               int<16> wide = (int<16>)x;
               hdr.h.d = (bit<16>)(wide * (int<16>)y);
               hdr.h.a = (bit<32>)(bit<8>)(x >> 2);
               hdr.h.b = (bit<32>)(int<32>)(-x);",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let (minus, least) = (0xffu8, 0x80u8);
    sends(
        &program,
        &[
            (packet(0, 0, 0, 0, minus, 3), Some((1, packet(0xff, 1, 0, 0xfffd, minus, 3)))),
            (
                packet(0, 0, 0, 0, least, minus),
                Some((1, packet(0xe0, 0xffff_ff80, 0, 128, least, minus))),
            ),
            (packet(0, 0, 0, 0, 7, minus), Some((0, packet(1, 0xffff_fff9, 0, 0xfff9, 7, minus)))),
        ],
    );
}

#[test]
fn exit_and_return_copy_results_back() {
    let parts = Parts {
        locals: "action stop(inout bit<8> x) { x = x + 1; if (x == 5) { exit; } x = x + 10; }
                 action leave(inout bit<8> x) { x = 9; if (hdr.h.f == 1) { return; } x = 8; }",
        body: "stop(hdr.h.e); leave(hdr.h.e); hdr.h.d = 7;
               if (hdr.h.f == 2) { return; } hdr.h.c = 6;",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    sends(
        &program,
        &[
            (packet(0, 0, 0, 0, 4, 0), Some((0, packet(0, 0, 0, 0, 5, 0)))),
            (packet(0, 0, 0, 0, 3, 1), Some((0, packet(0, 0, 6, 7, 9, 1)))),
            (packet(0, 0, 0, 0, 3, 2), Some((0, packet(0, 0, 0, 7, 8, 2)))),
        ],
    );
}

#[test]
fn a_switch_follows_the_action_that_ran() {
    let parts = Parts {
        locals: "action one() { hdr.h.e = 1; } action two(bit<8> x) { hdr.h.e = x; }
                 table t { key = { hdr.h.a: exact; } actions = { one; two; port; NoAction; } }
                 table u { key = { hdr.h.b: exact; } actions = { port; } }",
        body: "switch (t.apply().action_run) {
                   one: { hdr.h.d = 10; }
                   two:
                   port: { hdr.h.d = 20; }
                   default: { hdr.h.d = 30; }
               }
               if (u.apply().hit) { hdr.h.c = 1; } else if (u.apply().miss) { hdr.h.c = 2; }
               switch (hdr.h.f) { 1: 2: { hdr.h.f = 0x22; } 3: { hdr.h.f = 0x33; } }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write("t 1 -> one()\nt 2 -> two(x=0xaa)\nt 3 -> port(3)\nu 5 -> port(6)");
    sends(
        &program,
        &[
            (packet(1, 0, 0, 0, 0, 1), Some((0, packet(1, 0, 2, 10, 1, 0x22)))),
            (packet(2, 0, 0, 0, 0, 2), Some((0, packet(2, 0, 2, 20, 0xaa, 0x22)))),
            (packet(3, 0, 0, 0, 0, 3), Some((3, packet(3, 0, 2, 20, 0, 0x33)))),
            (packet(4, 5, 0, 0, 0, 4), Some((6, packet(4, 5, 1, 30, 0, 4)))),
        ],
    );
}

#[test]
fn parsers_look_ahead_advance_and_call_others() {
    let parts = Parts {
        top: "struct Two { bit<4> x; bit<12> y; }
              parser Sub(packet_in b, inout Hs hdr, in bit<8> kind) {
                  state start { transition select(kind) { 7: take; default: accept; } }
                  state take { b.extract(hdr.x); transition accept; }
              }",
        states: "Sub() sub;
            state next {
                Two ahead = b.lookahead<Two>();
                m.m = (bit<8>)ahead.x; m.w = (bit<16>)ahead.y;
                transition select(hdr.h.e, hdr.h.f) {
                    (1, _): skip;
                    (2, 4..6): computed;
                    (3, 0x10 &&& 0x30): called;
                    default: accept;
                }
            }
            state skip { b.advance(16); b.extract(hdr.x); transition accept; }
            state computed { b.advance((bit<32>)hdr.h.f * 8); b.extract(hdr.x); transition accept; }
            state called { sub.apply(b, hdr, b.lookahead<bit<8>>()); transition accept; }",
        body: "s.egress_spec = (bit<9>)m.m; hdr.h.d = m.w;
               if (s.parser_error == error.PacketTooShort) { s.egress_spec = 100; }
               if (hdr.x.isValid()) { hdr.h.a = (bit<32>)hdr.x.v; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let rest: Vec<u8> = (0x71..0x7a).collect();
    let with = |a, d, e, f, rest: &[u8]| [&packet(a, 0, 0, d, e, f)[..], rest].concat();
    sends(
        &program,
        &[
            (with(0, 0, 0, 0, &rest), Some((7, with(0, 0x172, 0, 0, &rest)))),
            // The sent packet lacks the bytes that the parser skipped.
            (with(0, 0, 1, 0, &rest), Some((7, with(0x7374, 0x172, 1, 0, &rest[2..])))),
            (with(0, 0, 2, 5, &rest), Some((7, with(0x7677, 0x172, 2, 5, &rest[5..])))),
            (with(0, 0, 2, 7, &rest), Some((7, with(0, 0x172, 2, 7, &rest)))),
            (with(0, 0, 3, 0x1f, &rest), Some((7, with(0, 0x172, 3, 0x1f, &rest)))),
            (with(0, 0, 3, 0x1f, &[7, 8, 9]), Some((0, with(0x0708, 0x708, 3, 0x1f, &[7, 8, 9])))),
            (with(0, 0, 1, 0, &[1]), Some((100, with(0, 0, 1, 0, &[1])))),
            (with(0, 0, 2, 6, &[1, 2, 3]), Some((100, with(0, 0x102, 2, 6, &[1, 2, 3])))),
        ],
    );
}

#[test]
fn a_value_set_has_the_members_of_its_entries() {
    let parts = Parts {
        states: "value_set<bit<16>>(4) known;
            state next { transition select(hdr.h.d) { known: found; default: accept; } }
            state found { m.m = 1; transition accept; }",
        body: "s.egress_spec = (bit<9>)m.m;",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let to = |d| packet(0, 0, 0, d, 0, 0);
    chooses(&program, &[(to(0x800), Some(0))]);
    program.write("known 0x800\nknown 7");
    chooses(&program, &[(to(0x800), Some(1)), (to(7), Some(1)), (to(8), Some(0))]);
}

#[test]
fn controls_copy_parameters_in_and_out() {
    let parts = Parts {
        top: "control Add(inout bit<8> x, in bit<8> y, out bit<16> sum) {
                  apply { x = x + y; sum = (bit<16>)x + (bit<16>)y; }
              }
              control Swap(inout H one, inout H two) {
                  apply { one.e = two.f; two.f = one.f + 1; }
              }
              control Set(inout S one) { apply { one.v = 0x99; } }
              bit<8> bump(inout bit<8> x) { x = x + 1; return x; }",
        states: "state next { b.extract(hdr.s.next); b.extract(hdr.s.next); transition accept; }",
        locals: "Add() add; Swap() swap; Set() set;",
        body: "if (hdr.h.a == 1) { add.apply(hdr.h.e, hdr.h.e, hdr.h.d); }
               if (hdr.h.a == 2) { swap.apply(hdr.h, hdr.h); }
               if (hdr.h.a == 3) { set.apply(hdr.s[hdr.h.e]); }
               if (hdr.h.a == 4) { hdr.s[bump(hdr.h.e)].v = bump(hdr.h.e); }
               if (hdr.h.a == 5) { hdr.h.f = bump(hdr.h.e) + (bump(hdr.h.e) << 4); }
               if (hdr.h.a == 6) { hdr.s[bump(hdr.h.e)].v += 3; }
               if (hdr.h.a == 7) { add.apply(hdr.s[hdr.h.e].v, 1, hdr.h.d); }
               if (hdr.h.a == 8 && (bump(hdr.h.e) == 2 || bump(hdr.h.e) == 1)) { hdr.h.f = 1; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with =
        |a, d, e, f, v: [u8; 2]| [&packet(a, 0, 0, d, e, f)[..], &[0, v[0], 0, v[1]]].concat();
    sends(
        &program,
        &[
            (with(1, 0, 200, 0, [5, 6]), Some((0, with(1, 344, 144, 0, [5, 6])))),
            // Two copies of one header: the second one is copied back last.
            (with(2, 0, 1, 2, [5, 6]), Some((0, with(2, 0, 1, 3, [5, 6])))),
            (with(3, 0, 1, 0, [5, 6]), Some((0, with(3, 0, 1, 0, [5, 0x99])))),
            (with(4, 0, 0, 0, [5, 6]), Some((0, with(4, 0, 2, 0, [5, 2])))),
            (with(5, 0, 0, 0, [5, 6]), Some((0, with(5, 0, 2, 0x21, [5, 6])))),
            (with(6, 0, 0, 0, [5, 6]), Some((0, with(6, 0, 1, 0, [5, 9])))),
            (with(7, 0, 1, 0, [5, 6]), Some((0, with(7, 8, 1, 0, [5, 7])))),
            (with(8, 0, 1, 0, [5, 6]), Some((0, with(8, 0, 2, 1, [5, 6])))),
            (with(8, 0, 2, 0, [5, 6]), Some((0, with(8, 0, 4, 0, [5, 6])))),
        ],
    );
}

#[test]
fn loops_end_break_and_continue() {
    let parts = Parts {
        body: "for (bit<8> i = 0; i < 20; i = i + 1) {
                   if (i == hdr.h.e) { break; }
                   if (i[0:0] == 1) { continue; }
                   hdr.h.a = hdr.h.a + (bit<32>)i;
               }
               for (bit<8> k in 250..255) { hdr.h.b = hdr.h.b + (bit<32>)k; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let b = 250 + 251 + 252 + 253 + 254 + 255;
    sends(
        &program,
        &[
            (packet(0, 0, 0, 0, 255, 0), Some((0, packet(90, b, 0, 0, 255, 0)))),
            (packet(100, 1, 0, 0, 5, 0), Some((0, packet(106, b + 1, 0, 0, 5, 0)))),
        ],
    );
}

#[test]
fn variable_headers_keep_their_length() {
    let parts = Parts {
        states: "state next { transition select(hdr.h.e) { 0: accept; default: variable; } }
            state variable { b.extract(hdr.l, (bit<32>)hdr.h.f); transition accept; }",
        body: "if (s.parser_error == error.HeaderTooShort) { s.egress_spec = 1; }
               if (s.parser_error == error.ParserInvalidArgument) { s.egress_spec = 2; }
               if (s.parser_error == error.PacketTooShort) { s.egress_spec = 3; }
               L copy = hdr.l; copy.n = copy.n + 1;
               if (hdr.l.isValid() && copy.v == hdr.l.v) { hdr.h.d = 0xbeef; hdr.l = copy; }
               if (hdr.h.c == 1) { hdr.x.setValid(); hdr.x.v = 0x1111; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |c, d, f, rest: &[u8]| [&packet(0, 0, c, d, 1, f)[..], rest].concat();
    let rest: Vec<u8> = (1..20).collect();
    let mut next = rest.clone();
    next[0] = 2;
    let mut cases = Vec::new();
    for bytes in 0..=8 {
        let bits = bytes * 8;
        cases.push((with(0, 0, bits, &rest), Some((0, with(0, 0xbeef, bits, &next)))));
        let grown = [&[0x11, 0x11][..], &next].concat();
        cases.push((with(1, 0, bits, &rest), Some((0, with(1, 0xbeef, bits, &grown)))));
    }
    cases.push((with(0, 0, 72, &rest), Some((1, with(0, 0, 72, &rest)))));
    cases.push((with(0, 0, 12, &rest), Some((2, with(0, 0, 12, &rest)))));
    cases.push((with(0, 0, 64, &rest[..8]), Some((3, with(0, 0, 64, &rest[..8])))));
    sends(&program, &cases);
}

#[test]
fn numbers_wider_than_128_bits_are_copied_and_compared() {
    let parts = Parts {
        states: "state next { transition select(hdr.h.e) { 0: accept; default: wide; } }
            state wide {
                b.extract(hdr.w);
                transition select(hdr.w.w) { 0x0102: more; default: accept; }
            }
            state more { b.extract(hdr.z); transition accept; }",
        body: "if (hdr.w.isValid() && hdr.z.isValid()) {
                   bit<200> kept = hdr.w.w;
                   if (hdr.z.w == kept) { s.egress_spec = 1; }
                   if (hdr.z.w != 200w7) { s.egress_spec = s.egress_spec + 2; }
                   hdr.h.a = hdr.z.w[199:168]; hdr.h.b = hdr.z.w[36:5];
                   hdr.h.c = (bit<32>)hdr.z.w;
                   hdr.w.w = hdr.z.w; hdr.z.w = 0xff << 190;
               }",
        checksums: [
            "",
            "update_checksum(hdr.z.isValid(), { hdr.w.w, hdr.h.e }, hdr.h.d, HashAlgorithm.csum16);",
        ],
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let wide = |start: &[u8], end: &[u8]| {
        let mut bytes = [0; 25];
        bytes[..start.len()].copy_from_slice(start);
        bytes[25 - end.len()..].copy_from_slice(end);
        bytes
    };
    let with =
        |[a, b, c]: [u32; 3], d, w: &[u8], z: &[u8]| [&packet(a, b, c, d, 1, 0)[..], w, z].concat();
    let (known, other) = (wide(&[], &[1, 2]), wide(&[9, 8, 7, 6, 5], &[0xa5, 0, 0, 0, 0x21]));
    // 0xff << 190 has its highest bits at 197 to 190; the type has 200 bits.
    let high = wide(&[0x3f, 0xc0], &[]);
    let sum = |wide: &[u8]| internet_checksum(&[wide, &[1]].concat());
    let none = [0, 0, 0];
    sends(
        &program,
        &[
            (
                with(none, 0, &known, &known),
                Some((3, with([0, 8, 0x102], sum(&known), &known, &high))),
            ),
            (
                with(none, 0, &known, &wide(&[], &[7])),
                Some((0, with([0, 0, 7], sum(&wide(&[], &[7])), &wide(&[], &[7]), &high))),
            ),
            (
                with(none, 0, &known, &other),
                Some((2, with([0x0908_0706, 0x2800_0001, 0x21], sum(&other), &other, &high))),
            ),
            (with(none, 0, &other, &known), Some((0, with(none, 0, &other, &known)))),
        ],
    );
}

#[test]
fn a_control_is_an_argument_of_others() {
    let parts = Parts {
        top: "control Step(inout bit<8> x);
              control One(inout bit<8> x) { apply { x = x + 1; } }
              control Ten(inout bit<8> x)(bit<8> by) { apply { x = x + by; } }
              control Twice(inout bit<8> x)(Step step) { apply { step.apply(x); step.apply(x); } }",
        locals: "One() one; Ten(10) ten; Twice(one) first; Twice(ten) second;",
        body: "first.apply(hdr.h.e); second.apply(hdr.h.f);",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    sends(&program, &[(packet(0, 0, 0, 0, 1, 1), Some((0, packet(0, 0, 0, 0, 3, 21))))]);
}

#[test]
fn extraction_and_advance_by_values_of_the_packet() {
    let parts = Parts {
        states:
            "state next { transition select(hdr.h.e) { 1: indexed; 2: skip; default: accept; } }
            state indexed { b.extract(hdr.s[hdr.h.f]); transition accept; }
            state skip { b.advance((bit<32>)hdr.h.f); transition accept; }",
        body: "if (hdr.s[0].isValid()) { hdr.h.a = 1; }
               if (hdr.s[2].isValid()) { hdr.h.b = 1; }
               if (s.parser_error == error.ParserInvalidArgument) { s.egress_spec = 1; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |a, b, e, f, rest: &[u8]| [&packet(a, b, 0, 0, e, f)[..], rest].concat();
    sends(
        &program,
        &[
            (with(0, 0, 1, 0, &[8, 9]), Some((0, with(1, 0, 1, 0, &[8, 9])))),
            (with(0, 0, 1, 2, &[8, 9, 7]), Some((0, with(0, 1, 1, 2, &[8, 9, 7])))),
            (with(0, 0, 2, 16, &[8, 9, 7]), Some((0, with(0, 0, 2, 16, &[7])))),
            (with(0, 0, 2, 12, &[8, 9, 7]), Some((1, with(0, 0, 2, 12, &[8, 9, 7])))),
        ],
    );
}

#[test]
fn one_header_of_a_union_is_valid() {
    let parts = Parts {
        states: "state next { transition select(hdr.h.e) { 1: x; 2: s; default: accept; } }
            state x { b.extract(hdr.u.x); transition accept; }
            state s { b.extract(hdr.u.s); transition accept; }",
        body: "if (hdr.h.f == 1) { hdr.u.s.setValid(); hdr.u.s.last = 9; hdr.u.s.v = 8; }
               if (hdr.h.f == 2) { X one; one.setValid(); one.v = 0x7777; hdr.u.x = one; }
               if (hdr.h.f == 3) { hdr.u.x.setInvalid(); }
               if (hdr.u.isValid()) { hdr.h.a = 1; }
               if (hdr.u.x.isValid()) { hdr.h.b = 1; }
               if (hdr.u.s.isValid()) { hdr.h.c = 1; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with =
        |[a, b, c]: [u32; 3], e, f, rest: &[u8]| [&packet(a, b, c, 0, e, f)[..], rest].concat();
    let none = [0, 0, 0];
    let (x, s) = ([1, 1, 0], [1, 0, 1]);
    sends(
        &program,
        &[
            (with(none, 0, 0, &[5, 6]), Some((0, with(none, 0, 0, &[5, 6])))),
            (with(none, 1, 0, &[5, 6]), Some((0, with(x, 1, 0, &[5, 6])))),
            (with(none, 2, 0, &[5, 6]), Some((0, with(s, 2, 0, &[5, 6])))),
            (with(none, 1, 1, &[5, 6]), Some((0, with(s, 1, 1, &[9, 8])))),
            (with(none, 2, 2, &[5, 6]), Some((0, with(x, 2, 2, &[0x77, 0x77])))),
            (with(none, 1, 3, &[5, 6]), Some((0, with(none, 1, 3, &[])))),
        ],
    );
}

#[test]
fn programs_in_a_scratch_map_do_the_same() {
    let parts = Parts {
        locals: "table t { key = { hdr.h.a: ternary; } actions = { port; drop; } }",
        body: "t.apply(); hdr.h.b = hdr.h.b + 1;",
        ..Parts::default()
    };
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let program = P4::load(&kernel, &clang, &parts.text(), true);
    program.write("t 1 &&& 1 -> drop()\nt * -> port(2)");
    sends(&program, &[(a(1), None), (a(2), Some((2, packet(2, 1, 0, 0, 0, 0))))]);
}

#[test]
fn a_stack_of_unions_has_a_next_element() {
    let parts = Parts {
        states: "state next {
                transition select(hdr.h.e, hdr.h.f) { (1, 1): xx; (1, 2): xs; default: accept; }
            }
            state xx { b.extract(hdr.us.next.x); b.extract(hdr.us.next.x); transition accept; }
            state xs { b.extract(hdr.us.next.x); b.extract(hdr.us.next.s); transition accept; }",
        body: "if (hdr.us[0].x.isValid()) { hdr.us[0].x.v = 0xaaaa; }
               if (hdr.us[1].x.isValid()) { hdr.us[1].x.v = 0xbbbb; }
               if (hdr.us[1].s.isValid()) { hdr.us[1].s.v = 0xcc; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |f, rest: &[u8]| [&packet(0, 0, 0, 0, 1, f)[..], rest].concat();
    sends(
        &program,
        &[
            (with(1, &[1, 2, 3, 4, 5]), Some((0, with(1, &[0xaa, 0xaa, 0xbb, 0xbb, 5])))),
            (with(2, &[1, 2, 3, 4, 5]), Some((0, with(2, &[0xaa, 0xaa, 3, 0xcc, 5])))),
        ],
    );
}

#[test]
fn a_deparser_emits_in_branches() {
    let parts = Parts {
        body: "hdr.x.setValid(); hdr.x.v = 0x0102;",
        emits: "if (hdr.h.e == 1) { b.emit(hdr.x); b.emit(hdr.h); }
                else { X own = { 7 }; b.emit(hdr.h); b.emit(own); own.v = 8; b.emit(own); }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |e| packet(0, 0, 0, 0, e, 0);
    sends(
        &program,
        &[
            (with(1), Some((0, [&[1, 2][..], &with(1)].concat()))),
            (with(2), Some((0, [&with(2)[..], &[0, 7, 0, 8]].concat()))),
        ],
    );
}

#[test]
fn structs_are_compared_with_constants() {
    let parts = Parts {
        top: "struct Pair { bit<16> d; bit<8> e; } const Pair KNOWN = { 5, 6 };",
        body: "Pair p = { hdr.h.d, hdr.h.e };
               if (p == KNOWN) { s.egress_spec = 1; } if (p != { 7, 8 }) { hdr.h.a = 1; }
               if (hdr.h.f == 1) { p = KNOWN; hdr.h.d = p.d; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |a, d, e, f| packet(a, 0, 0, d, e, f);
    sends(
        &program,
        &[
            (with(0, 5, 6, 0), Some((1, with(1, 5, 6, 0)))),
            (with(0, 5, 7, 1), Some((0, with(1, 5, 7, 1)))),
            (with(0, 7, 8, 1), Some((0, with(0, 5, 8, 1)))),
        ],
    );
}

#[test]
fn priorities_of_annotations_and_the_implicit_default_action() {
    let parts = Parts {
        locals: "action set(bit<8> n) { hdr.h.f = n; }
            table t {
                key = { hdr.h.d: ternary; }
                actions = { set; }
                const entries = {
                    0x10 &&& 0xf0: set(1) @priority(3);
                    0x11: set(2);
                    0x01 &&& 0x0f: set(3) @priority(1);
                }
            }
            table u { key = { hdr.h.e: exact; } actions = { set; NoAction; } }",
        body: "t.apply();
               switch (u.apply().action_run) { set: { hdr.h.a = 1; } NoAction: { hdr.h.a = 2; } }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write("u 1 -> set(9)");
    let with = |a, d, e, f| packet(a, 0, 0, d, e, f);
    sends(
        &program,
        &[
            (with(0, 0x12, 0, 0), Some((0, with(2, 0x12, 0, 1)))),
            (with(0, 0x11, 0, 0), Some((0, with(2, 0x11, 0, 3)))),
            (with(0, 0x21, 0, 0), Some((0, with(2, 0x21, 0, 3)))),
            (with(0, 0x22, 1, 0), Some((0, with(1, 0x22, 1, 9)))),
        ],
    );
}

#[test]
fn conditions_combine_the_hits_of_several_tables() {
    // Two keys for each kind of table, because clang treats their entries alike.
    let kinds =
        [("a: exact", "t 1"), ("a: lpm", "t 1/32"), ("a: ternary", "t 1"), ("a: range", "t 1")];
    for (first, entry) in kinds {
        for (second, other) in [("b: exact", "u 2"), ("b: ternary", "u 2")] {
            let locals = format!(
                "table t {{ key = {{ hdr.h.{first}; }} actions = {{ NoAction; }}
                            const default_action = NoAction(); }}
                 table u {{ key = {{ hdr.h.{second}; }} actions = {{ NoAction; }}
                            const default_action = NoAction(); }}"
            );
            let parts = Parts {
                locals: &locals,
                body: "bool x = t.apply().hit; bool y = u.apply().hit;
                       if (x || y) { s.egress_spec = 1; }
                       if (!x && !y) { s.egress_spec = 2; }
                       if (x != y) { hdr.h.f = 1; }",
                ..Parts::default()
            };
            let Some(program) = load(&parts) else { return };
            program.write(&format!("{entry} -> NoAction()\n{other} -> NoAction()"));
            let case =
                |a, b, port, f| (packet(a, b, 0, 0, 0, 0), Some((port, packet(a, b, 0, 0, 0, f))));
            sends(
                &program,
                &[case(1, 2, 1, 0), case(1, 3, 1, 1), case(3, 2, 1, 1), case(3, 3, 2, 0)],
            );
        }
    }
}

#[test]
fn branches_use_fields_of_one_wide_load() {
    let parts = Parts {
        top: "header K { bit<55> p; bit<48> q; bit<25> r; }
              struct All { H h; K k; }",
        states: "state next { b.extract(hdr.k); transition accept; }",
        body: "if (hdr.h.e == 1) { hdr.h.a = (bit<32>)hdr.k.q; hdr.h.f = 3; }
               else { hdr.h.a = (bit<32>)hdr.k.p; hdr.h.b = 7; }",
        emits: "b.emit(hdr.h);",
        headers: "All",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    // The fields of 128 bits, from the first one.
    let (p, q, r) = (0x12_3456_789a_bcdeu128, 0x2345_6789_abcdu128, 0x1ab_cdefu128);
    let rest = (p << 73 | q << 25 | r).to_be_bytes();
    let case = |e, a, b, f| {
        let given = [&packet(9, 9, 0, 0, e, 9)[..], &rest].concat();
        (given, Some((0, packet(a, b, 0, 0, e, f))))
    };
    sends(&program, &[case(1, q as u32, 9, 3), case(0, p as u32, 7, 9), case(2, p as u32, 7, 9)]);
}

#[test]
fn constant_entries_for_any_key_have_the_shortest_prefix() {
    let parts = Parts {
        locals: "table t { key = { hdr.h.a: lpm; } actions = { port; }
            const entries = { _: port(1); 0x100 &&& 0xffffff00: port(2); 0x105: port(4); }
            const default_action = port(3); }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let case = |number, port| (a(number), Some((port, a(number))));
    let cases = [case(5, 1), case(0x104, 2), case(0x105, 4), case(0x204, 1)];
    sends(&program, &cases);
    sends_in_dpdk(&parts.text(), &cases);
}
