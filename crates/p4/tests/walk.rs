//! Tests of runs of a program on a packet: states, headers and tables.

use std::collections::BTreeMap;

use slowpath_p4::walk::{Content, Walk, walk};
use slowpath_p4::xdp::entries::{parse, updates};
use slowpath_p4::xdp::{Options, to_c};

use crate::support::run;

/// Runs a P4 program on a packet, with the table entries in the text `entries`.
fn walked(text: &str, packet: &[u8], entries: &str) -> Walk {
    let (tokens, sources) = run(text).map_err(|(error, all)| error.render(&all)).expect("tokens");
    let shown = |error: slowpath_p4::P4Error| error.render(&sources);
    let program = slowpath_p4::parse(&tokens).map_err(shown).expect("a program");
    let checked = slowpath_p4::check(&program).map_err(|all| shown(all[0].clone())).expect("types");
    let made = to_c(&program, &checked, &sources, Options::default()).map_err(shown).expect("C");
    let mut content: Content = BTreeMap::new();
    let entries = parse(entries).expect("entries");
    for one in updates(&made.layout, &entries).expect("entries that fit") {
        content.entry(one.map).or_default().push((one.key, Some(one.value)));
    }
    walk(&program, &checked, (packet, 7), &made.layout, &content).expect("a known architecture")
}

/// Returns a P4 filter program with the given header types, headers, parser states and control.
fn filter(types: &str, headers: &str, states: &str, control: &str) -> String {
    format!(
        "#include <core.p4>\n#include <ebpf_model.p4>\n{types}
        struct Hs {{ {headers} }}
        parser P(packet_in b, out Hs h) {{ {states} }}
        control C(inout Hs h, out bool pass) {{ {control} }}
        ebpfFilter(P(), C()) main;"
    )
}

fn states(text: &str, packet: &[u8]) -> String {
    let walk = walked(text, packet, "");
    let end = walk.error.map_or(String::new(), |error| format!(" {error}"));
    let end = walk.unknown.map_or(end, |(_, why)| format!(" {why}"));
    format!("{}{end}", walk.states.join(" "))
}

/// Returns the extracted headers with the offset, width and value of each field.
fn headers(text: &str, packet: &[u8]) -> Vec<String> {
    let bit = |at: u64| u128::from(packet[(at / 8) as usize] >> (7 - at % 8) & 1);
    let walk = walked(text, packet, "");
    let of = |header: &slowpath_p4::walk::Header| {
        let fields = header.fields.iter().map(|field| {
            let value = (field.at..field.at + field.bits).fold(0, |value, at| value << 1 | bit(at));
            format!(" {}@{}+{}={value:x}", field.name, field.at, field.bits)
        });
        format!("{}{}", header.name, fields.collect::<String>())
    };
    walk.headers.iter().map(of).collect()
}

const TYPES: &str = "header E { bit<8> kind; } header T { bit<4> a; bit<12> b; }
    header V { bit<8> size; varbit<32> rest; } header_union U { E e; T t; }";

#[test]
fn a_select_compares_values_masks_and_ranges() {
    let text = filter(
        TYPES,
        "E e; T t;",
        "state start { b.extract(h.e);
            transition select(h.e.kind, h.e.kind[3:0]) {
                (1, _): one; (0x80 &&& 0xf0, 3): masked; (10..20, default): ranged; } }
         state one { transition accept; } state masked { b.extract(h.t); transition reject; }
         state ranged { transition accept; }",
        "apply { pass = true; }",
    );
    assert_eq!(states(&text, &[1]), "start one accept");
    assert_eq!(states(&text, &[0x83, 0, 0]), "start masked reject NoError");
    assert_eq!(states(&text, &[0x83, 0]), "start masked reject PacketTooShort");
    assert_eq!(states(&text, &[20]), "start ranged accept");
    assert_eq!(states(&text, &[0x84]), "start reject NoMatch");
    assert_eq!(states(&text, &[]), "start reject PacketTooShort");
    assert_eq!(headers(&text, &[0x83, 0x5a, 0xbc]), ["h.e kind@0+8=83", "h.t a@8+4=5 b@12+12=abc"]);
}

