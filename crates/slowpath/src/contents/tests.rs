use super::{bytes, initial_maps, map_contents, runner_maps};
use serde_json::json;
use slowpath_bpf::lift::EntryValue;
use slowpath_bpf::{MapKind, Object};
use std::path::PathBuf;

fn object(name: &str) -> Object {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    Object::parse(&std::fs::read(path).expect("the object exists")).expect("an object")
}

fn monitor() -> Object {
    object("examples/flow_monitor.bpf.o")
}

fn error(text: &str) -> String {
    let error = map_contents(text, &monitor()).expect_err("refused").to_string();
    assert!(error.starts_with("--maps:") && !error.contains('\n'), "{error}");
    error
}

#[test]
fn toml_and_json_say_the_same() {
    let (key, value) = ("00".repeat(40), "--".repeat(31) + "ff");
    let toml = format!("[[flows]]\nkey = \"{key}\"\nvalue = \"{value}\"\n");
    let json = json!({ "flows": [{ "key": key, "value": value }] }).to_string();
    let contents = map_contents(&toml, &monitor()).expect("valid");
    assert_eq!(contents, map_contents(&json, &monitor()).expect("valid"));
    let entry = &contents["flows"].entries[0];
    assert_eq!(entry.key, [0; 40]);
    let mut bytes = vec![0; 32];
    bytes[31] = 0xff;
    assert_eq!(entry.value, EntryValue::Bytes(bytes));
    assert!(map_contents("", &monitor()).expect("valid").is_empty());
    assert!(map_contents("flows = []\n", &monitor()).expect("valid")["flows"].entries.is_empty());
}

#[test]
fn keys_and_values_are_written_in_several_ways() {
    let bytes = |value, size| bytes::read(&value, size);
    assert_eq!(bytes(json!("0a FF"), 2), Ok(vec![0x0a, 0xff]));
    assert_eq!(bytes(json!(258), 4), Ok(vec![2, 1, 0, 0]));
    assert_eq!(bytes(json!(-1), 16), Ok(vec![0xff; 16]));
    assert_eq!(bytes(json!(u64::MAX), 8), Ok(vec![0xff; 8]));
    assert_eq!(bytes(json!([1, 2]), 8), Ok(vec![1, 0, 0, 0, 2, 0, 0, 0]));
    assert_eq!(bytes(json!([1, 2]), 2), Ok(vec![1, 2]));
    for (value, size, word) in [
        (json!("0"), 1, "1 hexadecimal digits, not 2"),
        (json!("zz"), 1, "is not a byte"),
        (json!("+1"), 1, "is not a byte"),
        (json!(256), 1, "does not fit"),
        (json!(-129), 1, "does not fit"),
        (json!(1.5), 8, "not an integer"),
        (json!([1, 2, 3]), 8, "do not divide"),
        (json!([]), 8, "do not divide"),
        (json!({}), 8, "must be"),
    ] {
        let error = bytes(value.clone(), size).expect_err("refused");
        assert!(error.contains(word), "{value}: {error}");
    }
}

#[test]
fn large_values_are_given_in_pieces() {
    let bytes = |value, size| bytes::read(&value, size);
    let pieces = json!({ "2": "0102", "300": "ff" });
    let mut expected = vec![0; 301];
    (expected[2], expected[3], expected[300]) = (1, 2, 0xff);
    assert_eq!(bytes(pieces.clone(), 1 << 20), Ok(expected.clone()));
    assert_eq!(bytes(pieces, u32::MAX), Ok(expected));
    assert_eq!(bytes(json!({}), u32::MAX), Ok(vec![]));
    assert_eq!(bytes(json!(7), u32::MAX), Ok(vec![7, 0, 0, 0, 0, 0, 0, 0]));
    for (value, word) in [
        (json!({ "x": "00" }), "not an offset"),
        (json!({ "-1": "00" }), "not an offset"),
        (json!({ "0": 1 }), "no digits"),
        (json!({ "0": "0" }), "digits, not 2"),
        (json!({ "4294967295": "00" }), "ends at"),
        (json!({ "67108864": "00" }), "first 64 MiB"),
        (json!(-1), "cannot be given"),
        (json!("00"), "digits, not 8589934590"),
        (json!([1, 2]), "do not divide"),
    ] {
        let error = bytes(value.clone(), u32::MAX).expect_err("refused");
        assert!(error.contains(word), "{value}: {error}");
    }
}

#[test]
fn missing_entries_do_not_count_and_others_do() {
    let limit =
        monitor().maps.iter().find(|map| map.name == "flows").expect("is there").max_entries;
    let key = |n: u32| format!("{n:080x}");
    let value = "00".repeat(32);
    let mut entries: Vec<_> = (0..3).map(|n| json!({ "key": key(n), "value": null })).collect();
    entries.push(json!({ "key": key(9), "value": value }));
    entries.push(json!({ "others": limit - 1 }));
    let contents =
        map_contents(&json!({ "flows": entries }).to_string(), &monitor()).expect("valid");
    assert_eq!(contents["flows"].entries.len(), 1);
    assert_eq!(contents["flows"].others, u64::from(limit) - 1);
    entries.push(json!({ "others": 1 }));
    let error =
        map_contents(&json!({ "flows": entries }).to_string(), &monitor()).expect_err("too many");
    assert!(error.to_string().contains("entries exceed"), "{error}");
}

