//! Tests of the translation to SWX pipelines: their text, and constructs without translation.

use std::path::Path;

use slowpath_p4::preprocess::preprocess;
use slowpath_p4::swx::layout::lines;
use slowpath_p4::swx::{Output, to_spec};
use slowpath_p4::xdp::entries::parse as parse_entries;

const START: &str = "#include <core.p4>
#include <v1model.p4>
header H { bit<4> a; bit<12> b; bit<128> w; bit<16> c; }
struct Hs { H h; }
struct M { bit<8> m; }
";

/// Returns a v1model program whose ingress control has the declarations `locals` and the statements
/// `body`.
pub fn program(locals: &str, body: &str) -> String {
    format!(
        "{START}
        parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t s) {{
            state start {{ b.extract(hdr.h); transition accept; }}
        }}
        control V(inout Hs hdr, inout M m) {{ apply {{}} }}
        control I(inout Hs hdr, inout M m, inout standard_metadata_t s) {{
            action port(bit<9> n) {{ s.egress_spec = n; }}
            {locals}
            apply {{ {body} }}
        }}
        control E(inout Hs hdr, inout M m, inout standard_metadata_t s) {{ apply {{}} }}
        control C(inout Hs hdr, inout M m) {{ apply {{}} }}
        control D(packet_out b, in Hs hdr) {{ apply {{ b.emit(hdr); }} }}
        V1Switch(P(), V(), I(), E(), C(), D()) main;"
    )
}

/// Translates a program to an SWX pipeline.
///
/// # Errors
///
/// Returns the message of the first error, with its position.
pub fn made(text: &str) -> Result<Output, String> {
    let read = preprocess(Path::new("a.p4"), text, &Default::default());
    let (tokens, sources) = read.map_err(|(fault, sources)| fault.render(&sources))?;
    let program = slowpath_p4::parse(&tokens).map_err(|fault| fault.render(&sources))?;
    let checked = slowpath_p4::check(&program).map_err(|faults| faults[0].render(&sources))?;
    to_spec(&program, &checked, &sources).map_err(|fault| fault.render(&sources))
}

fn spec(locals: &str, body: &str) -> String {
    let made = made(&program(locals, body)).unwrap_or_else(|fault| panic!("{fault}"));
    slowpath_swx::print(&made.spec)
}

#[track_caller]
fn refused(locals: &str, body: &str, expected: &str) {
    let fault = made(&program(locals, body)).expect_err("the program has no pipeline");
    assert!(fault.ends_with(&format!(": {expected} cannot be compiled for SWX yet")), "{fault}");
}

#[test]
fn examples_read_back_as_they_are_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/p4");
    let mut pipelines = 0;
    for name in ["acl", "balancer", "firewall", "router", "tunnel"] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.p4"))).unwrap();
        let made = made(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let text = slowpath_swx::print(&made.spec);
        let read = slowpath_swx::parse(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(read, made.spec, "{name}");
        pipelines += 1;
    }
    assert_eq!(pipelines, 5);
}

