//! Tests of tables (section 14.2 of the specification), and of control-plane names (section 18.3).

use crate::support::{accepted, rejected};

/// Returns a P4 program with a table whose properties are the text `properties`. This text starts
/// in line 7.
fn table(properties: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
struct S {{ bit<8> a; bit<16> b; bool c; error e; }}
action none() {{ }}
bit<8> f(in bit<8> x) {{ return x; }}
control c(inout S s) {{ action set(bit<8> v) {{ s.a = v; }} action mix(inout bit<8> x, bit<8> v) {{ x = v; }} table t {{
{properties}
}} apply {{ t.apply(); }} }}"
    )
}

#[test]
fn keys_are_values_with_names() {
    // Sections 14.2.1.1 and 18.3.1.3.
    accepted(&table(
        "key = { s.a: exact; s.b[3:0]: ternary; s.c: exact; s.e: exact; s.a & 3: exact; s.b + 1: lpm @name(\"sum\"); f(s.a): range @hidden; } actions = { none; }",
    ));
    accepted(&table("key = { } actions = { none; }"));
    for (properties, expected) in [
        ("key = { s.a: fuzzy; } actions = { }", "7:14: 'fuzzy' is not a match_kind"),
        (
            "key = { s.a + 1: exact; } actions = { }",
            "7:9: the control plane has no name for this key; add @name(\"…\")",
        ),
        (
            "key = { f(s.a): exact; } actions = { }",
            "7:9: the control plane has no name for this key; add @name(\"…\")",
        ),
        ("key = { 1: exact; } actions = { }", "7:9: a key needs a width; write a cast"),
        ("key = { s.c: lpm; } actions = { }", "7:9: a value of type bool cannot be matched by lpm"),
        ("key = { none: exact; } actions = { }", "7:9: an action is not a value"),
        (
            "key = { s.a: exact; } key = { s.b: exact; } actions = { }",
            "7:23: property 'key' stands twice",
        ),
        ("key = { s.a; } actions = { }", "7:12: ':' expected, found ';'"),
    ] {
        rejected(&table(properties), expected);
    }
}

#[test]
fn actions_are_listed_once() {
    // Section 14.2.1.2.
    accepted(&table(
        "actions = { none; set; mix(s.a); @tableonly NoAction; } default_action = set(3);",
    ));
    for (properties, expected) in [
        ("key = { s.a: exact; }", "6:112: table 't' has no property 'actions'"),
        ("actions = { none; none; }", "7:19: action 'none' stands twice"),
        ("actions = { s; }", "7:13: 's' is not an action"),
        ("actions = { other; }", "7:13: action 'other' is not declared"),
        ("actions = { mix; }", "7:13: 'mix': argument 'x' is missing"),
        ("actions = { mix(s.a, 1); }", "7:13: 'mix': 2 arguments are given, and 1 are needed"),
        (
            "actions = { mix(1); }",
            "7:17: argument 'x' must be a variable or field that can be written",
        ),
        ("actions = { set(1); }", "7:13: 'set': 1 arguments are given, and 0 are needed"),
    ] {
        rejected(&table(properties), expected);
    }
    let program = "#include <core.p4>\ncontrol c(inout bit<8> x) { action a(in bit<8> v) { } table t { key = { x: exact; } actions = { NoAction; } }\ntable u { actions = {";
    accepted(&format!("{program} a(x + 1); }} }} apply {{ }} }}"));
    rejected(
        &format!("{program} a(t.apply().hit ? 8w1 : 2); }} }} apply {{ }} }}"),
        "3:25: a table can be applied in the body of a control only",
    );
}

