//! Tests chains of programs. The second program receives only packets that the first one passes on.
//! It has its own maps, unless they are shared. Sources: `objects/chain_*.bpf.c`.

use crate::common;

use common::{accesses, memory_accesses, object, run};
use serde_json::Value;
use slowpath::{
    ChainMember, Handover, Network, Options, ProgramChain, ProgramFile, ProgramRequest,
};
use slowpath_bpf::{Object, Part};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const ABORTED: u32 = 0;
const PASS: u32 = 2;
const TX: u32 = 3;
const REDIRECT: u32 = 4;

/// Number of memory accesses that the second program's slow path for IPv4 packets adds. `UNSEEN`
/// and `ZERO` are the numbers for its other slow paths.
const IPV4: u64 = 40;
const UNSEEN: u64 = 80;
const ZERO: u64 = 160;

/// Analyses a chain of two programs for the maximum number of memory accesses. The second program
/// runs if the first one returns one of `results`. With `shared`, the programs share their maps.
fn chained(results: Vec<u32>, shared: bool) -> Value {
    chain_of(&["first", "second"], &[(0, results, 1)], shared)
}

/// Finds the maximum number of memory accesses of a chain of programs. Each edge has the index of a
/// program, results of this program, and the index of the program that runs after these results.
fn chain_of(names: &[&str], edges: &[(usize, Vec<u32>, usize)], shared: bool) -> Value {
    run_chain(names, edges, shared, None, None)
}

/// Analyses a chain like [`chain_of`]. Packets cross `network` between its programs, and only the
/// accesses of the program `counted` are counted.
fn run_chain(
    names: &[&str],
    edges: &[(usize, Vec<u32>, usize)],
    shared: bool,
    network: Option<&Network>,
    counted: Option<usize>,
) -> Value {
    run_received(names, edges, shared, (network, counted), None)
}

/// Finds the maximum number of memory accesses like [`run_chain`], for packets that arrive as
/// `receive` describes.
fn run_received(
    names: &[&str],
    edges: &[(usize, Vec<u32>, usize)],
    shared: bool,
    (network, counted): (Option<&Network>, Option<usize>),
    receive: Option<&str>,
) -> Value {
    let parse = |name: &&str| {
        let file = format!("chain_{}.bpf.o", name.trim_end_matches('\''));
        Object::parse(&object(&file)).expect("an object")
    };
    let objects: Vec<Object> = names.iter().map(parse).collect();
    let part = |(name, object)| Part { name, object };
    let parts: Vec<Part<'_>> = names.iter().copied().zip(&objects).map(part).collect();
    let joined = Object::join(&parts, |_, _| shared);
    let handover = |(from, results, to): &(usize, Vec<u32>, usize)| Handover {
        from: joined.programs[*from],
        results: results.clone(),
        mask: u32::MAX,
        network: network.cloned(),
        to: joined.programs[*to],
    };
    let member = |(name, &program): (&&str, &usize)| ChainMember {
        name: (*name).to_owned(),
        program,
        programs: program..program + 1,
    };
    let chain = ProgramFile::chain(ProgramChain {
        name: "chain".to_owned(),
        entry: joined.programs[0],
        handovers: edges.iter().map(handover).collect(),
        assumptions: Vec::new(),
        counted: counted.map(|number| BTreeSet::from([joined.programs[number]])),
        members: names.iter().zip(&joined.programs).map(member).collect(),
        arriving: None,
        contents: BTreeMap::new(),
        object: Arc::new(joined.object),
    });
    let options = Options { receive: receive.map(str::to_owned), ..accesses() };
    run(ProgramRequest { options, ..ProgramRequest::of("chain", chain) }).0
}

fn alone(file: &str) -> Value {
    let read = ProgramFile::read(&object(file)).expect("an object");
    run(ProgramRequest { options: accesses(), ..ProgramRequest::of(file, read) }).0
}

