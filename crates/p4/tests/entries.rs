//! Tests of table entries: entry files, and the bytes that entries write to maps.

use std::collections::HashMap;
use std::path::Path;

use num_bigint::BigInt;
use proptest::prelude::*;
use slowpath_p4::xdp::entries::{
    ActionCall, Entry, KeyValue, Setting, Update, map_content, parse, updates,
};
use slowpath_p4::xdp::layout::{
    ActionLayout, KeyLayout, Layout, MatchKind, Number, TableLayout, TableMaps,
};
use slowpath_p4::xdp::{Options, to_c};

/// Start of a v1model program. Its header `h` has the fields that tests use as keys.
const START: &str = r#"#include <core.p4>
#include <v1model.p4>
header H { bit<48> mac; bit<32> ip; bit<16> port; bit<12> vlan; bit<4> rest; int<8> level; }
struct Hs { H h; }
struct M {}
parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t s) {
    state start { b.extract(hdr.h); transition accept; }
}
control V(inout Hs hdr, inout M m) { apply {} }
control E(inout Hs hdr, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out b, in Hs hdr) { apply { b.emit(hdr); } }
"#;

/// Returns the map layout of a P4 program whose ingress control has the declarations `locals` and
/// the statements `body`.
fn layout(locals: &str, body: &str) -> Layout {
    let text = format!(
        "{START}control I(inout Hs hdr, inout M m, inout standard_metadata_t s) {{
            action drop() {{ mark_to_drop(s); }}
            action send(bit<9> port, bit<48> mac) {{ s.egress_spec = port; hdr.h.mac = mac; }}
            {locals}
            apply {{ {body} }}
        }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    let options = Default::default();
    let (tokens, sources) =
        slowpath_p4::preprocess::preprocess(Path::new("a.p4"), &text, &options).expect("tokens");
    let shown = |error: slowpath_p4::P4Error| error.render(&sources);
    let program = slowpath_p4::parse(&tokens).map_err(shown).expect("a program");
    let checked = slowpath_p4::check(&program)
        .map_err(|errors| errors.into_iter().map(shown).collect::<Vec<_>>())
        .expect("types");
    to_c(&program, &checked, &sources, Options::default()).map_err(shown).expect("C").layout
}

/// Returns the map layout of a P4 program with one table `t`, whose properties are the text
/// `properties`.
fn table(properties: &str) -> Layout {
    layout(&format!("table t {{ {properties} }}"), "t.apply();")
}

fn written(layout: &Layout, text: &str) -> Vec<Update> {
    updates(layout, &parse(text).expect("entries")).expect("updates")
}

fn shown(update: &Update) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|one| format!("{one:02x}")).collect::<String>();
    format!("{} {} {}", update.map, hex(&update.key), hex(&update.value))
}

/// Returns the map writes for an entry file as text: map, key and value.
fn bytes(layout: &Layout, text: &str) -> Vec<String> {
    written(layout, text).iter().map(shown).collect()
}

/// Returns the error message for an entry file whose only entry does not fit.
fn fault(layout: &Layout, text: &str) -> String {
    let entries = match parse(text) {
        Ok(entries) => entries,
        Err(error) => return error.to_string(),
    };
    let error = updates(layout, &entries).expect_err("the entry does not fit");
    assert_eq!(error.code.number(), 286);
    error.to_string()
}

#[test]
fn an_exact_key_is_the_key_of_a_hash_map() {
    let layout = table("key = { hdr.h.ip: exact; } actions = { send; drop; }");
    // The value: number of the action, then the port at 8 and the MAC address at 16.
    assert_eq!(
        bytes(&layout, "t 10.0.0.1 -> send(port=2, mac=00:11:22:33:44:55)\nt 0x7 -> drop()"),
        [
            "I_t 0100000a 01000000 00000000 0200000000000000 5544332211000000",
            "I_t 07000000 02000000 00000000 0000000000000000 0000000000000000",
        ]
        .map(joined)
    );
}