#[test]
fn stacks_move_on_and_end() {
    let text = filter(
        TYPES,
        "E[2] e; U[2] u;",
        "state start { b.extract(h.e.next); transition select(h.e.last.kind) { 0: union; _: start; } }
         state union { b.extract(h.u.next.t); transition accept; }",
        "apply { pass = h.e[1].isValid() && h.u[0].t.isValid(); }",
    );
    assert_eq!(states(&text, &[0, 1, 2]), "start union accept");
    assert_eq!(states(&text, &[1, 0, 1, 2]), "start start union accept");
    assert_eq!(states(&text, &[1, 1, 0]), "start start start reject StackOutOfBounds");
    assert_eq!(
        headers(&text, &[1, 0, 0x12, 0x34])[1..],
        ["h.e[1] kind@8+8=0", "h.u[0].t a@16+4=1 b@20+12=234"]
    );
}

#[test]
fn a_varbit_has_the_width_of_its_argument() {
    let text = filter(
        TYPES,
        "V v;",
        "state start { bit<8> ahead = b.lookahead<bit<8>>(); b.advance(8);
            b.extract(h.v, (bit<32>)ahead); transition accept; }",
        "apply { pass = true; }",
    );
    assert_eq!(
        headers(&text, &[16, 9, 0xab, 0xcd]),
        ["packet.advance @0+8=10", "h.v size@8+8=9 rest@16+16=abcd"]
    );
    assert_eq!(states(&text, &[40, 0, 0, 0, 0, 0, 0]), "start reject HeaderTooShort");
    assert_eq!(states(&text, &[4, 0, 0]), "start reject ParserInvalidArgument");
}

#[test]
fn parsers_in_parsers_have_their_names() {
    let text = filter(
        &format!(
            "{TYPES} bit<8> twice(in bit<8> x) {{ return x << 1; }}
             parser Inner(packet_in b, out E e, inout bit<8> sum) {{
                state start {{ b.extract(e); sum = sum + twice(e.kind); transition accept; }} }}"
        ),
        "E a; E c;",
        "Inner() inner; bit<8> sum = 1;
         state start { inner.apply(b, h.a, sum); inner.apply(b, h.c, sum);
            verify(sum == 13, error.NoMatch); transition accept; }",
        "apply { pass = true; }",
    );
    assert_eq!(states(&text, &[2, 4]), "start inner.start inner.start accept");
    assert_eq!(states(&text, &[2, 5]), "start inner.start inner.start reject NoMatch");
    assert_eq!(headers(&text, &[2, 4]), ["h.a kind@0+8=2", "h.c kind@8+8=4"]);
}

#[test]
fn a_value_set_ends_the_walk() {
    let text = filter(
        TYPES,
        "E e;",
        "value_set<bit<8>>(4) known;
         state start { b.extract(h.e); transition select(h.e.kind) { known: accept; } }",
        "apply { pass = true; }",
    );
    assert_eq!(states(&text, &[1]), "start a value set, whose members the control plane sets,");
}