#[test]
fn errors_name_map_and_entry() {
    assert!(error("flowz = []\n").contains("map flowz: unknown map"));
    assert!(error("flowz = []\n").contains("events, flows, .rodata, .bss"));
    assert!(error("flows = 3\n").contains("map flows: must be a list"));
    assert!(error("flows = [3]\n").contains("map flows: entry 1: must be a table"));
    let good = format!("{{ key = \"{}\", value = 0 }}", "00".repeat(40));
    assert!(error(&format!("flows = [{good}, {good}]\n")).contains("entry 2: another entry"));
    assert!(error(&format!("flows = [{good}, {{ key = 1 }}]\n")).contains("entry 2: `value`"));
    let other = good.replace("value", "program");
    assert!(error(&format!("flows = [{other}]\n")).contains("unknown key `program`"));
    let region = "{\"flows\": [{\"offset\": 0, \"bytes\": \"00\"}]}";
    assert!(error(region).contains("entry 1: unknown key"));
    assert!(error("events = []\n").contains("ringbuf has no entries"));
    let beyond = "[[\".bss\"]]\nkey = 1\nvalue = 0\n";
    assert!(error(beyond).contains("entry 1: `key` must be below 1"));
}

#[test]
fn initial_maps_have_the_stated_content() {
    let start = |maps: serde_json::Value| {
        initial_maps(&maps.to_string(), &monitor()).map_err(|error| error.to_string())
    };
    assert_eq!(initial_maps("", &monitor()).expect("valid"), json!({ "maps": {} }));
    let given = json!({ "flows": [
        { "key": "00".repeat(40), "value": "--".repeat(31) + "ff" },
        { "key": "01".repeat(40), "value": null },
        { "others": 3 },
    ] });
    let written = json!({ "maps": { "flows": [
        { "key": "00".repeat(40), "value": "00".repeat(31) + "ff" },
        { "others": 3 },
    ] } });
    assert_eq!(start(given).expect("valid"), written);
    // A map defined by the object is zero if its content is not stated; read-only maps cannot be
    // written.
    let size = |name: &str| {
        let object = monitor();
        object.maps.iter().find(|map| map.name == name).expect("is there").value_size as usize
    };
    let zero = start(json!({ ".bss": [] })).expect("valid");
    assert!(zero["maps"][".bss"].as_array().is_some_and(|entries| entries.len() <= 1), "{zero}");
    let other = "a5".repeat(size(".rodata"));
    let refused = start(json!({ ".rodata": [{ "key": 0, "value": other }] })).expect_err("refused");
    assert!(refused.contains("map .rodata: the map is read-only"), "{refused}");
}

#[test]
fn runner_maps_include_program_arrays() {
    let features = object("crates/kernel/tests/objects/features.bpf.o");
    let run = |text: &str| {
        let maps = runner_maps(text, &features).map_err(|error| error.to_string());
        maps.map(|maps| maps["maps"]["calls"].clone())
    };
    let by_object = json!([
        { "key": "01000000", "program": "answer" },
        { "key": "02000000", "program": "again" },
    ]);
    assert_eq!(run(""), Ok(by_object));
    let told = "[[calls]]\nkey = 3\nprogram = \"answer\"\n";
    assert_eq!(run(told), Ok(json!([{ "key": "03000000", "program": "answer" }])));
    assert_eq!(run("calls = []"), Ok(json!([])));
    let refused = run("calls = [{ others = 2 }]").expect_err("refused");
    assert!(refused.contains("`others` is not enough to fill a"), "{refused}");
    let refused = initial_maps(told, &features).expect_err("refused").to_string();
    assert!(refused.contains("object, which alone can fill this"), "{refused}");
}

#[test]
fn runner_maps_include_maps_of_maps() {
    let object = object("crates/slowpath/tests/objects/maps.bpf.o");
    let run = |text: &str| {
        let maps = runner_maps(text, &object).map_err(|error| error.to_string());
        maps.map(|maps| maps["maps"].clone())
    };
    let outer = |text: &str| run(text).expect("valid")["outer"].clone();
    assert_eq!(outer(""), json!([{ "key": "00000000", "map": "first" }]));
    assert_eq!(outer("first = []"), json!([{ "key": "00000000", "map": "first" }]));
    assert_eq!(outer("outer = []"), json!([]));
    let told = "outer = [{ key = 1, map = \"first\" }]";
    assert_eq!(outer(told), json!([{ "key": "01000000", "map": "first" }]));
    let within = "\"outer.inner\" = [{ map = \"first\", key = 2, value = 7 }]";
    let filled = json!([{ "map": "first", "key": "02000000", "value": "0700000000000000" }]);
    assert_eq!(run(within).expect("valid")["outer.inner"], filled);
    for (text, word) in [
        (within.replace("first", "outer#1"), "no entry of outer holds outer#1"),
        (format!("first = []\n{within}"), "the content of first is also given under its own name"),
        (
            "\"outer.inner\" = [{ map = \"first\", max_entries = 9 }]".into(),
            "the object defines the size of first",
        ),
        ("outer = [{ others = 1 }]".into(), "`others` is not enough to fill a array_of_maps"),
    ] {
        let refused = run(&text).expect_err("refused");
        assert!(refused.contains(word), "{text}: {refused}");
    }
    let refused = initial_maps(told, &object).expect_err("refused").to_string();
    assert!(refused.contains("object, which alone can fill this"), "{refused}");
}