#[test]
fn small_and_wide_fields_become_fields_of_whole_bytes() {
    let text = spec("", "hdr.h.b = 5; s.egress_spec = (bit<9>)hdr.h.a;");
    for line in ["bit<16> a_b", "bit<64> w_1", "bit<64> w_0", "bit<16> c"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // The other bits of the common field stay.
    assert!(text.contains("and h.h.a_b 0xf000\n\tor h.h.a_b 5"), "{text}");
}

#[test]
fn headers_without_memory_get_their_own() {
    let certain = spec("", "hdr.h.c = 1;");
    assert!(!certain.contains("validate"), "{certain}");
    let copied = spec("", "H other; other.c = 1; if (hdr.h.a == 1) { hdr.h.c = other.c; }");
    assert!(copied.contains("validate h.other\n\tinvalidate h.other"), "{copied}");
}

#[test]
fn entries_become_lines_with_masks_and_order() {
    let locals = "table t { key = { hdr.h.c: range; hdr.h.b: ternary; } actions = { port; } }";
    let made = made(&program(locals, "t.apply();")).unwrap_or_else(|fault| panic!("{fault}"));
    let entries = parse_entries(
        "t 4..6, 1 &&& 3 -> port(7)\nt *, * priority 9 -> port(n=2)\nt default -> port(1)",
    )
    .unwrap();
    let texts: Vec<String> = lines(&made.layout, &entries)
        .unwrap()
        .into_iter()
        .map(|one| format!("{}{}", if one.is_default { "default " } else { "" }, one.text))
        .collect();
    assert_eq!(
        texts,
        [
            "match 0x0/0x0 0x0/0xf000 priority 0 action I_port n 0x2",
            "match 0x4/0xfffe 0x1/0xf003 priority 1 action I_port n 0x7",
            "match 0x6/0xffff 0x1/0xf003 priority 1 action I_port n 0x7",
            "default action I_port n 0x1",
        ]
    );
}

#[test]
fn entries_that_match_the_same_packets_are_refused() {
    let of = |key: &str, text: &str| {
        let table = format!("table t {{ key = {{ {key} }} actions = {{ port; }} size = 2; }}");
        let made = made(&program(&table, "t.apply();")).unwrap_or_else(|fault| panic!("{fault}"));
        let found = lines(&made.layout, &parse_entries(text).unwrap());
        found
            .map(|found| found.len())
            .map_err(|fault| format!("line {}: {}", fault.line, fault.message))
    };
    let same =
        |line: u32| Err(format!("line {line}: table 'I.t' has two entries with the same keys"));
    let (exact, lpm, ternary) = ("hdr.h.c: exact;", "hdr.h.c: lpm;", "hdr.h.c: ternary;");
    assert_eq!(of(exact, "t 1 -> port(1)\nt 2 -> port(1)"), Ok(2));
    assert_eq!(of(exact, "t 1 -> port(1)\nt 1 -> port(2)"), same(2));
    assert_eq!(of(lpm, "t 0x100/8 -> port(1)\nt 0x110/8 -> port(2)"), same(2));
    // Of entries with masks, the one that wins stays.
    let text = "t 1 priority 2 -> port(1)\nt 1 priority 3 -> port(2)\nt 4 priority 1 -> port(1)";
    assert_eq!(of(ternary, text), Ok(2));
    let message = "table 'I.t' has room for 2 entries of DPDK and needs 3; raise its size";
    let many = of(exact, "t 1 -> port(1)\nt 2 -> port(1)\nt 3 -> port(1)");
    assert_eq!(many, Err(format!("line 3: {message}")));
}

#[test]
fn tables_get_room_for_the_entries_of_ranges() {
    let of = |locals: &str, entries: &str| {
        let made = made(&program(locals, "t.apply();"));
        let mut made = made.unwrap_or_else(|fault| panic!("{fault}"));
        let before = made.spec.tables[0].size;
        let lines = made.lines(&parse_entries(entries).unwrap());
        let lines = lines.map(|lines| lines.len()).map_err(|fault| fault.message);
        (before, lines, made.spec.tables[0].size)
    };
    let locals = "table t { key = { hdr.h.c: range; } actions = { port; } size = 2; }";
    // 1, 2..3, 4..7 and 8 are four entries.
    assert_eq!(of(locals, "t 1..8 -> port(1)\nt 9 -> port(2)"), (2, Ok(5), 5));
    assert_eq!(of(locals, "t 4..7 -> port(1)"), (2, Ok(1), 2));
    let many = "t 1..8 -> port(1)\nt 9 -> port(2)\nt 10 -> port(3)";
    let message = "table 'I.t' has room for 2 entries of DPDK and needs 6; raise its size";
    assert_eq!(of(locals, many), (2, Err(message.to_owned()), 2));
    // Entries of the program have room from the start.
    let locals = "table t { key = { hdr.h.c: range; } actions = { port; } size = 1;
                      entries = { 1..8: port(1); } }";
    assert_eq!(of(locals, ""), (4, Ok(4), 4));
}