/// Returns a v1model program whose ingress control has the declarations `locals` and the statements
/// `body`.
fn switch(locals: &str, body: &str) -> String {
    format!(
        "#include <core.p4>\n#include <v1model.p4>
        header H {{ bit<32> ip; bit<16> port; bit<8> kind; }}
        struct Hs {{ H h; }} struct M {{ bit<8> class; }}
        parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t s) {{
            state start {{ b.extract(hdr.h); transition accept; }} }}
        control V(inout Hs hdr, inout M m) {{ apply {{}} }}
        control E(inout Hs hdr, inout M m, inout standard_metadata_t s) {{ apply {{}} }}
        control D(packet_out b, in Hs hdr) {{ apply {{ b.emit(hdr); }} }}
        control I(inout Hs hdr, inout M m, inout standard_metadata_t s) {{
            action drop() {{ mark_to_drop(s); }}
            action class(bit<8> number) {{ m.class = number; }}
            {locals} apply {{ {body} }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    )
}

fn tables(text: &str, packet: &[u8], entries: &str) -> Vec<String> {
    let walk = walked(text, packet, entries);
    let of = |one: &slowpath_p4::walk::TableRun| {
        let args = one.args.iter().map(|(name, value)| format!(" {name}={value}"));
        let hit = if one.hit { "hit" } else { "miss" };
        format!("{} {hit} {}{}", one.table, one.action, args.collect::<String>())
    };
    walk.tables.iter().map(of).chain(walk.unknown.map(|(_, why)| why)).collect()
}

/// A packet with the address 10.0.0.1, the port 80 and the kind 5.
const PACKET: [u8; 7] = [10, 0, 0, 1, 0, 80, 5];

#[test]
fn entries_of_each_kind_are_found() {
    let found = |key: &str, entries: &str| {
        let text = switch(
            &format!(
                "table t {{ key = {{ {key} }} actions = {{ class; drop; }} default_action = drop(); }}"
            ),
            "t.apply();",
        );
        tables(&text, &PACKET, entries)
    };
    let (hit, miss) = (["I.t hit class number=0x7"], ["I.t miss drop"]);
    assert_eq!(found("hdr.h.port: exact;", "t 80 -> class(7)"), hit);
    assert_eq!(found("hdr.h.port: exact;", "t 81 -> class(7)"), miss);
    let lpm = "hdr.h.port: exact; hdr.h.ip: lpm;";
    assert_eq!(found(lpm, "t 80, 10.0.0.0/8 -> class(7)\nt 80, * -> class(1)"), hit);
    assert_eq!(found(lpm, "t 81, 10.0.0.0/8 -> class(7)\nt 80, 10.0.0.2/32 -> class(1)"), miss);
    let ternary = "hdr.h.ip: ternary; hdr.h.kind: optional;";
    let entries = "t 10.0.0.0 &&& 0xff000000, * priority 1 -> class(1)
        t *, 5 priority 3 -> class(7)
        t *, 6 priority 9 -> class(2)";
    assert_eq!(found(ternary, entries), hit);
    assert_eq!(found(ternary, "t 11.0.0.0 &&& 0xff000000, * -> class(1)"), miss);
    let range = "hdr.h.port: range; hdr.h.kind: exact;";
    assert_eq!(found(range, "t 81..90, 5 -> class(1)\nt 80..80, 5 -> class(7)"), hit);
    assert_eq!(found(range, "t 80..90, 6 -> class(1)"), miss);
    assert_eq!(found("hdr.h.port: exact;", "t default -> class(7)"), ["I.t miss class number=0x7"]);
}

#[test]
fn constant_entries_have_priorities() {
    let found = |key: &str, entries: &str| {
        let text = switch(
            &format!(
                "table t {{ key = {{ {key} }} actions = {{ class; @defaultonly NoAction; }}
                    {entries} const default_action = NoAction(); }}"
            ),
            "t.apply();",
        );
        tables(&text, &PACKET, "")
    };
    let two = "const entries = { 0x0a000000 &&& 0xff000000: class(1); 0x0a000001: class(7); }";
    assert_eq!(found("hdr.h.ip: lpm;", two), ["I.t hit class number=0x7"]);
    assert_eq!(found("hdr.h.ip: ternary;", two), ["I.t hit class number=0x1"]);
    let late = "const entries = { priority = 2: _: class(1); priority = 9: 0x0a000001: class(7); }";
    assert_eq!(found("hdr.h.ip: ternary;", late), ["I.t hit class number=0x7"]);
    let none = "const entries = { 0x0b000001: class(7); }";
    assert_eq!(found("hdr.h.ip: exact;", none), ["I.t miss NoAction"]);
}