/// Removes the spaces inside hexadecimal values, which only make the expected text of tests
/// readable.
fn joined(line: &str) -> String {
    let mut words = line.split(' ');
    let (map, key) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    format!("{map} {key} {}", words.collect::<String>())
}

#[test]
fn several_exact_keys_stand_at_aligned_offsets() {
    let layout = table("key = { hdr.h.port: exact; hdr.h.mac: exact; } actions = { drop; }");
    assert_eq!(
        bytes(&layout, "t 80, 00:11:22:33:44:55 -> drop"),
        ["I_t 50000000000000005544332211000000 01000000"]
    );
}

#[test]
fn a_prefix_is_a_key_of_a_trie_in_network_order() {
    let layout = table("key = { hdr.h.ip: lpm; } actions = { drop; }");
    assert_eq!(
        bytes(&layout, "t 10.1.2.3/8 -> drop()\nt 10.0.0.1 -> drop()\nt * -> drop()"),
        [
            "I_t 080000000a000000 01000000",
            "I_t 200000000a000001 01000000",
            "I_t 0000000000000000 01000000",
        ]
    );
}

#[test]
fn a_trie_has_its_prefix_after_exact_keys_and_left_aligned() {
    let layout = table("key = { hdr.h.vlan: lpm; hdr.h.port: exact; } actions = { drop; }");
    // 16 bits of the port, and 5 bits of the prefix: 0xabc is 1010 1011 1100.
    assert_eq!(bytes(&layout, "t 0xabc/5, 0x1234 -> drop()"), ["I_t 150000001234a800 01000000"]);
}

#[test]
fn masks_of_a_tuple_space_are_allocated_once() {
    let layout = table("key = { hdr.h.ip: ternary; hdr.h.port: exact; } actions = { drop; }");
    assert_eq!(
        bytes(
            &layout,
            "t 10.0.0.0 &&& 0xff000000, 1 priority 5 -> drop()
             t *, 2 priority 7 -> drop()
             t 11.9.9.9/8, 1 -> drop()"
        ),
        [
            // The entry with priority 7 stands first, and has rank 3.
            "I_t_masks 00000000 0100000000000000ffff0000",
            "I_t 000000000000000002000000 0100000003000000",
            "I_t_masks 01000000 01000000000000ffffff0000",
            "I_t 010000000000000a01000000 0100000002000000",
            "I_t 010000000000000b01000000 0100000001000000",
        ]
    );
}

#[test]
fn an_entry_hidden_by_one_of_higher_priority_is_not_written() {
    let layout = table("key = { hdr.h.port: ternary; } actions = { send; drop; }");
    let writes = written(&layout, "t 1 priority 1 -> drop()\nt 1 priority 2 -> send(1, 2)");
    assert_eq!(writes.len(), 2);
    assert_eq!(writes[1].value[0], 1, "send has priority 2");
}

#[test]
fn ranges_are_elements_in_order_of_priority() {
    let layout = table("key = { hdr.h.port: range; hdr.h.ip: ternary; } actions = { drop; }");
    // used, first numbers (port, ip), second numbers, the action at a multiple of 8
    assert_eq!(
        bytes(&layout, "t 80..90, * -> drop()\nt *, 1.2.3.4 priority 1 -> drop()"),
        [
            "I_t 00000000 01000000 00000000 04030201 ffff0000 ffffffff 00000000 01000000 00000000",
            "I_t 01000000 01000000 50000000 00000000 5a000000 00000000 00000000 01000000 00000000",
        ]
        .map(joined)
    );
}

#[test]
fn negative_numbers_are_twos_complements() {
    let layout = table("key = { hdr.h.level: exact; } actions = { drop; }");
    assert_eq!(bytes(&layout, "t -2 -> drop()"), ["I_t fe 01000000"]);
}

