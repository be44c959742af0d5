//! Tests P4 programs in the running kernel: objects that they share with the control plane, packets
//! that pass the program several times, and checksums of payloads. Expected packets are computed by
//! hand.

use crate::support;

use support::clang::clang;
use support::kernel;
use support::p4::P4;
use support::p4_parts::{
    Parts, a, chooses, crc, internet_checksum, load, packet, sends, sends_in_dpdk,
};

#[test]
fn tables_share_the_members_of_an_action_profile() {
    let parts = Parts {
        locals: "action_profile(4) members;
            table t { key = { hdr.h.a: exact; } actions = { port; drop; } implementation = members;
                      default_action = port(9); }
            table u { key = { hdr.h.b: ternary; } actions = { port; drop; }
                      implementation = members; }
            table v { key = { hdr.h.c: exact; } actions = { port; } implementation = action_profile(2);
                      const default_action = port(6); }",
        body: "if (hdr.h.e == 0) { t.apply(); } else if (hdr.h.e == 1) { u.apply(); }
               else { if (v.apply().hit) { hdr.h.f = 1; } }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write(
        "t 1 -> port(1)\nt 2 -> drop()\nt 3 -> port(3)\nt default -> port(8)
         u 1 &&& 0xff priority 1 -> port(3)\nu 0x101 priority 2 -> port(1)
         v 5 -> port(5)\nv 6 -> port(7)",
    );
    let to = |a, b, c, e, f| packet(a, b, c, 0, e, f);
    sends(
        &program,
        &[
            (a(1), Some((1, a(1)))),
            (a(2), None),
            (a(3), Some((3, a(3)))),
            (a(4), Some((8, a(4)))),
            (to(0, 0x201, 0, 1, 0), Some((3, to(0, 0x201, 0, 1, 0)))),
            (to(0, 0x101, 0, 1, 0), Some((1, to(0, 0x101, 0, 1, 0)))),
            (to(0, 0, 5, 2, 0), Some((5, to(0, 0, 5, 2, 1)))),
            (to(0, 0, 6, 2, 0), Some((7, to(0, 0, 6, 2, 1)))),
            (to(0, 0, 7, 2, 0), Some((6, to(0, 0, 7, 2, 0)))),
        ],
    );
    // A member without an action: the entry is found, and nothing runs.
    program.set("I_v_members", 0, &[0; 8]);
    let case = to(0, 0, 5, 2, 0);
    sends(&program, &[(case, Some((0, to(0, 0, 5, 2, 1))))]);
}

#[test]
fn a_selector_chooses_a_member_by_a_hash() {
    let parts = Parts {
        locals: "@max_group_size(3) action_selector(HashAlgorithm.crc16, 8, 14) members;
            table t {
                key = { hdr.h.a: exact; hdr.h.b: selector; hdr.h.d: selector; }
                actions = { port; drop; }
                implementation = members;
            }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write("t 1 -> port(1) | port(2) | port(3)\nt 2 -> port(2)\nt 3 -> port(3) | drop()");
    let mut cases = Vec::new();
    for b in [0, 1, 2, 0xffff, 0xdead_beef, 0x0a00_0001] {
        for d in [0, 80, 443] {
            let key: Vec<u8> = [&u32::to_be_bytes(b)[..], &u16::to_be_bytes(d)].concat();
            let hash = crc(&key, 0xa001, 0) & 0x3fff;
            let to = |a| packet(a, b, 0, d, 0, 0);
            cases.push((to(1), Some(1 + hash % 3)));
            cases.push((to(2), Some(2)));
            cases.push((to(3), [Some(3), None][hash as usize % 2]));
            cases.push((to(4), Some(0)));
        }
    }
    chooses(&program, &cases);
}

/// Cost of a packet at a meter, in units of 2^-16 nanoseconds. 2^60 units are five hours, too long
/// for a test to gain new tokens.
const COST: u64 = 1 << 60;

/// Returns the map value of a meter with tokens for `committed` packets at its committed rate, and
/// for `peak` packets at its peak rate. A packet takes [`COST`] tokens. `cost` is the cost of one
/// packet or byte.
fn meter(committed: u64, peak: u64, cost: u64) -> Vec<u8> {
    let (committed, peak) = (committed * COST, peak * COST);
    let fields = [0, committed, peak, cost, committed, cost, peak];
    fields.into_iter().flat_map(u64::to_ne_bytes).collect()
}

#[test]
fn meters_mark_packets_by_two_rates() {
    let parts = Parts {
        locals: "meter(3, MeterType.packets) packets;
                 meter(1, MeterType.bytes) bytes;",
        body: "bit<2> first; bit<8> second;
               packets.execute_meter((bit<32>)hdr.h.e, first);
               bytes.execute_meter(0, second);
               hdr.h.f = (bit<8>)first; hdr.h.d = (bit<16>)second;",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.set("I_packets", 0, &meter(2, 3, COST));
    // A packet of 16 bytes takes the tokens of one packet.
    program.set("I_bytes", 0, &meter(3, 5, COST >> 4));
    let with = |d, e, f, rest: &[u8]| [&packet(1, 2, 3, d, e, f)[..], rest].concat();
    let case = |e, rest: &[u8], [f, d]: [u8; 2]| {
        (with(9, e, 9, rest), Some((0, with(d.into(), e, f, rest))))
    };
    let (short, long): (&[u8], &[u8]) = (&[], &[7; 16]);
    sends(
        &program,
        &[
            case(0, long, [0, 0]),
            // One token is left of three for all bytes.
            case(0, long, [0, 1]),
            case(0, short, [1, 0]),
            case(0, short, [2, 2]),
            case(0, short, [2, 2]),
            // A meter that is not set, and one that does not exist.
            case(1, short, [0, 2]),
            case(3, short, [0, 2]),
        ],
    );
}

#[test]
fn direct_meters_mark_packets_of_their_entry() {
    let parts = Parts {
        locals: "direct_meter<bit<8>>(MeterType.packets) m;
            action set(bit<9> n) { m.read(hdr.h.f); s.egress_spec = n; }
            table t { key = { hdr.h.a: exact; } actions = { set; drop; } meters = m;
                      default_action = set(3); }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    program.write_changed("t 1 -> set(1)\nt 2 -> set(2)", "I_t", |value| {
        let at = value.len() - 56;
        value[at..].copy_from_slice(&meter(1, 2, COST));
    });
    let case = |a, colour| {
        let port = if a < 3 { a } else { 3 };
        (packet(a, 0, 0, 0, 0, 9), Some((port, packet(a, 0, 0, 0, 0, colour))))
    };
    sends(
        &program,
        &[case(1, 0), case(1, 1), case(2, 0), case(1, 2), case(2, 1), case(4, 0), case(2, 2)],
    );
}

#[test]
fn packets_are_resubmitted_as_they_came() {
    let parts = Parts {
        // Resubmission keeps field `m`, but not `w`.
        body: "hdr.h.a = hdr.h.a + 1; m.w = m.w + 1;
               if (m.m < hdr.h.e) { m.m = m.m + 1; resubmit_preserving_field_list(1); }
               hdr.h.d = m.w; hdr.h.f = m.m; s.egress_spec = (bit<9>)s.instance_type;",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let case = |e: u8| {
        let port = if e > 0 { 6 } else { 0 };
        let sent = (port, packet(6, 0, 0, 1, e, e));
        // A packet is resubmitted at most four times, and then dropped.
        (packet(5, 0, 0, 9, e, 9), Some(sent).filter(|_| e <= 4))
    };
    let cases = [case(0), case(1), case(3), case(4), case(5), case(255)];
    sends(&program, &cases);
    sends_in_dpdk(&parts.text(), &cases);
}

#[test]
fn a_field_of_a_kept_struct_is_in_the_lists_of_both() {
    let parts = Parts {
        body: "if (s.instance_type == 0) {
                   m.k.x = 5; m.k.z = 7; m.l.x = 3; m.l.z = 9;
                   if (hdr.h.e == 0) { resubmit_preserving_field_list(1); }
                   if (hdr.h.e == 1) { resubmit_preserving_field_list(3); }
                   if (hdr.h.e == 2) { resubmit_preserving_field_list(2); }
               }
               hdr.h.b = m.k.x ++ m.k.z ++ m.l.x ++ m.l.z; s.egress_spec = 4;",
        ..Parts::default()
    };
    let nested = "struct K { bit<8> x; @field_list(3) bit<8> z; }
                  struct M { @field_list(1) K k; K l; ";
    let text = parts.text().replace("struct M {", nested);
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let program = P4::load(&kernel, &clang, &text, false);
    let case = |e, kept| (packet(5, 1, 0, 0, e, 0), Some((4, packet(5, kept, 0, 0, e, 0))));
    let cases = [case(0, 0x0507_0000), case(1, 0x0007_0009), case(2, 0), case(3, 0x0507_0309)];
    sends(&program, &cases);
    sends_in_dpdk(&text, &cases);
}

#[test]
fn packets_are_recirculated_as_they_left() {
    let parts = Parts {
        states: "state next { transition select(hdr.h.e) { 1: more; default: accept; } }
                 state more { b.extract(hdr.x); transition accept; }",
        body: "hdr.h.a = hdr.h.a + 1; s.egress_spec = (bit<9>)m.m;
               m.m = m.m + (bit<8>)s.instance_type;
               if (hdr.h.e == 0) { hdr.h.e = 1; hdr.x.setValid(); hdr.x.v = 0xabcd; }
               else { hdr.h.b = (bit<32>)hdr.x.v; hdr.h.c = s.packet_length; }
               if (hdr.h.a < 8) { recirculate_preserving_field_list(1); }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |a, b, c, e, rest: &[u8]| [&packet(a, b, c, 0, e, 0)[..], rest].concat();
    let cases = [
        (with(7, 0, 0, 0, &[]), Some((0, with(8, 0, 0, 1, &[0xab, 0xcd])))),
        (with(6, 0, 0, 0, &[]), Some((0, with(8, 0xabcd, 18, 1, &[0xab, 0xcd])))),
        (with(5, 0, 0, 0, &[5]), Some((4, with(8, 0xabcd, 19, 1, &[0xab, 0xcd, 5])))),
        (with(3, 0, 0, 0, &[]), Some((12, with(8, 0xabcd, 18, 1, &[0xab, 0xcd])))),
        // A sixth round is one too many.
        (with(2, 0, 0, 0, &[]), None),
    ];
    sends(&program, &cases);
    // SWX pipelines cannot read the length of packets.
    let without_length = |(packet, sent): (Vec<u8>, Option<(u32, Vec<u8>)>)| {
        let clear = |mut bytes: Vec<u8>| {
            bytes[8..12].fill(0);
            bytes
        };
        (packet, sent.map(|(port, bytes)| (port, clear(bytes))))
    };
    let text = parts.text().replace("hdr.h.c = s.packet_length;", "");
    sends_in_dpdk(&text, &cases.map(without_length));
}

#[test]
fn digests_carry_their_receiver_and_data() {
    let parts = Parts {
        body: "digest<bit<32>>(7, hdr.h.a); digest(1, { hdr.h.b, hdr.h.e }); s.egress_spec = 2;",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    chooses(&program, &[(a(9), Some(2)), (packet(1, 2, 3, 4, 5, 6), Some(2))]);
    let words = |words: &[u32]| words.iter().flat_map(|one| one.to_ne_bytes()).collect::<Vec<_>>();
    let messages = [words(&[7, 9]), words(&[1, 0, 0]), words(&[7, 1]), words(&[1, 2, 5])];
    assert_eq!(program.messages("digest_messages"), messages);
}

#[test]
fn checksums_cover_the_payload() {
    let data = "{ hdr.h.a, hdr.h.e }, hdr.h.d, HashAlgorithm.csum16);";
    let even = "{ hdr.h.a, hdr.h.e, hdr.h.f }, hdr.h.d, HashAlgorithm.csum16);";
    let parts = Parts {
        body: "if (s.checksum_error == 1) { s.egress_spec = 3; } hdr.h.a = hdr.h.a + 1;",
        checksums: [
            &format!("verify_checksum_with_payload(true, {data}"),
            &format!("update_checksum_with_payload(hdr.h.f != 1, {even}"),
        ],
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let mut cases = Vec::new();
    for length in [0, 1, 2, 3, 14, 15, 16, 17, 31, 33, 64, 1000, 1481, 3001] {
        let payload: Vec<u8> = (0..length).map(|at: u32| (at * 37 + 200) as u8).collect();
        let odd = [&5u32.to_be_bytes()[..], &[4], &payload].concat();
        let even = |f| [&6u32.to_be_bytes()[..], &[4, f], &payload].concat();
        let with = |a, d, f| [&packet(a, 0, 0, d, 4, f)[..], &payload].concat();
        let (right, new) = (internet_checksum(&odd), internet_checksum(&even(2)));
        cases.push((with(5, right, 2), Some((0, with(6, new, 2)))));
        cases.push((with(5, right, 1), Some((0, with(6, right, 1)))));
        cases.push((with(5, right ^ 0x8000, 1), Some((3, with(6, right ^ 0x8000, 1)))));
    }
    sends(&program, &cases);
}

#[test]
fn entries_of_the_program_repeat_arguments_with_a_direction() {
    let parts = Parts {
        locals: "action set(inout bit<8> f, bit<9> n) { f = f + 1; s.egress_spec = n; }
            table t { key = { hdr.h.a: exact; } actions = { set(hdr.h.f); drop; }
                      entries = { 1: set(hdr.h.f, 4); } default_action = drop(); }",
        body: "t.apply();",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    sends(&program, &[(a(1), Some((4, packet(1, 0, 0, 0, 0, 1)))), (a(2), None)]);
}

#[test]
fn an_invalid_header_in_a_union_makes_all_invalid() {
    let parts = Parts {
        states: "state next { transition select(hdr.h.e) { 1: x; 2: s; default: accept; } }
            state x { b.extract(hdr.u.x); transition accept; }
            state s { b.extract(hdr.u.s); transition accept; }",
        body: "hdr.u.x = hdr.x; if (hdr.u.isValid()) { hdr.h.a = 1; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |e, rest: &[u8]| [&packet(0, 0, 0, 0, e, 0)[..], rest].concat();
    sends(
        &program,
        &[
            (with(1, &[5, 6, 7]), Some((0, with(1, &[7])))),
            (with(2, &[5, 6, 7]), Some((0, with(2, &[7])))),
        ],
    );
}
