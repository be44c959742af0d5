//! Tests witnesses of random pipelines in DPDK. With the table entries of a witness, DPDK must send
//! the packet that the witness states, or drop it if the witness says so.

#[path = "../../swx/tests/driver.rs"]
mod driver;
#[path = "../../swx/tests/generate.rs"]
mod generate;

use crate::common::run;
use driver::{compiled, in_folder};
use generate::{Random, pipeline};
use serde_json::Value;
use slowpath::{Options, ProgramFile, ProgramRequest};
use slowpath_oracle::Oracle;
use slowpath_swx::spec::Spec;
use std::process::Command;

/// A pipeline that writes a field of header `b` before `b` is valid. In a new pipeline, `b` has
/// memory outside the packet, and `validate` keeps the content of this memory.
const OWN_MEMORY: &str = "
struct tag_t {
	bit<16> number
}
struct metadata_t {
	bit<32> port
}
header a instanceof tag_t
header b instanceof tag_t
metadata instanceof metadata_t
apply {
	rx m.port
	extract h.a
	jmpeq LONG h.a.number 0x800
	mov h.b.number 0x1234
	validate h.b
	jmp SEND
	LONG : extract h.b
	SEND : emit h.b
	emit h.a
	tx m.port
}
";

/// A pipeline that recirculates packets, each with an additional header. In the second pass, the
/// packet finds an entry in a table.
const PASSES: &str = "
struct tag_t {
	bit<16> number
}
struct metadata_t {
	bit<32> port
	bit<32> pass
	bit<64> unused
}
struct set_t {
	bit<16> value
}
header a instanceof tag_t
header b instanceof tag_t
metadata instanceof metadata_t
action set args instanceof set_t {
	mov h.a.number t.value
	return
}
action nothing args none {
	return
}
table numbers {
	key {
		h.a.number exact
	}
	actions {
		set
		nothing
	}
	default_action nothing args none const
	size 16
}
apply {
	rx m.port
	recircid m.pass
	validate h.b
	invalidate h.b
	extract h.a
	jmpgt LAST m.pass 0
	jmplt SHORT h.a.number 7
	validate h.b
	mov h.b.number 0x1234
	recirculate
	emit h.b
	emit h.a
	tx m.port
	SHORT : drop
	LAST : jmpgt OTHER m.pass 1
	jmpneq OTHER h.a.number 0x1234
	table numbers
	OTHER : extract h.b
	jmpgt MORE m.pass 1
	jmpneq MORE h.a.number 9
	recirculate
	MORE : emit h.b
	emit h.a
	tx m.port
}
";