#[test]
fn results_of_tables_and_metadata_decide_on_later_tables() {
    let text = switch(
        "table a { key = { hdr.h.port: exact; } actions = { class; drop; } const default_action = drop(); }
         table b { key = { m.class: exact; } actions = { class; NoAction; } }
         table c { actions = { drop; } default_action = drop(); }",
        "switch (a.apply().action_run) {
            class: { if (b.apply().hit) { exit; } c.apply(); }
            drop: { return; }
         }
         b.apply();",
    );
    assert_eq!(tables(&text, &PACKET, ""), ["I.a miss drop"]);
    assert_eq!(
        tables(&text, &PACKET, "a 80 -> class(4)\nb 4 -> class(1)"),
        ["I.a hit class number=0x4", "I.b hit class number=0x1"]
    );
    assert_eq!(
        tables(&text, &PACKET, "a 80 -> class(4)\nb 5 -> class(1)"),
        ["I.a hit class number=0x4", "I.b miss NoAction", "I.c miss drop", "I.b miss NoAction"]
    );
}

#[test]
fn decisions_on_results_of_externs_end_the_walk() {
    let text = switch(
        "register<bit<8>>(8) seen; table t { actions = { drop; } default_action = drop(); }",
        "t.apply(); seen.read(m.class, 0); if (m.class == 0) { t.apply(); }",
    );
    assert_eq!(
        tables(&text, &PACKET, ""),
        ["I.t miss drop", "a condition that the packet does not determine"]
    );
}

#[test]
fn results_of_actions_are_copied_out_before_an_exit() {
    let text = switch(
        "action first(out bit<8> to) { to = 9; exit; }
         table a { actions = { first(m.class); } const default_action = first(m.class); }",
        "a.apply();",
    )
    .replace(
        "control E(inout Hs hdr, inout M m, inout standard_metadata_t s) { apply {} }",
        "
        control E(inout Hs hdr, inout M m, inout standard_metadata_t s) {
            action done() {} table b { actions = { done; } const default_action = done(); }
            apply { if (m.class == 9) { b.apply(); } } }",
    );
    assert_eq!(tables(&text, &PACKET, ""), ["I.a miss first", "E.b miss done"]);
}

#[test]
fn members_of_profiles_have_the_action() {
    let of = |kind: &str| {
        let text = switch(
            &format!(
                "{kind} table t {{ key = {{ hdr.h.port: exact; hdr.h.ip: selector; }}
                    actions = {{ class; drop; }} implementation = p; }}"
            ),
            "t.apply();",
        );
        let key = if kind.contains("selector") { "" } else { "hdr.h.ip: selector; " };
        tables(&text.replace(key, ""), &PACKET, "t 80 -> class(7)")
    };
    assert_eq!(of("action_profile(16) p;"), ["I.t hit class number=0x7"]);
    assert_eq!(
        of("action_selector(HashAlgorithm.crc16, 16, 8) p;"),
        ["a selector, whose hash chooses the action,"]
    );
}

#[test]
fn checksums_and_further_rounds_end_the_walk() {
    let later = "table t { actions = { drop; } default_action = drop(); }";
    let verified = switch(later, "if (s.checksum_error == 1) { t.apply(); }").replace(
        "control V(inout Hs hdr, inout M m) { apply {} }",
        "control V(inout Hs hdr, inout M m) { apply {
            verify_checksum(true, { hdr.h.ip }, hdr.h.port, HashAlgorithm.csum16); } }
         control U(inout Hs hdr, inout M m) { apply {} }",
    );
    let verified = verified.replace("E(), V(), D()", "E(), U(), D()");
    assert_eq!(tables(&verified, &PACKET, ""), ["a condition that the packet does not determine"]);
    let again = switch(later, "resubmit_preserving_field_list(1); t.apply();");
    assert_eq!(tables(&again, &PACKET, ""), ["a further round of the packet"]);
}
