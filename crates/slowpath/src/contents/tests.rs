use super::{bytes, read};
use serde_json::json;
use slowpath_bpf::Object;
use slowpath_bpf::lift::EntryValue;
use std::path::PathBuf;

fn object(name: &str) -> Object {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    Object::parse(&std::fs::read(path).expect("the object exists")).expect("an object")
}

fn monitor() -> Object {
    object("examples/flow_monitor.bpf.o")
}

fn error(text: &str) -> String {
    let error = read(text, &monitor()).expect_err("refused").to_string();
    assert!(error.starts_with("--maps:") && !error.contains('\n'), "{error}");
    error
}

#[test]
fn toml_and_json_say_the_same() {
    let (key, value) = ("00".repeat(40), "--".repeat(31) + "ff");
    let toml = format!("[[flows]]\nkey = \"{key}\"\nvalue = \"{value}\"\n");
    let json = json!({ "flows": [{ "key": key, "value": value }] }).to_string();
    let contents = read(&toml, &monitor()).expect("valid");
    assert_eq!(contents, read(&json, &monitor()).expect("valid"));
    let entry = &contents["flows"].entries[0];
    assert_eq!(entry.key, [0; 40]);
    let mut bytes = vec![0; 32];
    bytes[31] = 0xff;
    assert_eq!(entry.value, EntryValue::Bytes(bytes));
    assert!(read("", &monitor()).expect("valid").is_empty());
    assert!(read("flows = []\n", &monitor()).expect("valid")["flows"].entries.is_empty());
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
        (json!("zz"), 1, "is no byte"),
        (json!("+1"), 1, "is no byte"),
        (json!(256), 1, "does not fit"),
        (json!(-129), 1, "does not fit"),
        (json!(1.5), 8, "no integer"),
        (json!([1, 2, 3]), 8, "do not divide"),
        (json!([]), 8, "do not divide"),
        (json!({}), 8, "must be"),
    ] {
        let error = bytes(value.clone(), size).expect_err("refused");
        assert!(error.contains(word), "{value}: {error}");
    }
}

#[test]
fn errors_name_map_and_entry() {
    assert!(error("flowz = []\n").contains("map flowz: there is no map of this name"));
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
    assert!(error(beyond).contains("entry 1: `key` is not below 1"));
}

#[test]
fn errors_of_syntax_name_the_line() {
    assert!(error("\n[flows\n").starts_with("--maps:2: neither TOML nor JSON"));
    assert!(error("{\n\"flows\": [}\n").starts_with("--maps:2: not JSON"));
    assert!(error("{\"a\": }").starts_with("--maps:1: not JSON"));
}