#[test]
fn entries_of_the_program_and_of_value_sets_become_lines() {
    let text = program(
        "table t { key = { hdr.h.a: exact; } actions = { port; } size = 2;
             entries = { 1: port(3); } }",
        "t.apply();",
    )
    .replace(
        "state start { b.extract(hdr.h); transition accept; }",
        "value_set<bit<4>>(4) v;
         state start { b.extract(hdr.h); transition select(hdr.h.a) { v: accept; } }",
    );
    let made = made(&text).unwrap_or_else(|fault| panic!("{fault}"));
    let shown = |entries: &str| {
        let lines = lines(&made.layout, &parse_entries(entries).unwrap());
        lines.map(|all| all.into_iter().map(|one| format!("{} {}", one.table, one.text)).collect())
    };
    let found: Vec<String> = shown("v 5\nt 2 -> port(4)").unwrap();
    assert_eq!(
        found,
        [
            "P_v match 0x5 action NoAction",
            "I_t match 0x1 action I_port n 0x3",
            "I_t match 0x2 action I_port n 0x4",
        ]
    );
    assert!(
        made.conditions.iter().any(|one| one.contains("entries of the program to table 'I.t'"))
    );
    let fault = shown("t 2 -> port(4)\nt 3 -> port(4)").expect_err("a size of 2");
    assert_eq!(fault.line, 2);
    assert_eq!(
        fault.message,
        "table 'I.t' has room for 2 entries of DPDK and needs 3; raise its size"
    );
    let fault = shown("w 5").expect_err("an unknown set");
    assert!(fault.message.contains("'w' is unknown"), "{}", fault.message);
}

#[test]
fn constructs_without_a_translation_are_refused_with_their_line() {
    refused("", "m.m = (bit<8>)s.packet_length;", "packet_length, which SWX does not tell,");
    refused("", "s.mcast_grp = 1;", "a copy of the packet, or one to several ports,");
    refused("", "random(m.m, 0, 3);", "random");
    refused(
        "counter(4, CounterType.bytes) n;",
        "n.count(1);",
        "a counter of bytes, because SWX does not tell the length of packets,",
    );
    refused(
        "direct_counter(CounterType.packets) n;
         table t { key = { hdr.h.a: exact; } actions = { port; }
             const entries = { 1: port(1); } counters = n; }",
        "t.apply();",
        "a direct counter or meter of constant entries",
    );
    refused(
        "direct_counter(CounterType.bytes) n;
         table t { key = { hdr.h.a: exact; } actions = { port; } counters = n; }",
        "t.apply();",
        "a direct counter of bytes, because SWX does not tell the length of packets,",
    );
    refused("", "clone(CloneType.I2E, 5);", "clone");
    let many: String =
        (0..40).map(|at| format!("bit<64> v{at} = hdr.h.w[{at}+63:{at}]; ")).collect();
    let used: String =
        (0..40).map(|at| format!("hdr.h.w[63:0] = hdr.h.w[63:0] ^ v{at}; ")).collect();
    let fault = made(&program("", &format!("{many} {used}"))).expect_err("too many variables");
    assert!(fault.contains("metadata and variables take"), "{fault}");
    assert!(fault.starts_with("a.p4:"), "{fault}");
}

#[test]
fn instructions_name_the_lines_of_the_program() {
    let text = program(
        "action set() { hdr.h.c = 9; }
         table t { key = { hdr.h.b: exact; } actions = { set; NoAction; } }",
        "if (hdr.h.a == 1) {
             t.apply();
         }
         hdr.h.b = 2;\n",
    );
    let made = made(&text).unwrap_or_else(|fault| panic!("{fault}"));
    let actions = made.spec.actions.iter().flat_map(|one| &one.instructions);
    let lines: Vec<_> = made.spec.apply.iter().chain(actions).collect();
    let shown = |wanted: &str| {
        let one = lines.iter().find(|one| one.op.to_string().starts_with(wanted)).expect(wanted);
        let origin = one.origin.0.as_deref().expect("each instruction has an origin");
        assert_eq!(text.lines().nth(origin.line as usize - 1), Some(&*origin.text), "{wanted}");
        origin.text.trim().to_owned()
    };
    assert_eq!(shown("table I_t"), "t.apply();");
    assert_eq!(shown("mov h.h.c 9"), "action set() { hdr.h.c = 9; }");
    assert!(shown("extract h.h").starts_with("state start"));
    assert_eq!(shown("or h.h.a_b 2"), "hdr.h.b = 2;");
    assert!(shown("rx").starts_with("V1Switch("));
    assert!(lines.iter().all(|one| one.origin.0.is_some()));
}

