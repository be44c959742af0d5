//! Tests of files of control planes: JSON of p4lang's tutorials, and messages of P4Runtime.

use slowpath_p4::xdp::entries::{Entry, parse, updates};
use slowpath_p4::xdp::layout::Layout;
use slowpath_p4::xdp::runtime::{from_json, from_messages};
use slowpath_p4::xdp::{Options, to_c};

use crate::support::run;

/// Returns the map layout of a program with a table of each match kind.
fn layout() -> Layout {
    let text = "#include <core.p4>\n#include <v1model.p4>
        header H { bit<32> ip; bit<16> port; } struct Hs { H h; } struct M {}
        parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t s) {
            state start { b.extract(hdr.h); transition accept; } }
        control V(inout Hs hdr, inout M m) { apply {} }
        control E(inout Hs hdr, inout M m, inout standard_metadata_t s) { apply {} }
        control D(packet_out b, in Hs hdr) { apply { b.emit(hdr); } }
        control I(inout Hs hdr, inout M m, inout standard_metadata_t s) {
            action drop() { mark_to_drop(s); }
            action send(bit<48> mac, bit<9> port) { s.egress_spec = port; }
            table routes { key = { hdr.h.ip: lpm; } actions = { send; drop; } }
            table acl { key = { hdr.h.ip: ternary; hdr.h.port: exact; } actions = { drop; } }
            table ports { key = { hdr.h.port: range; hdr.h.isValid(): exact; } actions = { drop; } }
            apply { routes.apply(); acl.apply(); ports.apply(); } }
        V1Switch(P(), V(), I(), E(), V(), D()) main;";
    let (tokens, sources) = run(text).map_err(|(error, all)| error.render(&all)).expect("tokens");
    let program = slowpath_p4::parse(&tokens).expect("a program");
    let checked = slowpath_p4::check(&program).expect("types");
    to_c(&program, &checked, &sources, Options::default()).expect("C").layout
}

/// Asserts that `entries` write the same map elements as the entry file with the text `list`.
#[track_caller]
fn same(layout: &Layout, entries: &[Entry], list: &str) {
    let wanted = updates(layout, &parse(list).expect("a list")).expect("entries that fit");
    assert_eq!(updates(layout, entries).expect("entries that fit"), wanted);
    assert!(!wanted.is_empty());
}

const LIST: &str = "I.routes 10.0.1.0/24 -> send(mac=08:00:00:00:01:11, port=2)
    I.routes default -> drop()
    I.acl 10.0.0.0 &&& 0xff000000, 80 priority 10 -> drop()
    I.ports 80..90, 1 -> drop()";

#[test]
fn json_of_the_tutorials_is_a_list_of_entries() {
    let layout = layout();
    let text = r#"{
      "target": "bmv2", "p4info": "a.txtpb", "bmv2_json": "a.json",
      "table_entries": [
        { "table": "I.routes", "match": { "hdr.h.ip": ["10.0.1.1", 24] },
          "action_name": "I.send", "action_params": { "port": 2, "mac": "08:00:00:00:01:11" } },
        { "table": "I.routes", "default_action": true, "action_name": "I.drop", "action_params": {} },
        { "table": "I.acl", "match": { "hdr.h.ip": ["10.0.0.0", 4278190080], "hdr.h.port": 80 },
          "priority": 10, "action_name": "I.drop", "action_params": { } },
        { "table": "I.ports", "match": { "hdr.h.port": [80, 90], "hdr.h.$valid$": [1] },
          "action_name": "drop" }
      ]
    }"#;
    same(&layout, &from_json(&layout, text).expect("entries"), LIST);
}

/// P4Info message of the program, as p4c writes it.
const INFO: &str = r#"
pkg_info { arch: "v1model" }
tables { preamble { id: 11 name: "I.routes" alias: "routes" }
  match_fields { id: 1 name: "hdr.h.ip" bitwidth: 32 match_type: LPM } action_refs { id: 21 } }