#[test]
fn the_default_action_is_a_listed_one() {
    // Section 14.2.1.3.
    accepted(&table("actions = { none; mix(s.a); } const default_action = mix(s.a, 3);"));
    for (properties, expected) in [
        (
            "actions = { none; } default_action = set(1);",
            "7:38: the default action must be one of the table's actions, and 'set' is not",
        ),
        ("actions = { set; } default_action = set;", "7:37: 'set': argument 'v' is missing"),
        (
            "actions = { set; } default_action = set(s.a);",
            "7:41: the value must be known when the program is compiled",
        ),
        (
            "actions = { set; } default_action = set(9w1);",
            "7:41: bit<9> does not fit bit<8>; write a cast, (bit<8>)",
        ),
        (
            "actions = { @tableonly none; } default_action = none;",
            "7:49: 'none' is marked with @tableonly, and cannot be the default action",
        ),
        (
            "default_action = none; actions = { none; }",
            "7:1: default_action must stand after the property 'actions'",
        ),
        (
            "actions = { mix(s.a); } default_action = mix(s.b[7:0], 1);",
            "7:46: argument 'x' must be the same as in the list of actions",
        ),
    ] {
        rejected(&table(properties), expected);
    }
    rejected(
        "control c() { table t { actions = { } } apply { } }",
        "1:21: table 't' has no default_action, and there is no action 'NoAction'; include core.p4",
    );
    rejected(
        "action NoAction(bit<8> x) { }\ncontrol c() { table t { actions = { } } apply { } }",
        "2:21: table 't' has no default_action, and there is no action 'NoAction'; include core.p4",
    );
}

#[test]
fn entries_fit_the_key() {
    // Section 14.2.1.4.
    let keys = "key = { s.a: exact; s.b: ternary; } actions = { none; @defaultonly set; }";
    accepted(&table(&format!(
        "{keys} const entries = {{ (1, 2): none; (1, 2 &&& 3): none(); (2, _): none; _: none; }}"
    )));
    for (entries, expected) in [
        ("entries = { 1: none; }", "8:13: 2 sets are needed, one for each key"),
        (
            "entries = { (1, 2, 3): none; }",
            "8:13: 3 sets are given, and 2 are needed, one for each key",
        ),
        (
            "entries = { (true, 2): none; }",
            "8:14: bool does not fit bit<8>; write a cast, (bit<8>)",
        ),
        ("entries = { (1 &&& 3, 2): none; }", "8:14: this set does not fit the match kind exact"),
        ("entries = { (1, 2 .. 3): none; }", "8:17: this set does not fit the match kind ternary"),
        (
            "entries = { (1, 2): set(1); }",
            "8:21: 'set' is marked with @defaultonly, and cannot be an entry",
        ),
        (
            "entries = { (1, 2): mix(1); }",
            "8:21: an entry must be one of the table's actions, and 'mix' is not",
        ),
    ] {
        rejected(&table(&format!("{keys}\n{entries}")), expected);
    }
    rejected(
        &table("actions = { none; } entries = { 1: none; }"),
        "6:112: table 't' has entries, but no key",
    );
    let lpm = "key = { s.b: lpm; } actions = { none; }";
    accepted(&table(&format!(
        "{lpm} entries = {{ 0x1200 &&& 0xff00: none; 5: none; _: none; 0 &&& 0: none; }}"
    )));
    rejected(
        &table(&format!("{lpm}\nentries = {{ 0x1200 &&& 0xf0f0: none; }}")),
        "8:13: this set does not fit the match kind lpm",
    );
    let exact = "key = { s.a: exact; s.c: exact; } actions = { none; }";
    accepted(&table(&format!("{exact} entries = {{ (1, true): none; (1, false): none; }}")));
    rejected(
        &table(&format!("{exact}\nentries = {{ (1, true): none; (257, true): none; }}")),
        "8:30: an entry before this one has the same key",
    );
}

#[test]
fn priorities_are_in_range() {
    // Section 14.2.1.4.1.
    let keys = "key = { s.a: ternary; } actions = { none; }";
    accepted(&table(&format!(
        "{keys} largest_priority_wins = false; priority_delta = 10; entries = {{ const priority = 10: 1: none; 2: none; priority = 5: 3: none; }}"
    )));
    accepted(&table(&format!("{keys} entries = {{ priority = 1: 1: none; 2: none; }}")));
    for (properties, expected) in [
        (
            "entries = { 1: none; priority = 3: 2: none; }",
            "8:13: the first entry needs a priority, because another entry has one",
        ),
        (
            "entries = { priority = -1: 1: none; }",
            "8:13: the priority of this entry, -1, is not a number from 0 to 2147483647",
        ),
        (
            "entries = { priority = 1: 1: none; 2: none; 3: none; }",
            "8:45: the priority of this entry, -1, is not a number from 0 to 2147483647",
        ),
        (
            "priority_delta = 2; entries = { priority = 1: 1: none; 2: none; }",
            "8:56: the priority of this entry, -1, is not a number from 0 to 2147483647",
        ),
        (
            "entries = { priority = s.a: 1: none; }",
            "8:24: the value must be known when the program is compiled",
        ),
        ("largest_priority_wins = 1;", "8:25: largest_priority_wins needs a known truth value"),
        ("priority_delta = 0;", "8:18: priority_delta needs a known positive number"),
    ] {
        rejected(&table(&format!("{keys}\n{properties}")), expected);
    }
    rejected(
        &table(
            "key = { s.a: exact; s.b: lpm; } actions = { none; } entries = { priority = 1: (1, 2): none; }",
        ),
        "7:76: a table with exact and lpm keys only has no priorities; remove this",
    );
}