#[test]
fn a_default_action_is_element_0_of_its_map() {
    let layout =
        table("key = { hdr.h.ip: exact; } actions = { send; drop; } default_action = drop();");
    assert_eq!(
        bytes(&layout, "t default -> send(3, 4)"),
        [joined("I_t_default 00000000 01000000 00000000 0300000000000000 0400000000000000")]
    );
    let constant =
        table("key = { hdr.h.ip: exact; } actions = { drop; } const default_action = drop();");
    assert_eq!(
        fault(&constant, "t default -> drop()"),
        "line 1: the default action of table 'I.t' is constant"
    );
}

#[test]
fn initial_entries_of_a_program_are_written_first() {
    let layout = table(
        "key = { hdr.h.ip: lpm; } actions = { send; drop; }
         entries = { 0x0a000000 &&& 0xff000000: send(1, 2); _: drop(); }",
    );
    assert_eq!(
        bytes(&layout, "t 1.0.0.0/8 -> drop()"),
        [
            "I_t 080000000a000000 01000000 00000000 0100000000000000 0200000000000000",
            "I_t 0000000000000000 02000000 00000000 0000000000000000 0000000000000000",
            "I_t 0800000001000000 02000000 00000000 0000000000000000 0000000000000000",
        ]
        .map(joined)
    );
}

#[test]
fn initial_entries_have_the_priorities_of_the_specification() {
    let ids = |properties: &str| -> Vec<u8> {
        let layout = table(&format!(
            "key = {{ hdr.h.port: range; }} actions = {{ send; drop; NoAction; }} {properties}"
        ));
        // The action stands after used, first and second numbers, at a multiple of 8.
        written(&layout, "").iter().map(|update| update.value[16]).collect()
    };
    let entries = "entries = { priority = 3: 1..2: drop(); priority = 50: 1..3: send(1, 2); 1..4: NoAction(); }";
    // 3, 50, 49: the largest first, or the smallest first with 3, 50, 51.
    assert_eq!(ids(entries), [1, 3, 2]);
    assert_eq!(ids(&format!("largest_priority_wins = false; {entries}")), [2, 1, 3]);
    // 3, 50, 1: with a delta of 49.
    assert_eq!(ids(&format!("priority_delta = 49; {entries}")), [1, 2, 3]);
}