tables { preamble { id: 12 name: "I.acl" }
  match_fields { id: 1 name: "hdr.h.ip" match_type: TERNARY }
  match_fields { id: 2 name: "hdr.h.port" match_type: EXACT } }
tables { preamble { id: 13 name: "I.ports" }
  match_fields { id: 1 name: "hdr.h.port" } match_fields { id: 2 name: "hdr.h.$valid$" } }
actions { preamble { id: 21 name: "I.send" } params { id: 1 name: "mac" } params { id: 2 name: "port" } }
actions { preamble { id: 22 name: "I.drop" } }
"#;

const MESSAGES: &str = r#"# proto-message: p4.v1.WriteRequest
updates {
  type: INSERT
  entity { table_entry { table_id: 11
    match { field_id: 1 lpm { value: "\012\000\001\000" prefix_len: 24 } }
    action { action { action_id: 21
      params { param_id: 1 value: "\010\000\000\000\001" "\x11" }
      params { param_id: 2 value: "\002" } } } } } }
entities { table_entry: < table_id: 11 is_default_action: true; action { action { action_id: 22 } } > }
table_entry { table_id: 12 priority: 10
  match { field_id: 1 ternary { value: "\n\000\000\000" mask: "\377\000\000\000" } }
  match { field_id: 2 exact { value: "P" } }
  action { action { action_id: 22 } } }
table_entry { table_id: 13
  match { field_id: 1 range { low: "P", high: "Z" } }
  match { field_id: 2 exact { value: "\001" } }
  action { action { action_id: 22 } } }
table_entry { table_id: 12 is_const: true action { action { action_id: 22 } } }
"#;

#[test]
fn messages_have_the_numbers_of_p4info() {
    let layout = layout();
    same(&layout, &from_messages(&layout, MESSAGES, Some(INFO)).expect("entries"), LIST);
}

#[test]
fn messages_can_have_names() {
    let layout = layout();
    let text = r#"table_entry { table_name: "routes"
        match { field_name: "ip" lpm { value: "\n\000\000\000" prefix_len: 8 } }
        action { action { action_name: "I.send"
            params { param_name: "port" value: "\003" } params { param_name: "mac" value: "" } } } }"#;
    let entries = from_messages(&layout, text, None).expect("entries");
    same(&layout, &entries, "routes 10.0.0.0/8 -> send(port=3, mac=0)");
}

/// Returns the text of a P4Runtime update of the table `acl`.
fn update(kind: &str, port: u8, action: &str) -> String {
    format!(
        r#"updates {{ type: {kind} entity {{ table_entry {{ table_name: "acl" priority: 5
            match {{ field_name: "port" exact {{ value: "{}" }} }}
            action {{ action {{ action_name: "{action}" }} }} }} }} }}
        "#,
        format_args!("\\{port:03o}")
    )
}

#[test]
fn updates_modify_earlier_entries() {
    let layout = layout();
    let text = update("INSERT", 80, "drop") + &update("INSERT", 81, "drop");
    let entries = from_messages(&layout, &(text + &update("MODIFY", 80, "drop")), None);
    let lines: Vec<u32> = entries.expect("entries").iter().map(|one| one.line).collect();
    assert_eq!(lines, [7, 4], "the entry of port 80 is the later one");
    let set = |value: &str| {
        let text = format!(
            r#"table_entry {{ table_name: "routes" is_default_action: {value}
                action {{ action {{ action_name: "drop" }} }} }}"#
        );
        from_messages(&layout, &text, None)
    };
    for value in ["true", "True", "t", "1"] {
        same(&layout, &set(value).expect("a default"), "routes default -> drop()");
    }
    let error = set("yes").expect_err("no truth value").to_string();
    assert_eq!(error, "line 1: is_default_action must be true or false, not 'yes'");
}