/// Returns the witnesses of a pipeline's paths.
fn witnesses(text: &str) -> Vec<Value> {
    let read = ProgramFile::read(text.as_bytes()).expect("a pipeline");
    let options = Options { target: "dpdk-swx".into(), paths: Some(12), ..Options::default() };
    let (result, _) = run(ProgramRequest { options, ..ProgramRequest::of("a.spec", read) });
    assert_eq!(result["error"], Value::Null, "{text}");
    let paths = result["paths"].as_array().expect("paths");
    paths.iter().map(|path| path["witness"]["pipeline"].clone()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// Returns the commands that install the entries of a witness, and send its packet.
fn commands(witness: &Value, spec: &Spec) -> String {
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let constant = |table: &str| {
        spec.tables.iter().any(|one| one.name == table && one.default_action.constant)
    };
    let mut commands = String::new();
    for lookup in list(&witness["entries"]) {
        let key: Vec<String> =
            list(&lookup["key"]).iter().map(|field| text(&field["value"]).to_owned()).collect();
        let data: String = list(&lookup["data"])
            .iter()
            .map(|field| {
                let name = text(&field["field"]).strip_prefix("t.").expect("action data");
                format!(" {name} {}", text(&field["value"]))
            })
            .collect();
        let (table, action) = (text(&lookup["table"]), text(&lookup["action"]));
        let line = match lookup["hit"].as_bool() {
            Some(true) => format!("entry {table} match {} action {action}{data}", key.join(" ")),
            _ if constant(table) => continue,
            _ => format!("default {table} action {action}{data}"),
        };
        commands += &line;
        commands.push('\n');
    }
    commands + text(&witness["packet"]) + "\n"
}

/// A pipeline with two tables: `Ingress_large` has room for 1,000,000 entries, and `Ingress_small`
/// for 100.
const TWO_TABLES: &str = "
struct tag_t {
	bit<16> number
	bit<16> kind
}
struct metadata_t {
	bit<32> port
}
header a instanceof tag_t
metadata instanceof metadata_t
action nothing args none {
	return
}
table Ingress_large {
	key {
		h.a.number exact
	}
	actions {
		nothing
	}
	default_action nothing args none const
	size 1000000
}
table Ingress_small {
	key {
		h.a.kind wildcard
	}
	actions {
		nothing
	}
	default_action nothing args none const
	size 100
}
apply {
	rx m.port
	extract h.a
	table Ingress_large
	table Ingress_small
	emit h.a
	tx m.port
}
";

fn estimated(options: Options) -> Value {
    let read = ProgramFile::read(TWO_TABLES.as_bytes()).expect("a pipeline");
    let options = Options { target: "dpdk-swx".into(), ..options };
    let (result, _) = run(ProgramRequest { options, ..ProgramRequest::of("a.spec", read) });
    result
}

fn entries(all: Option<u64>, named: &[(&str, u64)]) -> Options {
    let entries_of = named.iter().map(|&(name, entries)| (name.to_owned(), entries)).collect();
    Options { entries: all, entries_of, ..Options::default() }
}

#[test]
fn estimates_are_the_sum_of_the_parts_of_the_path() {
    let result = estimated(Options::default());
    assert_eq!(result["error"], Value::Null);
    let number = |value: &Value| value.as_f64().expect("a number");
    let path = &result["paths"][0];
    let parts = path["estimate"]["parts"].as_array().expect("parts");
    let runs: u64 = parts.iter().map(|part| part["runs"].as_u64().unwrap()).sum();
    assert_eq!(runs, path["cost"]["instructions"].as_u64().unwrap());
    for (end, key) in [("warm", "warm_ns"), ("cold", "cold_ns")] {
        let sum: f64 = parts.iter().map(|part| number(&part[key])).sum();
        assert!((sum - number(&path["estimate"][end]["ns"])).abs() < 0.01, "{path:#}");
        let lines = result["profile"]["lines"].as_array().expect("lines");
        let lines: f64 = lines.iter().map(|line| number(&line["cost"][key])).sum();
        assert!((sum - lines).abs() < 0.01, "{path:#}");
    }
    let exact = parts.iter().find(|part| part["part"] == "table.exact.hit").expect("a lookup");
    assert_eq!(exact["key_bytes"], 2);
}

#[test]
fn entries_of_tables_can_be_set_one_by_one() {
    let cold = |options: Options| {
        let result = estimated(options);
        let estimate = &result["estimate"]["cold"];
        (estimate["ns"].as_f64().expect("a time"), estimate["entries"].as_str().unwrap().to_owned())
    };
    let (full, few) = (cold(entries(None, &[])), cold(entries(Some(1), &[])));
    assert!(full.0 > few.0);
    assert_eq!((full.1.as_str(), few.1.as_str()), ("full", "1"));
    let named = cold(entries(None, &[("large", 1_000_000), ("small", 100)]));
    assert_eq!(named, (full.0, "large=1000000,small=100, others full".to_owned()));
    // The number of a named table counts even if the table has less room.
    let more = cold(entries(Some(1), &[("small", 20_000)]));
    assert!(few.0 < more.0);
    assert_eq!(more.1, "small=20000, others 1");
    // Tables share the caches: entries of one slow lookups of the other, if it has some.
    let both = |small| cold(entries(None, &[("large", 300_000), ("small", small)])).0;
    let alone = both(1) - few.0;
    let second = both(300_000) - both(1);
    assert!(both(300_000) - few.0 > 1.5 * alone && second > 0.0);
    // The sum of both is beyond the measurements, although each table is not.
    let beyond = estimated(entries(None, &[("large", 900_000), ("small", 900_000)]));
    let notes = beyond["notes"].to_string();
    assert!(
        notes.contains("table.exact.hit was measured only with 1 to 1000000 entries"),
        "{notes}"
    );
    let wrong = estimated(entries(None, &[("big", 3)]));
    let message = wrong["error"].as_str().unwrap();
    assert!(
        message.contains("no map or table is named big; write one of Ingress_large, Ingress_small"),
        "{message}"
    );
    let whole = cold(entries(Some(1), &[("Ingress_small", 20_000)]));
    assert_eq!(whole.0, more.0);
    let none = estimated(entries(None, &[("small", 0)]));
    assert!(none["error"].as_str().unwrap().contains("--entries small=0"), "{none}");
}

#[test]
fn bounds_include_further_passes() {
    let bound = |text: &str| {
        let read = ProgramFile::read(text.as_bytes()).expect("a pipeline");
        let options = Options { target: "dpdk-swx".into(), ..Options::default() };
        run(ProgramRequest { options, ..ProgramRequest::of("a.spec", read) }).0
    };
    // With 9 in the entry, the packet takes 13 instructions in the first pass, 18 in the second, and
    // 12 in the third.
    let result = bound(PASSES);
    assert_eq!(result["error"], Value::Null);
    let (path, guarantee) = (&result["paths"][0], &result["guarantee"]);
    // DPDK does not check the length of packets.
    assert_eq!(guarantee["verdict"], "conditional", "{guarantee:#}");
    assert_eq!(guarantee["stopped"], Value::Null, "{guarantee:#}");
    assert_eq!(path["cost"]["instructions"], 13 + 18 + 12, "{path:#}");
    let witness = &path["witness"]["pipeline"];
    assert_eq!(witness["entries"].as_array().map(Vec::len), Some(1), "{witness:#}");
    assert!(text(&witness["output"]).starts_with("0009"), "{witness:#}");
    // Without a limit, no number of passes is enough.
    let endless = PASSES.replace("\tjmpgt MORE m.pass 1\n", "");
    let result = bound(&endless);
    let message = result["error"].as_str().expect("an error");
    assert!(message.contains("a packet may take more than 32 passes"), "{message}");
    let dropped = PASSES.replace("tx m.port\n\tSHORT", "drop\n\tSHORT");
    let message = bound(&dropped)["error"].as_str().expect("an error").to_owned();
    assert!(message.contains("dropped after 'recirculate'"), "{message}");
}

#[test]
fn dpdk_sends_the_packets_of_witnesses() {
    in_folder("witnesses", |folder| {
        let Some(program) = compiled("../swx/tests/dpdk_run.c", folder) else { return };
        let mut random = Random(0x6a09_e667_f3bc_c909);
        let (mut files, mut expected) = (Vec::new(), Vec::new());
        let cases = slowpath_oracle::random_cases(10_u32);
        // DPDK numbers entries in its own way.
        let random = (0..cases).map(|_| pipeline(&mut random).replace("entryid m.", "mov m.m1 m."));
        for spec in random.chain([OWN_MEMORY.to_owned(), PASSES.to_owned()]) {
            let parsed = slowpath_swx::parse(&spec).expect("the text is right");
            for witness in witnesses(&spec) {
                if witness["initial_state"] != Value::Array(vec![]) || witness["port"] != 0 {
                    continue; // DPDK is new for each packet
                }
                let file = folder.join(format!("{}.spec", files.len()));
                std::fs::write(&file, slowpath_swx::print(&parsed)).expect("a file");
                std::fs::write(format!("{}.run", file.display()), commands(&witness, &parsed))
                    .expect("a file");
                let output = &witness["output"];
                let shown =
                    format!("{} {}", u8::from(output.is_null()), output.as_str().unwrap_or(""));
                files.push(file);
                expected.push((shown, format!("{spec}\n{witness:#}")));
            }
        }
        let output = Command::new(&program).args(&files).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).expect("the program prints text");
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), expected.len());
        for (line, (expected, witness)) in lines.iter().zip(&expected) {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(format!("{} {}", words[0], words[2]), *expected, "{witness}");
        }
        assert!(lines.len() > 30, "{} witnesses", lines.len());
        let dropped = expected.iter().filter(|(shown, _)| shown == "1 ").count();
        assert!(dropped > 0 && dropped < lines.len(), "{dropped} packets are dropped");
        Oracle::Dpdk.compared(lines.len(), "packets of witnesses");
    });
}