#[test]
fn a_table_has_its_control_plane_names() {
    let layout = layout(
        "@name(\"routes\") table t {
            key = { hdr.h.ip: exact @name(\"dst\"); hdr.h.port: exact; } actions = { drop; }
         }
         table u { key = { hdr.h.ip: exact; } actions = { drop; } }",
        "t.apply(); u.apply();",
    );
    assert_eq!(
        bytes(&layout, "I.routes port=1, dst=2 -> drop()\nu 3 -> drop()"),
        ["I_routes 0200000001000000 01000000", "I_u 03000000 01000000"]
    );
    assert_eq!(
        fault(&layout, "t 1, 2 -> drop()"),
        "line 1: table 't' is unknown; known are: I.routes, I.u"
    );
}

#[test]
fn faults_name_table_key_and_value() {
    let layout = table(
        "key = { hdr.h.ip: lpm; hdr.h.port: exact; }
         actions = { send; @tableonly drop; @defaultonly NoAction; } size = 2;",
    );
    for (text, message) in [
        (
            "t 10.0.0.0/40, 1 -> drop",
            "table 'I.t': prefix length 40 for 'hdr.h.ip' exceeds 32 bits",
        ),
        ("t 10.0.0.0/8, 65536 -> drop", "table 'I.t': 65536 for 'hdr.h.port' does not fit 16 bits"),
        ("t 10.0.0.0/8, * -> drop", "table 'I.t': the exact key 'hdr.h.port' takes one value"),
        ("t 1 -> drop", "table 'I.t' takes 2 keys (hdr.h.ip, hdr.h.port), the entry has 1"),
        ("t 1, 2 -> stop", "table 'I.t': action 'stop' is unknown; known are: send, drop"),
        ("t 1, 2 -> NoAction", "table 'I.t': action 'NoAction' is unknown; known are: send, drop"),
        ("t default -> drop", "table 'I.t': action 'drop' is unknown; known are: send, NoAction"),
        (
            "t 1, 2 -> send(port=512, mac=1)",
            "table 'I.t': action 'send': 512 for 'port' does not fit 9 bits",
        ),
        ("t 1, 2 -> send(mac=1)", "table 'I.t': action 'send': parameter 'port' has no value"),
        ("t ip=1, ip=2 -> drop", "table 'I.t': key 'hdr.h.ip' is given twice"),
        ("t x=1 -> drop", "table 'I.t': key 'x' is unknown; known are: hdr.h.ip, hdr.h.port"),
        (
            "t 1..2, 3 -> drop",
            "table 'I.t': the lpm key 'hdr.h.ip' takes value/length, a value or *",
        ),
        ("v 1 -> drop", "table 'v' is unknown; known are: I.t"),
        (
            "t",
            "the entry of table 'I.t' has no key and no action; write TABLE KEY, ... -> ACTION(...)",
        ),
        ("t 1, 2", "the entry of table 'I.t' has no action; write TABLE KEY, ... -> ACTION(...)"),
        ("-> drop", "the name of a table is missing in front of '->'"),
        ("t 1, -> drop", "a number or address is missing"),
        ("t 1, y -> drop", "'y' is neither a number nor an address"),
        ("t 1, 2 priority x -> drop", "priority 'x' is not a number up to 4294967295"),
        ("t 1, 2 -> send(1", "')' is missing at the end of 'send(1'"),
        ("t 1, 2 ->", "an action is missing after '->'"),
        ("w 5", "table 'w' is unknown; known are: I.t"),
    ] {
        assert_eq!(fault(&layout, text), format!("line 1: {message}"), "{text}");
    }
    let long = "x".repeat(5000);
    for entry in [
        format!("t {long}, 1 -> drop"),
        format!("t 1, 1 -> {long}"),
        format!("t 1, 1 -> drop({long}"),
        format!("t 1, 1 -> send({long}=1)"),
        format!("t 1, 1 -> send(port={}, mac=1)", "1".repeat(5000)),
        format!("t 1/{long}, 1 -> drop"),
        format!("t 1, 1 priority {long} -> drop"),
        format!("{long} 1 -> drop"),
        long.clone(),
    ] {
        let message = fault(&layout, &entry);
        assert!(message.len() < 200 && message.contains('…'), "{message}");
    }
    let one_key = table("key = { hdr.h.ip: exact; } actions = { drop; }");
    assert_eq!(
        fault(&one_key, "t -> drop"),
        "line 1: table 'I.t' takes 1 key (hdr.h.ip), the entry has 0"
    );
    assert_eq!(
        fault(&layout, "# routes\nt 1, 1 -> drop\nt 1, 1 -> drop"),
        "line 3: table 'I.t' has two entries with the same keys"
    );
    assert_eq!(
        fault(&layout, "t 1, 1 -> drop\nt 1, 2 -> drop\nt 1, 3 -> drop"),
        "line 3: table 'I.t' has room for 2 entries"
    );
}

#[test]
fn a_file_has_comments_and_all_forms_of_values() {
    let value = |text: &str| match parse(&format!("t {text} -> a")).expect("an entry")[0].setting {
        Setting::Entry { ref keys, .. } => keys[0].1.clone(),
        _ => unreachable!(),
    };
    let exact = |number: i128| KeyValue::Exact(number.into());
    assert_eq!(value("0x1F"), exact(31));
    assert_eq!(value("0b101"), exact(5));
    assert_eq!(value("-1"), exact(-1));
    assert_eq!(value("true"), exact(1));
    assert_eq!(value("1.2.3.4"), exact(0x0102_0304));
    assert_eq!(value("0a:00:00:00:00:ff"), exact(0x0a00_0000_00ff));
    assert_eq!(value("2001:db8::1/32"), KeyValue::Prefix((0x2001_0db8i128 << 96 | 1).into(), 32));
    assert_eq!(value("1 &&& 3"), KeyValue::Mask(1.into(), 3.into()));
    assert_eq!(value("1..3"), KeyValue::Range(1.into(), 3.into()));
    assert_eq!(value("_"), KeyValue::Any);
    let entries = parse("\n# none\nt priority=1 priority 2 -> a # last\n").expect("an entry");
    assert_eq!(
        entries,
        [Entry {
            line: 3,
            table: "t".into(),
            setting: Setting::Entry {
                keys: vec![(Some("priority".into()), exact(1))],
                priority: Some(2),
                actions: vec![ActionCall { name: "a".into(), args: Vec::new() }],
            },
        }]
    );
}

// --- random tables -----------------------------------------------------------------------------

/// Match kind and width of a random key.
type Shape = (MatchKind, u32);

/// Returns the map layout of a program with one table whose keys have these kinds and widths, as
/// the module `layout` documents it.
fn random_layout(shapes: &[Shape]) -> Layout {
    let size =
        |width: u32| [1, 2, 4, 8, 16].into_iter().find(|size| width <= size * 8).unwrap_or(16);
    let is = |kind| shapes.iter().any(|one| one.0 == kind);
    let prefixes = shapes.iter().filter(|one| one.0 == MatchKind::Lpm).count();
    let (mut at, mut keys) = (0, Vec::new());
    let is_scan = is(MatchKind::Range);
    let is_tuple = !is_scan && (is(MatchKind::Ternary) || is(MatchKind::Optional) || prefixes > 1);
    let is_trie = !is_scan && !is_tuple && prefixes == 1;
    if is_scan || is_tuple || is_trie {
        at = 4;
    }
    let mut order: Vec<usize> = (0..shapes.len()).collect();
    if is_trie {
        order.sort_by_key(|one| shapes[*one].0 == MatchKind::Lpm);
    }
    let mut places = vec![(0, 0); shapes.len()];
    for one in order {
        let bytes = if is_trie { shapes[one].1.div_ceil(8) } else { size(shapes[one].1) };
        if !is_trie {
            at = u32::next_multiple_of(at, bytes.min(8));
        }
        places[one] = (at, bytes);
        at += bytes;
    }
    for ((kind, width), (offset, size)) in shapes.iter().zip(places) {
        let number = Number { name: "k".into(), width: *width, offset, size };
        keys.push(KeyLayout { number, kind: *kind });
    }
    let end = at.next_multiple_of(8);
    let maps = if is_scan {
        TableMaps::Scan { second: end, value: 2 * end, element: 2 * end + 16 }
    } else if is_tuple {
        TableMaps::TupleSpace { masks: 64 }
    } else if is_trie {
        TableMaps::Trie
    } else {
        TableMaps::Hash
    };
    let param = Number { name: "p".into(), width: 16, offset: 8, size: 2 };
    Layout {
        tables: vec![TableLayout {
            name: "t".into(),
            map: "t".into(),
            maps,
            key_size: end,
            value_size: 16,
            priority: is_tuple.then_some(4),
            size: 64,
            keys,
            actions: vec![ActionLayout {
                name: "a".into(),
                id: 1,
                params: vec![param],
                in_entries: true,
                as_default: true,
            }],
            members: None,
            meter: None,
            has_default_map: true,
            initial: Vec::new(),
        }],
        ..Layout::default()
    }
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

fn field(bytes: &[u8], key: &Number) -> u128 {
    number(&bytes[key.offset as usize..(key.offset + key.size) as usize])
}

/// Looks a packet's keys up in written maps. Returns the parameter of the action, or `None` for a
/// miss.
fn look_up(table: &TableLayout, writes: &[Update], packet: &[u128]) -> Option<u128> {
    let of = |map: &str| -> HashMap<&[u8], &[u8]> {
        writes.iter().filter(|one| one.map == map).map(|one| (&*one.key, &*one.value)).collect()
    };
    let entries = of("t");
    let pairs = || table.keys.iter().map(|key| &key.number).zip(packet);
    let param = |value: &[u8]| {
        assert_eq!(number(&value[..4]), 1);
        number(&value[8..10])
    };
    match table.maps {
        TableMaps::None => None,
        TableMaps::Hash => entries
            .iter()
            .find(|(key, _)| pairs().all(|(number, value)| field(key, number) == *value))
            .map(|(_, value)| param(value)),
        TableMaps::Trie => {
            let mut wanted = vec![0u8; table.key_size as usize];
            for (number, value) in pairs() {
                let bits = value << (number.size * 8 - number.width);
                let bytes = bits.to_be_bytes();
                let at = number.offset as usize;
                wanted[at..at + number.size as usize]
                    .copy_from_slice(&bytes[16 - number.size as usize..]);
            }
            let bit = |bytes: &[u8], at: usize| bytes[4 + at / 8] >> (7 - at % 8) & 1;
            entries
                .iter()
                .filter(|(key, _)| {
                    (0..number(&key[..4]) as usize).all(|at| bit(key, at) == bit(&wanted, at))
                })
                .max_by_key(|(key, _)| number(&key[..4]))
                .map(|(_, value)| param(value))
        }
        TableMaps::TupleSpace { masks } => {
            let all = of("t_masks");
            let mut best: Option<&[u8]> = None;
            for at in 0..masks {
                let Some(mask) = all.get(&at.to_le_bytes()[..]) else { break };
                assert_ne!(number(&mask[..4]), 0);
                let found = entries.iter().find(|(key, _)| {
                    number(&key[..4]) == u128::from(at)
                        && pairs().all(|(of, value)| value & field(mask, of) == field(key, of))
                });
                let rank = |value: &[u8]| number(&value[4..8]);
                if let Some((_, value)) = found
                    && best.is_none_or(|best| rank(value) > rank(best))
                {
                    best = Some(value);
                }
            }
            best.map(param)
        }
        TableMaps::Scan { second, value: at, .. } => (0u32..).find_map(|element| {
            let Some(bytes) = entries.get(&element.to_le_bytes()[..]) else { return Some(None) };
            assert_ne!(number(&bytes[..4]), 0);
            let matches = table.keys.iter().zip(packet).all(|(key, value)| {
                let first = field(bytes, &key.number);
                let last = field(&bytes[second as usize..], &key.number);
                match key.kind {
                    MatchKind::Exact => *value == first,
                    MatchKind::Range => (first..=last).contains(value),
                    _ => value & last == first,
                }
            });
            matches.then(|| Some(param(&bytes[at as usize..])))
        })?,
    }
}

fn ones(width: u32) -> u128 {
    u128::MAX >> (128 - width)
}

/// Returns true if a key of an entry matches a value, by the definition of its match kind.
fn matches(key: &KeyValue, value: u128, width: u32) -> bool {
    let number = |one: &BigInt| u128::try_from(one).expect("a number of 128 bits");
    match key {
        KeyValue::Any => true,
        KeyValue::Exact(one) => number(one) == value,
        KeyValue::Prefix(one, length) => {
            let drop = width - length;
            *length == 0 || number(one) >> drop == value >> drop
        }
        KeyValue::Mask(one, mask) => number(one) & number(mask) == value & number(mask),
        KeyValue::Range(low, high) => number(low) <= value && value <= number(high),
    }
}

/// Generates values that differ in few bits, so that entries match often.
fn value(width: u32) -> impl Strategy<Value = u128> {
    prop_oneof![
        3 => (0u128..4).prop_map(move |one| one & ones(width)),
        2 => (0u32..width).prop_map(|bit| 1 << bit),
        1 => any::<u128>().prop_map(move |one| one & ones(width)),
    ]
}

fn key_value((kind, width): Shape) -> BoxedStrategy<KeyValue> {
    let exact = value(width).prop_map(|one| KeyValue::Exact(one.into()));
    let any = Just(KeyValue::Any);
    let prefix =
        (value(width), 0..=width).prop_map(|(one, length)| KeyValue::Prefix(one.into(), length));
    match kind {
        MatchKind::Exact => exact.boxed(),
        MatchKind::Optional => prop_oneof![exact, any].boxed(),
        MatchKind::Lpm => prop_oneof![exact, prefix, any].boxed(),
        MatchKind::Ternary => {
            let masks = prop_oneof![Just(1u128), Just(2), Just(ones(width))];
            let mask = (value(width), masks).prop_map(move |(one, mask)| {
                KeyValue::Mask(one.into(), (mask & ones(width)).into())
            });
            prop_oneof![exact, prefix, any, mask].boxed()
        }
        MatchKind::Range => {
            let range = (value(width), value(width))
                .prop_map(|(a, b)| KeyValue::Range(a.min(b).into(), a.max(b).into()));
            prop_oneof![exact, any, range].boxed()
        }
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    let kind = prop_oneof![
        3 => Just(MatchKind::Exact),
        2 => Just(MatchKind::Lpm),
        1 => Just(MatchKind::Ternary),
        1 => Just(MatchKind::Optional),
        1 => Just(MatchKind::Range),
    ];
    (kind, prop_oneof![1u32..=128, Just(8), Just(16), Just(32), Just(128)])
}

/// A random table, its entries with priorities, and packets, given as key values.
type Case = (Vec<Shape>, Vec<(Vec<KeyValue>, Option<u32>)>, Vec<Vec<u128>>);

fn case() -> impl Strategy<Value = Case> {
    proptest::collection::vec(shape(), 1..4).prop_flat_map(|shapes| {
        let keys: Vec<_> = shapes.iter().map(|one| key_value(*one)).collect();
        let packet: Vec<_> = shapes.iter().map(|one| value(one.1)).collect();
        let entries = (keys, proptest::option::of(0u32..4));
        (
            Just(shapes),
            proptest::collection::vec(entries, 0..12),
            proptest::collection::vec(packet, 1..12),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Checks that a lookup in the written maps finds the entry that match kinds and priorities
    /// select by their definition.
    #[test]
    fn lookups_find_the_entry_that_wins((shapes, entries, packets) in case()) {
        let layout = random_layout(&shapes);
        let table = &layout.tables[0];
        let all: Vec<Entry> = (1u32..).zip(&entries).map(|(line, (keys, priority))| Entry {
            line,
            table: "t".into(),
            setting: Setting::Entry {
                keys: keys.iter().map(|key| (None, key.clone())).collect(),
                priority: *priority,
                actions: vec![ActionCall { name: "a".into(), args: vec![(None, line.into())] }],
            },
        }).collect();
        let writes = match updates(&layout, &all) {
            Ok(writes) => writes,
            Err(error) => {
                prop_assert!(error.message.ends_with("two entries with the same keys"), "{}", error);
                return Ok(());
            }
        };
        for packet in &packets {
            let found = look_up(table, &writes, packet);
            let hits = (1u128..).zip(&entries).filter(|(_, (keys, _))| {
                keys.iter().zip(packet).zip(&shapes).all(|((key, value), shape)| matches(key, *value, shape.1))
            });
            let length = |keys: &[KeyValue]| -> u32 {
                keys.iter().zip(&shapes).map(|(key, shape)| match key {
                    KeyValue::Prefix(_, length) => *length,
                    KeyValue::Any => 0,
                    _ => shape.1,
                }).sum()
            };
            let wanted = match table.maps {
                TableMaps::Trie => hits.max_by_key(|(_, (keys, _))| length(keys)),
                _ => hits.min_by_key(|(line, (_, priority))| {
                    (std::cmp::Reverse(priority.unwrap_or(0)), *line)
                }),
            };
            prop_assert_eq!(found, wanted.map(|one| one.0), "{:?} {:?}", shapes, packet);
        }
    }
}

#[test]
fn entries_share_equal_members_and_groups() {
    let made = layout(
        "@max_group_size(2) action_selector(HashAlgorithm.crc16, 3, 8) s1;
         table t { key = { hdr.h.ip: exact; hdr.h.port: selector; }
                   actions = { drop; send; } implementation = s1; }
         action_profile(1) p1;
         table u { key = { hdr.h.ip: exact; } actions = { drop; send; } implementation = p1; }",
        "t.apply(); u.apply();",
    );
    let text = "t 1 -> drop() | send(5, 6)\nt 2 -> send(5, 6)\nt 3 -> drop() | send(5, 6)\n\
                u 1 -> drop()\nu default -> send(1, 2)";
    let shown: Vec<_> = written(&made, text).iter().map(shown).collect();
    let drop = "01000000 00000000 00000000 00000000 00000000 00000000".replace(' ', "");
    let send = |port: &str, mac: &str| {
        format!("02000000000000000{port}00000000000000{mac}00000000000000").replace(' ', "")
    };
    for wanted in [
        "I_t 01000000 00000000".to_owned(),
        "I_t 02000000 01000000".to_owned(),
        "I_t 03000000 00000000".to_owned(),
        format!("I_s1 00000000 {drop}"),
        format!("I_s1 01000000 {}", send("5", "06")),
        "I_s1_groups 00000000 020000000000000001000000".to_owned(),
        "I_s1_groups 01000000 010000000100000000000000".to_owned(),
        "I_u 01000000 00000000".to_owned(),
        format!("I_p1 00000000 {drop}"),
        format!("I_u_default 00000000 {}", send("1", "02")),
    ] {
        assert!(shown.contains(&wanted), "{wanted} is not in {shown:#?}");
    }
    assert_eq!(shown.len(), 10);
    let fault = |text: &str| {
        parse(text).and_then(|entries| updates(&made, &entries)).unwrap_err().to_string()
    };
    for (text, wanted) in [
        (
            "u 1 -> drop() | drop()",
            "line 1: table 'I.u' has no selector, so an entry takes one action",
        ),
        ("u 1 -> drop()\nu 2 -> send(1, 1)", "line 2: 'I.p1' has room for 1 members"),
        ("t 1 -> drop() | drop() | drop()", "line 1: 'I.s1' has room for 2 members of a group"),
        ("t default -> drop() | drop()", "line 1: a default entry takes one action"),
    ] {
        assert_eq!(fault(text), wanted);
    }
}

#[test]
fn members_are_known_if_the_entries_of_all_their_tables_are() {
    let made = layout(
        "action_profile(4) p1;
         table t { key = { hdr.h.ip: exact; } actions = { drop; send; } implementation = p1; }
         table u { key = { hdr.h.port: exact; } actions = { drop; send; } implementation = p1; }
         direct_meter<bit<8>>(MeterType.bytes) m;
         table v { key = { hdr.h.port: exact; } actions = { drop; } meters = m; }",
        "t.apply(); u.apply(); v.apply();",
    );
    let maps = |text: &str| map_content(&made, &parse(text).expect("entries"));
    assert!(!maps("t 1 -> drop()").expect("maps").contains_key("I_p1"));
    let both = maps("t 1 -> drop()\nu 1 -> drop()").expect("maps");
    assert_eq!(both["I_p1"].len(), 1);
    // Packets change the meter, so that the value of the entry is not constant.
    let fault = maps("v 1 -> drop()").unwrap_err().to_string();
    assert!(fault.starts_with("line 1: table 'I.v' has a direct meter"), "{fault}");
}