/// Asserts that reading a file returns an error with the message `expected`.
#[track_caller]
fn faulty(
    read: impl Fn(&Layout, &str) -> Result<Vec<Entry>, slowpath_p4::xdp::entries::EntryError>,
    text: &str,
    expected: &str,
) {
    let layout = layout();
    let error = read(&layout, text).and_then(|entries| updates(&layout, &entries)).expect_err(text);
    assert_eq!(error.to_string(), expected);
}

#[test]
fn faults_of_json_have_lines() {
    let cases = [
        ("{\n \"table_entries\": [\n 1 2 ] }", "line 3: ',' or ']' expected, found '2'"),
        ("{ \"table_entries\": 1 }", "line 1: 'table_entries' must be a list"),
        (
            "{ \"entries\": [] }",
            "line 1: the file has the unknown field 'entries'; known are: target, p4info, bmv2_json, table_entries",
        ),
        (
            "{ \"table_entries\": [\n{ \"table\": \"I.none\", \"action_name\": \"drop\" }] }",
            "line 2: table 'I.none' is unknown; known are: I.routes, I.acl, I.ports",
        ),
        (
            "{ \"table_entries\": [\n{ \"table\": \"I.acl\" }] }",
            "line 2: the entry has no 'action_name'",
        ),
        (
            "{ \"table_entries\": [{ \"table\": \"acl\", \"action_name\": \"drop\",\n\"match\": { \"hdr.h.ip\": [1, 2, 3] } }] }",
            "line 2: a key has one value, or two of a prefix, mask or range",
        ),
        (
            "{ \"table_entries\": [{ \"table\": \"acl\", \"action_name\": \"drop\", \"match\": { \"hdr.h.port\": \"x\" } }] }",
            "line 1: 'x' is neither a number nor an address",
        ),
        (
            "{ \"table_entries\": [{ \"table\": \"routes\", \"action_name\": \"I.fly\", \"match\": { \"ip\": [1, 32] } }] }",
            "line 1: table 'I.routes': action 'I.fly' is unknown; known are: send, drop",
        ),
        ("{ \"a\": \"b\n\" }", "line 1: the string has no end"),
    ];
    for (text, expected) in cases {
        faulty(from_json, text, expected);
    }
}

#[test]
fn faults_of_messages_have_lines() {
    let with_info = |layout: &Layout, text: &str| from_messages(layout, text, Some(INFO));
    let cases = [
        ("table_entry {\n table_id 3 }", "line 2: ':' or '{' expected, found '3'"),
        (
            "table_entry { table_id: 99 action { action { action_id: 22 } } }",
            "line 1: table_id 99 is not in the P4Info file",
        ),
        ("table_entry { table_id: 11 }", "line 1: the entry of table 'I.routes' has no action"),
        (
            "\nupdates { type: DELETE entity { } }",
            "line 2: the type of an update must be INSERT or MODIFY",
        ),
        (
            "entities { counter_entry { } }",
            "line 1: 'counter_entry' cannot be set; only table_entry can",
        ),
        (
            "table_entry { table_id: 11 action { action { action_id: 22 } } match { field_id: 1 lpm { value: 5 prefix_len: 3 } } }",
            "line 1: a value must be bytes in quotes, such as \"\\012\\000\\000\\001\"",
        ),
        (
            "table_entry { table_id: 11",
            "line 1: the name of a field expected, found the end of the file",
        ),
    ];
    for (text, expected) in cases {
        faulty(with_info, text, expected);
    }
    let twice = update("INSERT", 80, "drop") + &update("INSERT", 80, "drop");
    faulty(with_info, &twice, "line 4: table 'acl' has this entry already, in line 1");
    faulty(
        with_info,
        &update("MODIFY", 80, "drop"),
        "line 1: MODIFY changes an entry of table 'acl' that this file does not insert; write INSERT",
    );
    faulty(
        |layout, text| from_messages(layout, text, None),
        "table_entry { table_id: 11 }",
        "line 1: 'table_id' is a number of a P4Info file, which is missing; write it with p4c --p4runtime-files p4info.txtpb, beside this file, or state 'table_name' instead",
    );
}