#[test]
fn further_rounds_are_passes_of_the_pipeline() {
    let once = spec("", "hdr.h.a = 1;");
    assert!(!once.contains("recirc"), "{once}");
    let text = spec("", "hdr.h.a = 1; recirculate_preserving_field_list(0);");
    for line in ["rx m.ingress_port\n\trecircid m.pass", "recirculate\n\ttx", " m.pass 3\n"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // Headers of a resubmitted packet are those that the parser extracted.
    let body = "hdr.h.a = 1; resubmit_preserving_field_list(0);";
    let text = spec("", body);
    assert!(text.contains("extract h.received_h\n"), "{text}");
    assert!(text.contains("recirculate\n\temit h.received_h\n\ttx"), "{text}");
    let twice =
        program("", body).replace("b.extract(hdr.h);", "b.extract(hdr.h); b.extract(hdr.h);");
    let fault = made(&twice).expect_err("the header has one memory");
    assert!(fault.contains("a packet that leaves as it came, after a parser"), "{fault}");
}

/// Returns a PSA program. `types` declares the metadata types `R` (resubmission), `C`
/// (recirculation) and `N` (normal). `body` and `egress` are the statements of the ingress and
/// egress controls.
fn psa(types: &str, body: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
        #include <psa.p4>
        header H {{ bit<8> a; bit<8> b; bit<16> c; bit<32> w; }}
        header K {{ bit<8> v; }}
        struct Hs {{ H h; }}
        struct M {{ bit<8> m; }}
        struct E {{}}
        {types}
        parser IP(packet_in p, out Hs hdr, inout M m, in psa_ingress_parser_input_metadata_t i,
                  in R r, in C c) {{
            state start {{ p.extract(hdr.h); transition accept; }}
        }}
        control I(inout Hs hdr, inout M m, in psa_ingress_input_metadata_t i,
                  inout psa_ingress_output_metadata_t o) {{
            action to(PortId_t port) {{ o.egress_port = port; }}
            table t {{ key = {{ hdr.h.a: exact; }} actions = {{ to; }}
                       default_action = to((PortId_t)1); }}
            apply {{ o.drop = false; {body} }}
        }}
        control ID(packet_out p, out E e, out R r, out N n, inout Hs hdr, in M m,
                   in psa_ingress_output_metadata_t o) {{
            apply {{ p.emit(hdr.h); }}
        }}
        parser EP(packet_in p, out Hs hdr, inout M m, in psa_egress_parser_input_metadata_t i,
                  in N n, in E d, in E e) {{
            state start {{ p.extract(hdr.h); transition accept; }}
        }}
        control G(inout Hs hdr, inout M m, in psa_egress_input_metadata_t i,
                  inout psa_egress_output_metadata_t o) {{
            apply {{ {egress} }}
        }}
        control ED(packet_out p, out E e, out C c, inout Hs hdr, in M m,
                   in psa_egress_output_metadata_t o,
                   in psa_egress_deparser_input_metadata_t d) {{
            apply {{ p.emit(hdr.h); }}
        }}
        IngressPipeline(IP(), I(), ID()) ip;
        EgressPipeline(EP(), G(), ED()) ep;
        PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;"
    )
}

