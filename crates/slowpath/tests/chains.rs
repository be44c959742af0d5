//! Programs that run behind others: what the first one lets through is all that the second one gets,
//! and its maps are its own unless they are shared. Sources: `objects/chain_*.bpf.c`.

mod common;

use common::{accesses, object, run};
use serde_json::Value;
use slowpath::{Handover, ProgramFile, ProgramRequest};
use slowpath_bpf::{Object, Part};

const PASS: u32 = 2;
const TX: u32 = 3;

/// Accesses of memory of slow ways of the second program, besides those that every packet needs.
const IPV4: u64 = 40;
const UNSEEN: u64 = 80;
const ZERO: u64 = 160;

/// Most accesses of memory of both programs.
fn chained(results: Vec<u32>, shared: bool) -> Value {
    let objects = ["chain_first.bpf.o", "chain_second.bpf.o"]
        .map(|file| Object::parse(&object(file)).expect("an object"));
    let parts = [("first", &objects[0]), ("second", &objects[1])]
        .map(|(name, object)| Part { name, object });
    let joined = Object::join(&parts, |_, _| shared);
    let handover = Handover { from: joined.programs[0], results, to: joined.programs[1] };
    let chain = ProgramFile::chain("chain", joined.object, joined.programs[0], vec![handover]);
    run(ProgramRequest { options: accesses(), ..ProgramRequest::of("chain", chain) }).0
}

fn alone(file: &str) -> Value {
    let read = ProgramFile::read(&object(file)).expect("an object");
    run(ProgramRequest { options: accesses(), ..ProgramRequest::of(file, read) }).0
}

fn guaranteed(result: &Value) -> u64 {
    assert_eq!(result["error"], Value::Null, "{result}");
    assert_eq!(result["guarantee"]["verdict"], "exact", "{result}");
    result["guarantee"]["counts"]["memory accesses"].as_u64().expect("a number")
}

#[test]
fn the_second_program_gets_what_the_first_one_lets_through() {
    let (first, second) =
        (guaranteed(&alone("chain_first.bpf.o")), guaranteed(&alone("chain_second.bpf.o")));
    assert!(second > ZERO, "{second}");
    // Neither IPv4 nor a zero gets there, but an array of its own may hold a zero.
    let passed = guaranteed(&chained(vec![PASS], false));
    assert!((first + UNSEEN..first + UNSEEN + IPV4).contains(&passed), "{first} {second} {passed}");
    // What the first one has set, the second one finds.
    let shared = guaranteed(&chained(vec![PASS], true));
    assert!((first..first + IPV4).contains(&shared), "{shared}");
    // Behind both results, a zero gets there.
    let both = guaranteed(&chained(vec![PASS, TX], true));
    assert!((first + ZERO..first + second).contains(&both), "{both}");
    // It runs behind no result that the first one has.
    assert_eq!(guaranteed(&chained(vec![4], false)), first);
}

#[test]
fn the_witness_passes_both() {
    let result = chained(vec![PASS], false);
    let witness = &result["paths"][0]["witness"];
    let packet = witness["packet"].as_str().expect("bytes");
    assert_eq!(&packet[24..28], "86dd", "{packet}");
    assert_ne!(&packet[40..42], "00", "{packet}");
    let maps = witness["maps"].to_string();
    assert!(maps.contains("first:seen") || maps.contains("second:seen"), "{maps}");
}