#[test]
fn queues_in_maps_of_maps_have_entries_in_order() {
    let mut object = object("crates/slowpath/tests/objects/maps.bpf.o");
    let outer = object.maps.iter_mut().find(|map| map.name == "outer").expect("is there");
    outer.slots.clear();
    let inner = outer.inner.as_mut().expect("is there");
    (inner.kind, inner.key_size) = (MapKind::QUEUE, 0);
    let told = "outer = [{ key = 1, map = \"outer#1\" }]\n\"outer.inner\" = [\
        { map = \"outer#1\", value = 9 }, { map = \"outer#1\", others = 1 }, \
        { map = \"outer#1\", value = 9 }]";
    let given = json!([
        { "map": "outer#1", "value": "0900000000000000" },
        { "map": "outer#1", "value": "0900000000000000" },
        { "map": "outer#1", "others": 1 },
    ]);
    assert_eq!(runner_maps(told, &object).expect("valid")["maps"]["outer.inner"], given);
    let refused = initial_maps(told, &object).expect_err("refused").to_string();
    assert!(refused.contains("entry 1: unknown key `value`"), "{refused}");
    let wrong = "\"outer.inner\" = [{ map = \"first\", key = 1, value = 9 }]";
    let refused = runner_maps(wrong, &object).expect_err("refused").to_string();
    assert!(refused.contains("entries of this map have `map` and `value`"), "{refused}");
}

#[test]
fn runner_maps_include_bloom_filters() {
    let mut object = object("crates/slowpath/tests/objects/maps.bpf.o");
    let filter = object.maps.iter_mut().find(|map| map.name == "fixed").expect("is there");
    (filter.kind, filter.key_size) = (MapKind::BLOOM_FILTER, 0);
    assert_eq!((filter.value_size, filter.max_entries), (8, 4));
    // A bloom filter takes more values than its limit, and duplicates.
    let told = "fixed = [{ value = 1 }, { value = 1 }, { value = 513 }, { others = 9 }]";
    let maps = runner_maps(told, &object).expect("valid");
    let given = json!([
        { "value": "0100000000000000" },
        { "value": "0100000000000000" },
        { "value": "0102000000000000" },
        { "others": 9 },
    ]);
    assert_eq!(maps["maps"]["fixed"], given);
    let refused = runner_maps("fixed = [{ key = 1, value = 1 }]", &object).expect_err("refused");
    assert!(refused.to_string().contains("entries of this map have `value`"), "{refused}");
    let refused = initial_maps(told, &object).expect_err("refused").to_string();
    assert!(refused.contains("a bloom_filter has no entries with keys"), "{refused}");
}

#[test]
fn errors_of_syntax_name_the_line() {
    assert!(error("\n[flows\n").starts_with("--maps:2: neither TOML nor JSON"));
    assert!(error("{\n\"flows\": [}\n").starts_with("--maps:2: not JSON"));
    assert!(error("{\"a\": }").starts_with("--maps:1: not JSON"));
}

#[test]
fn duplicate_json_keys_are_rejected() {
    for text in
        [r#"{"flows": [], "flows": []}"#, r#"{"flows": [{"key": 1, "key": 2, "value": 1}]}"#]
    {
        let error = error(text);
        assert!(error.contains("is defined twice"), "{error}");
    }
}

#[test]
fn prefixes_are_no_longer_than_keys() {
    use slowpath_bpf::MapDef;
    let mut object = monitor();
    let trie = MapDef {
        kind: MapKind::LPM_TRIE,
        key_size: 8,
        value_size: 1,
        max_entries: 9,
        ..MapDef::new("rules")
    };
    object.maps.push(trie);
    for (length, fits) in [(0, true), (32, true), (33, false), (40, false), (u32::MAX, false)] {
        let key = format!("{:08x}0a000000", length.to_be());
        let text = json!({ "rules": [{ "key": key, "value": 1 }] }).to_string();
        let read = map_contents(&text, &object);
        assert_eq!(read.is_ok(), fits, "{length}: {read:?}");
        if let Err(error) = read {
            assert!(error.to_string().contains("bits, and its keys have 32"), "{error}");
        }
    }
}