#[test]
fn headers_in_metadata_of_further_passes_are_refused() {
    let refusal = "a header in metadata of a further pass cannot be compiled for SWX yet";
    let plain = "struct R { bit<8> v; } struct C { bit<8> v; } struct N { bit<8> v; }";
    let resubmits = "o.resubmit = true;";
    let recirculates = "o.egress_port = PSA_PORT_RECIRCULATE;";
    let changes = "hdr.h.b = 1;";
    for (own, body, egress) in [("R", resubmits, ""), ("C", recirculates, ""), ("N", "", changes)] {
        // As a member, in a stack, and as the metadata itself.
        for header in ["struct X { K k; bit<8> z; }", "struct X { K[2] k; }", "typedef K X;"] {
            let types = plain.replace(&format!("struct {own} {{ bit<8> v; }}"), "");
            let types = format!("{types} {}", header.replace('X', own));
            let fault = made(&psa(&types, body, egress)).expect_err(header);
            assert!(fault.ends_with(refusal), "{own}, {header}: {fault}");
            // Without the further pass, or without the header, there is a pipeline.
            made(&psa(&types, "", "")).unwrap_or_else(|fault| panic!("{own}, {header}: {fault}"));
        }
        made(&psa(plain, body, egress)).unwrap_or_else(|fault| panic!("{own}: {fault}"));
    }

    let body = "m.m = 1; resubmit_preserving_field_list(1);";
    for (fields, is_refused) in [
        ("@field_list(1) K k;", true),
        ("@field_list(2) K[2] k;", true),
        ("@field_list(1) Inner k;", true),
        ("Inner k;", false),
        ("@field_list(1) bit<8> n; K k;", false),
    ] {
        let types = "header K { bit<8> v; } struct Inner { K k; bit<8> n; }";
        let text = program("", body).replace(
            "struct M { bit<8> m; }",
            &format!("{types} struct M {{ bit<8> m; {fields} }}"),
        );
        match made(&text) {
            Err(fault) => assert!(is_refused && fault.ends_with(refusal), "{fields}: {fault}"),
            Ok(_) => assert!(!is_refused, "{fields}"),
        }
        // Once, no further pass needs the values.
        assert!(made(&text.replace(body, "m.m = 1;")).is_ok(), "{fields}");
    }
}

#[test]
fn computed_ports_are_not_those_of_recirculations() {
    let plain = "struct R { bit<8> v; } struct C { bit<8> v; } struct N { bit<8> v; }";
    let wanted = "no packet is sent to PSA_PORT_RECIRCULATE (0xfffffffa)";
    for egress in ["", "hdr.h.b = 1;"] {
        for (body, is_computed) in [
            ("o.egress_port = (PortId_t)1;", false),
            ("send_to_port(o, (PortId_t)1);", false),
            ("o.egress_port = (PortId_t)(PortIdUint_t)hdr.h.w;", true),
            ("send_to_port(o, (PortId_t)((PortIdUint_t)hdr.h.w + 1));", true),
            ("t.apply();", true),
            ("o.egress_port = i.ingress_port;", false),
            ("o.egress_port = PSA_PORT_RECIRCULATE; t.apply();", false),
        ] {
            let made = made(&psa(plain, body, egress)).unwrap_or_else(|fault| panic!("{fault}"));
            assert_eq!(
                made.conditions.iter().any(|one| one == wanted),
                is_computed,
                "{body}\n{egress}"
            );
        }
        let fault = made(&psa(plain, "o.egress_port = (PortId_t)0xfffffffa;", egress));
        let fault = fault.expect_err("a recirculation without its name");
        assert!(fault.contains("does not name PSA_PORT_RECIRCULATE"), "{fault}");
    }
}

#[test]
fn comments_ask_for_no_further_rounds() {
    let plain = "struct R { bit<8> v; } struct C { bit<8> v; } struct N { bit<8> v; }";
    for (body, is_further) in [
        ("o.egress_port = (PortId_t)1; /* o.resubmit, PSA_PORT_RECIRCULATE */", false),
        ("bool resubmit = hdr.h.a == 1; o.drop = resubmit;", false),
        ("o . resubmit = true;", true),
        ("o./* again */resubmit = hdr.h.a == 1;", true),
        ("o.egress_port = PSA_PORT_RECIRCULATE;", true),
    ] {
        let made = made(&psa(plain, body, "")).unwrap_or_else(|fault| panic!("{fault}"));
        let text = slowpath_swx::print(&made.spec);
        assert_eq!(text.contains("recirculate"), is_further, "{body}\n{text}");
    }
}