fn guaranteed(result: &Value) -> u64 {
    assert_eq!(result["error"], Value::Null, "{result}");
    let verdict = &result["guarantee"]["verdict"];
    // Both programs access the map `seen`, which other CPUs can change in between.
    let assumptions = result["assumptions"].as_array().expect("a list");
    let exclusive = ["no other CPU changes first:seen meanwhile"];
    assert!(assumptions.is_empty() || assumptions[..] == exclusive, "{result}");
    let expected = if assumptions.is_empty() { "exact" } else { "conditional" };
    assert_eq!(verdict, expected, "{result}");
    memory_accesses(result).expect("a number")
}

#[test]
fn the_second_program_gets_only_packets_that_the_first_one_passes() {
    let (first, second) =
        (guaranteed(&alone("chain_first.bpf.o")), guaranteed(&alone("chain_second.bpf.o")));
    assert!(second > ZERO, "{second}");
    // IPv4 packets and packets with a zero in byte 20 do not pass. The second program's own array
    // can contain a zero.
    let passed = guaranteed(&chained(vec![PASS], false));
    assert!((first + UNSEEN..first + UNSEEN + IPV4).contains(&passed), "{first} {second} {passed}");
    // The second program finds the values that the first one wrote.
    let shared = guaranteed(&chained(vec![PASS], true));
    assert!((first..first + IPV4).contains(&shared), "{shared}");
    // If both results lead to the second program, packets with a zero in byte 20 pass.
    let both = guaranteed(&chained(vec![PASS, TX], true));
    assert!((first + ZERO..first + second).contains(&both), "{both}");
    // The second program never runs, because the first one does not return this result.
    assert_eq!(guaranteed(&chained(vec![REDIRECT], false)), first);
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

#[test]
fn the_cost_is_split_over_the_programs() {
    let result = chained(vec![PASS], false);
    assert_eq!(result["program"], "chain");
    let profile = &result["profile"];
    let parts = profile["programs"].as_array().expect("programs");
    let names: Vec<_> = parts.iter().map(|part| part["program"].as_str()).collect();
    assert_eq!(names, [Some("first"), Some("second")]);
    for component in ["instructions", "memory accesses"] {
        let cost = |of: &Value| of["cost"][component].as_u64().expect("a number");
        let sum: u64 = parts.iter().map(cost).sum();
        assert_eq!(sum, cost(profile));
        assert!(parts.iter().all(|part| cost(part) > 0));
    }
    assert!(parts[1]["cost"]["memory accesses"].as_u64() >= Some(UNSEEN));
    // A single program has no breakdown by programs.
    assert_eq!(alone("chain_first.bpf.o")["profile"]["programs"], Value::Array(Vec::new()));
}

#[test]
fn functions_are_those_of_their_program() {
    let result = chained(vec![PASS], false);
    let functions: BTreeSet<&str> = result["profile"]["instructions"]
        .as_array()
        .expect("instructions")
        .iter()
        .filter_map(|insn| insn["function"].as_str())
        .collect();
    assert_eq!(functions, BTreeSet::from(["first:first", "second:second"]));
}

fn notes(result: &Value) -> Vec<&str> {
    let notes = result["notes"].as_array().expect("notes");
    notes.iter().map(|note| note.as_str().expect("a sentence")).collect()
}

#[test]
fn programs_that_no_packet_reaches_are_named() {
    let never = "second is never reached: no packet makes first return XDP_REDIRECT";
    assert_eq!(notes(&chained(vec![REDIRECT], false)), [never]);
    // The first program checks the packet length, so only the solver finds that the note applies.
    // Other paths reach programs that the slowest path does not reach.
    let names = ["first", "second", "first'", "first''"];
    let edges = [(0, vec![PASS], 1), (1, vec![ABORTED], 2), (1, vec![TX], 3)];
    let result = chain_of(&names, &edges, false);
    guaranteed(&result);
    let never = "first' is never reached: no packet makes second return XDP_ABORTED";
    assert_eq!(notes(&result), [never]);
    let programs = result["profile"]["programs"].as_array().expect("programs");
    assert_eq!(programs.len(), 2, "the slowest path reaches only the second one");
    assert_eq!(notes(&chained(vec![PASS], false)), [""; 0]);
}

/// Finds the maximum number of memory accesses of the program `counted`, if two programs run on two
/// devices that `network` connects.
fn on_two_devices(results: Vec<u32>, network: &Network, counted: usize) -> Value {
    run_chain(&["first", "second"], &[(0, results, 1)], false, Some(network), Some(counted))
}

#[test]
fn a_network_changes_only_the_stated_bytes() {
    let only = |changes: &[(u16, u16)]| Network {
        changes: changes.iter().map(|&(first, behind)| first..behind).collect(),
        routes: false,
    };
    let first = guaranteed(&alone("chain_first.bpf.o"));
    let second = |network: &Network| guaranteed(&on_two_devices(vec![PASS], network, 1));
    // As on one device, IPv4 packets and packets with a zero in byte 20 do not reach the second
    // program.
    let together = guaranteed(&chained(vec![PASS], false));
    assert_eq!(first + second(&only(&[(0, 12), (14, 20), (21, 90)])), together);
    // If the network can change all relevant bytes, the slowest path is possible.
    let slowest = guaranteed(&alone("chain_second.bpf.o"));
    assert_eq!(second(&only(&[(12, 21)])), slowest);
    // If the first EtherType byte is not that of IPv4, the program does not read the second byte:
    // one access less.
    assert_eq!(second(&only(&[(20, 21)])), slowest - 1);
    assert_eq!(second(&only(&[(13, 40)])), slowest - 1);
    assert!((UNSEEN..ZERO).contains(&second(&only(&[(12, 14)]))));
    // Byte 20 is not part of a field that routers change, with or without a VLAN tag.
    assert!(second(&Network { changes: Vec::new(), routes: true }) < ZERO);
}

#[test]
fn the_work_of_each_device_counts_by_itself() {
    let network = Network::default();
    let parts = [0, 1].map(|device| on_two_devices(vec![PASS], &network, device));
    let together = guaranteed(&chained(vec![PASS], false));
    assert_eq!(parts.iter().map(guaranteed).sum::<u64>(), together);
    for (result, name) in parts.iter().zip(["first", "second"]) {
        let programs = result["profile"]["programs"].as_array().expect("programs");
        assert_eq!(programs.len(), 1);
        assert_eq!(programs[0]["program"], name);
        assert!(notes(result).is_empty());
    }
    let never = on_two_devices(vec![REDIRECT], &network, 1);
    assert_eq!(
        notes(&never),
        ["second is never reached: no packet makes first return XDP_REDIRECT"]
    );
    assert_eq!(guaranteed(&never), 0);
}

#[test]
fn another_device_receives_the_packet_anew() {
    const METADATA: u64 = 20;
    const INTERFACE: u64 = 40;
    const PADDING: u64 = 80;
    const HEAD_ROOM: u64 = 160;
    let of = |network: Option<&Network>| {
        let edges = [(0, vec![TX], 1)];
        let second = (network, Some(1));
        let result = run_received(&["sends", "gets"], &edges, false, second, Some("native-page"));
        assert_eq!(result["guarantee"]["verdict"], "conditional", "{result}");
        memory_accesses(&result).expect("a number")
    };
    // The metadata stays, and 100 bytes of head room are used.
    let same_device = of(None);
    assert!((METADATA..INTERFACE).contains(&same_device), "{same_device}");
    // There is no metadata, and all head room is free again.
    let other_device = of(Some(&Network::default()));
    let parts = INTERFACE + PADDING + HEAD_ROOM;
    assert!((parts..parts + METADATA).contains(&other_device), "{other_device}");
}