#[test]
fn results_of_tables_have_three_members() {
    // Section 14.2.2.
    let control = |body: &str| {
        format!(
            "#include <core.p4>\ncontrol c(inout bit<8> x) {{ action a() {{ }} action b() {{ }} table t {{ key = {{ x: exact; }} actions = {{ a; NoAction; }} size = 4; }} apply {{\n{body}\n}} }}"
        )
    };
    accepted(&control(
        "if (t.apply().hit) { } bool m = t.apply().miss; switch (t.apply().action_run) { a: NoAction: { x = 1; } default: { } }",
    ));
    for (body, expected) in [
        ("switch (t.apply().action_run) { b: { } }", "3:33: 'b' is not an action of the table"),
        ("switch (t.apply().action_run) { a: { } a: { } }", "3:40: action 'a' stands twice"),
        (
            "switch (t.apply().action_run) { 1: { } }",
            "3:33: the label must be the name of an action",
        ),
        (
            "if (t.apply()) { }",
            "3:5: the result of a table does not fit bool; use a value of the other type",
        ),
        (
            "x = t.apply().size;",
            "3:15: the result of a table has hit, miss and action_run, not 'size'",
        ),
        ("t.apply(x);", "3:9: apply of a table has no arguments"),
        ("t.hit();", "3:3: a table has no method 'hit'"),
    ] {
        rejected(&control(body), expected);
    }
    rejected(
        &table("actions = { none; } size = s.a;"),
        "7:28: the size of a table must be known when the program is compiled",
    );
    rejected(
        &table("actions = { none; } size = true;"),
        "7:28: the size of a table is a number, not bool",
    );
}

#[test]
fn control_plane_names_are_unique() {
    // Sections 18.3 and 20.3.3.
    let program = "#include <core.p4>\ncontrol T();\npackage P(T t, T u);\n";
    accepted(&format!(
        "{program}control c() {{ @name(\"x\") action a() {{ }} @name(\"x\") table t {{ actions = {{ a; }} }} apply {{ }} }}\ncontrol d() {{ @name(\"x\") action a() {{ }} apply {{ }} }}\nP(c(), d()) main;"
    ));
    accepted(&format!(
        "{program}control c() {{ @name(\".x\") @foo action a() {{ }} apply {{ }} }}\ncontrol d() {{ action x() {{ }} apply {{ }} }}\nP(c(), d()) main;"
    ));
    for (rest, expected) in [
        (
            "control c() { @name(\"x\") action a() { } action x() { } apply { } }",
            "4:48: another action has the control plane name 'x'; change @name",
        ),
        (
            "control c() { @name(\".x\") action a() { } apply { } }\naction x() { }",
            "5:8: another action has the control plane name 'x'; change @name",
        ),
        (
            "control c() { @name(\".x\") action a() { } apply { } }\ncontrol d() { @name(\".x\") action a() { } apply { } }",
            "5:34: another action has the control plane name 'x'; change @name",
        ),
        (
            "control c() { @name(\".x\") action a() { } apply { } }\nP(c(), c()) main;",
            "4:34: 'c' has 2 instances, so the control plane name '.x' is not unique; remove the dot",
        ),
    ] {
        rejected(&format!("{program}{rest}"), expected);
    }
    accepted(&format!(
        "{program}control c() {{ @hidden action a() {{ }} @name(\"a\") action b() {{ }} apply {{ }} }}"
    ));
}
