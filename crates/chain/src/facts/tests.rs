use super::*;
use slowpath_generate::{Features, Programs};
use slowpath_ir::Field;
use slowpath_ir::KnownBits;
use slowpath_oracle::Oracle;
use slowpath_smt::{Outcome, Solver, Z3Solver};
use std::time::Duration;

const DROP: u32 = 1;
const PASS: u32 = 2;
const TX: u32 = 3;

fn object() -> Object {
    Object::parse(include_bytes!("../../tests/objects/facts.bpf.o")).expect("it is an object")
}

fn leaving(name: &str, arriving: &PacketFacts, results: &[u32]) -> Outgoing {
    leaving_with(name, arriving, results, &FactsOptions::default())
}

fn leaving_with(
    name: &str,
    arriving: &PacketFacts,
    results: &[u32],
    options: &FactsOptions,
) -> Outgoing {
    let object = object();
    let number = object.programs.iter().position(|program| program.name == name);
    let program = object.link(number.expect("it is there"), None).expect("it is complete");
    facts_after(&object, &program, arriving, results, options, &Stop::never()).expect(name)
}

fn found(name: &str, arriving: &PacketFacts, results: &[u32]) -> Discovery {
    match leaving(name, arriving, results) {
        Outgoing::Packets(found) => {
            assert_eq!(found.stopped, None);
            *found
        }
        Outgoing::Nothing(never) => panic!("{name}: nothing leaves: {never:?}"),
    }
}

fn any() -> PacketFacts {
    PacketFacts::lengths(60, 1500)
}

fn field(offset: u16, bytes: u8) -> Field {
    Field { offset, bytes }
}

/// Returns the line numbers in the test program's source that contain the given texts. The search
/// for a text starts after the line of the previous text.
fn lines(texts: &[&str]) -> Vec<u32> {
    let source = include_str!("../../tests/objects/facts.bpf.c");
    let mut numbered = (1..).zip(source.lines());
    let mut line = |text: &&str| numbered.by_ref().find(|(_, line)| line.contains(text));
    texts.iter().map(|text| line(text).expect("it is in the source").0).collect()
}

fn explained(found: &mut Discovery, fact: &Fact) -> Vec<u32> {
    let why = found.explain(fact, &Stop::never()).expect("it holds");
    why.lines().iter().map(|line| line.line).collect()
}

#[test]
fn a_firewall_establishes_headers_and_says_where() {
    let mut found = found("firewall", &any(), &[PASS]);
    eprintln!("firewall: {:?}", found.work);
    let facts = found.facts.clone();
    assert_eq!((facts.min_length, facts.max_length), (82, 1508));
    assert_eq!(facts.constant(field(12, 2)), Some(0x86dd));
    assert_eq!(facts.bits[&14], KnownBits { mask: 0xf0, value: 0x60 });
    assert_eq!(facts.byte(20), Some(60));
    assert_eq!(facts.constant(field(54, 8)), Some(0x0600_0104_0000_0000));
    // Known bytes: two of the type, those of version and next header, eight of the option.
    assert_eq!(facts.bits.len(), 2 + 1 + 1 + 8);
    assert!(facts.values.is_empty() && facts.equal.is_empty(), "{facts:?}");
    let checks = lines(&["ip->version != 6", "memcpy(ip, &moved_ip"]);
    // If packets may have any headroom, more stores may write byte 14.
    assert!(explained(&mut found, &Fact::Bits(14)).starts_with(&checks));
    let page = FactsOptions { lift: LiftOptions::default(), ..FactsOptions::default() };
    let Outgoing::Packets(mut in_page) = leaving_with("firewall", &any(), &[PASS], &page) else {
        panic!("packets pass");
    };
    assert_eq!(explained(&mut in_page, &Fact::Bits(14)), checks);
    // The compiler gives this line to the comparison of the length as well.
    let length = lines(&["ip->nexthdr != IPPROTO_TCP"]);
    // Some devices leave no headroom, so the program checks whether the header was added.
    let added = lines(&["ip->nexthdr != IPPROTO_TCP", "bpf_xdp_adjust_head"]);
    assert_eq!(explained(&mut found, &Fact::MinLength), added);
    assert_eq!(explained(&mut in_page, &Fact::MinLength), length);
    assert!(explained(&mut found, &Fact::MaxLength).is_empty());
}

#[test]
fn what_only_one_packet_in_four_billion_refutes_is_no_fact() {
    let mut found = found("magic", &any(), &[PASS]);
    assert_eq!(found.facts.byte(20), None);
    assert_eq!(found.facts.values[&field(20, 1)], BTreeSet::from([7, 8]));
    assert_eq!(found.facts.byte(21), Some(9));
    assert_eq!(explained(&mut found, &Fact::Bits(21)), lines(&["data[21] = 9"]));
}

#[test]
fn copies_are_equal_fields() {
    let facts = found("send_back", &any(), &[TX]).facts;
    assert_eq!(facts.equal, BTreeSet::from([(field(0, 6), field(42, 6))]));
    assert!(facts.bits.is_empty() && facts.values.is_empty(), "{facts:?}");
}

#[test]
fn facts_are_about_the_results_that_are_asked_for() {
    let protocols = BTreeSet::from([6, 17]);
    let facts = found("protocols", &any(), &[PASS]).facts;
    assert_eq!(facts.bits[&14], KnownBits { mask: 0x0f, value: 5 });
    assert_eq!(facts.values[&field(23, 1)], protocols);
    let facts = found("protocols", &any(), &[PASS, TX]).facts;
    assert!(!facts.bits.contains_key(&14), "{facts:?}");
    assert_eq!(facts.constant(field(12, 2)), Some(0x0800));
    assert_eq!(facts.values[&field(23, 1)], protocols);
    let facts = found("protocols", &any(), &[DROP, PASS, TX]).facts;
    assert_eq!(facts, any());
}

#[test]
fn content_of_maps_is_unknown_but_for_what_is_checked() {
    let facts = found("settled", &any(), &[PASS]).facts;
    assert_eq!((facts.min_length, facts.max_length), (30, 1480));
    assert_eq!(facts.bits[&16], KnownBits { mask: 0xe0, value: 0 });
    assert_eq!(facts.byte(17), Some(0x45));
}

#[test]
fn ways_out_of_a_loop_are_merged() {
    let facts = found("searched", &any(), &[PASS]).facts;
    assert_eq!(facts.values[&field(30, 1)], (1..=8).collect());
    assert!(!facts.bits.contains_key(&31) && !facts.bits.contains_key(&32), "{facts:?}");
}

#[test]
fn an_access_may_go_to_one_of_two_regions() {
    let facts = found("either", &any(), &[PASS]).facts;
    assert_eq!(facts.byte(30), Some(0x11));
    assert_eq!(facts.bits[&31], KnownBits { mask: 0xfe, value: 0 });
}

#[test]
fn what_arrives_is_kept_where_nothing_is_written() {
    let mut arriving = found("firewall", &any(), &[PASS]).facts;
    arriving.values.insert(field(30, 1), BTreeSet::from([1, 2, 3]));
    arriving.equal.insert((field(70, 4), field(74, 4)));
    let mut found = found("magic", &arriving, &[PASS]);
    let mut expected = arriving.clone();
    expected.bits.insert(20, KnownBits { mask: 0xf0, value: 0 });
    expected.bits.insert(21, KnownBits::all(9));
    // Bits that all values have in common are a separate fact.
    expected.bits.insert(30, KnownBits { mask: 0xfc, value: 0 });
    expected.values.insert(field(20, 1), BTreeSet::from([7, 8]));
    assert_eq!(found.facts, expected);
    let why = found.explain(&Fact::Values(field(30, 1)), &Stop::never()).expect("it holds");
    assert!(why.arrived && why.lines().is_empty(), "{why:?}");
    let why = found.explain(&Fact::Bits(12), &Stop::never()).expect("it holds");
    assert!(why.arrived && why.lines().is_empty(), "{why:?}");
}

#[test]
fn a_program_that_lets_nothing_through_says_where_packets_end() {
    let mut arriving = any();
    arriving.bits.extend([(12, KnownBits::all(0x08)), (13, KnownBits::all(0x00))]);
    let Outgoing::Nothing(never) = leaving("no_ipv4", &arriving, &[PASS]) else {
        panic!("IPv4 is dropped")
    };
    let line = lines(&["int no_ipv4", "h_proto == bpf_htons(ETH_P_IP)"])[1];
    let end = |end: &End| {
        let source = end.branch.as_ref().and_then(|place| place.source.as_ref());
        (end.result, source.map(|source| source.line))
    };
    assert_eq!(never.ends.iter().map(end).collect::<Vec<_>>(), [(Some(DROP), Some(line))]);
    // The result is the same if only the solver shows it.
    let mut arriving = any();
    arriving.values.insert(field(12, 2), BTreeSet::from([0x0800]));
    let Outgoing::Nothing(never) = leaving("no_ipv4", &arriving, &[PASS]) else {
        panic!("IPv4 is dropped")
    };
    assert!(never.why.arrived);
    assert_eq!(never.why.lines().iter().map(|l| l.line).collect::<Vec<_>>(), [line]);
}

#[test]
fn nothing_is_a_fact_when_there_is_no_time() {
    let object = object();
    let program = object.link(0, None).expect("it is complete");
    let stop = Stop::never().within(Some(Duration::ZERO));
    let options = FactsOptions::default();
    let left = facts_after(&object, &program, &any(), &[PASS], &options, &stop);
    assert!(left.is_err());
}

/// Asks Z3 for a packet that leaves the program and contradicts the discovered facts. Returns true
/// if this packet exists, and `None` if Z3 cannot decide.
fn refuted(found: &mut Discovery, z3: &mut Z3Solver) -> Option<bool> {
    let Discovery { facts, proof, .. } = found;
    let candidates = Candidates {
        bits: facts.bits.clone(),
        values: facts.values.clone(),
        equal: facts.equal.clone(),
    };
    let pool = &mut proof.unrolled.executor.pool;
    let mut wrong = proof.packet.wrong(pool, &candidates);
    // The query about the minimum length must not assume this length.
    wrong.push(proof.packet.shorter(pool, facts.min_length));
    wrong.push(proof.packet.longer(pool, facts.max_length));
    let none = pool.bool(false);
    let any = wrong.into_iter().fold(none, |any, term| pool.or(any, term));
    let mut conditions = proof.conditions();
    conditions.push(any);
    match z3.check(&mut proof.unrolled.executor.pool, &conditions).expect("Z3 answers") {
        Outcome::Sat(_) => Some(true),
        Outcome::Unsat(_) => Some(false),
        Outcome::Unknown(_) => None,
    }
}

#[test]
fn z3_refutes_no_fact() {
    let programs = Programs::new(Features { any_result: false, ..Features::default() }, 8);
    let stop = Stop::never();
    let (mut decided, mut facts) = (0, 0);
    for seed in 0..60 {
        let program = programs.from_seed(seed);
        let object = Object::parse(&program.object()).expect("it is an object");
        let linked = object.link(0, None).expect("it is complete");
        let options = FactsOptions { bytes: 100, ..FactsOptions::default() };
        let within = stop.within(Some(Duration::from_secs(5)));
        let left = facts_after(&object, &linked, &any(), &[PASS, TX], &options, &within);
        let Ok(Outgoing::Packets(mut found)) = left else { continue };
        found.proof.set_stop(&stop);
        let mut z3 = Z3Solver::new().expect("Z3 is there");
        z3.set_time_limit(Some(Duration::from_secs(2)));
        let refuted = refuted(&mut found, &mut z3);
        assert_ne!(refuted, Some(true), "{seed}: {:?}\n{program}", found.facts);
        decided += usize::from(refuted.is_some());
        facts += found.list().len();
    }
    eprintln!("{decided} programs, {facts} facts");
    assert!(decided >= 20 && facts > 20, "{decided} programs, {facts} facts");
    Oracle::Z3.compared(decided, "programs with facts about what leaves them");
}

/// Returns the known facts about the packets at each program of a chain. `text` is the description
/// of the chain, whose programs are in the test object.
fn along(text: &str) -> Vec<Reached> {
    let chain = crate::Chain::parse(text).expect("it is a chain");
    let object = object();
    let programs: Vec<BpfProgram> = chain
        .members
        .iter()
        .map(|member| {
            let name = member.program.as_deref();
            let number = object.programs.iter().position(|p| Some(p.name.as_str()) == name);
            object.link(number.expect("it is there"), None).expect("it is complete")
        })
        .collect();
    let options = FactsOptions::default();
    let runs: Vec<ChainProgram<'_>> = programs
        .iter()
        .map(|program| ChainProgram { object: &object, program, options: &options })
        .collect();
    facts_along(&chain, &runs, &any(), &Stop::never())
}

#[test]
fn what_comes_over_several_edges_is_what_they_have_in_common() {
    let reached = along(
        "schema: 1
programs:
  - {name: split, object: facts.bpf.o, program: protocols}
  - {name: marked, object: facts.bpf.o, program: magic}
  - {name: last, object: facts.bpf.o, program: no_ipv4}
edges:
  - {from: split, on: [XDP_PASS], to: marked}
  - {from: split, on: [XDP_TX], to: last}
  - {from: marked, on: [XDP_PASS], to: last}
",
    );
    let facts: Vec<&PacketFacts> =
        reached.iter().map(|reached| reached.facts.as_ref().expect("packets arrive")).collect();
    assert_eq!(*facts[0], any());
    assert_eq!(facts[1].bits[&14], KnownBits { mask: 0x0f, value: 5 });
    assert_eq!(facts[2].constant(field(12, 2)), Some(0x0800));
    assert!(!facts[2].bits.contains_key(&14) && !facts[2].bits.contains_key(&21));
    assert_eq!(facts[2].values[&field(23, 1)], BTreeSet::from([6, 17]));
    assert_eq!(reached[2].by_edge.len(), 2);
}

#[test]
fn behind_a_program_that_lets_nothing_through_nothing_arrives() {
    let reached = along(
        "schema: 1
programs:
  - {name: split, object: facts.bpf.o, program: protocols}
  - {name: none, object: facts.bpf.o, program: no_ipv4}
  - {name: last, object: facts.bpf.o, program: magic}
edges:
  - {from: split, on: [XDP_PASS], to: none}
  - {from: none, on: [XDP_PASS], to: last}
",
    );
    assert!(reached[1].facts.is_some() && reached[2].facts.is_none());
    assert!(matches!(reached[2].by_edge[..], [(1, Outgoing::Nothing(_))]));
}

/// Runs the program in the concrete interpreter on the packet that a solver's model describes.
/// Returns the program's result, and whether the packet after the run is the one that the terms
/// predict.
fn replayed(found: &Discovery, model: &slowpath_smt::Model, lifted: &lift::Lifted) -> (u32, bool) {
    use slowpath_exec::concrete::{Environment, run};
    let Proof { unrolled, packet, .. } = &found.proof;
    let pool = &unrolled.executor.pool;
    let program = &lifted.program;
    let mut environment = Environment::with_fill(program, 0);
    let input = program.packet_length.expect("it has a length");
    let length = pool.eval(unrolled.executor.packet_length().expect("it has a length"), model);
    environment.inputs.insert(input, length);
    for (array, offset, byte) in model.bytes() {
        if pool.array_info(array).0 == "packet" {
            environment.memory.insert((lifted.layout.packet, offset), byte);
        }
    }
    let run = run(program, &environment, 100_000).expect("it runs");
    let byte = |region, offset: u64| {
        let written = run.written.get(&(region, offset));
        written.or(environment.memory.get(&(region, offset))).copied().unwrap_or(0)
    };
    let word = |region, offset: u64| {
        (0..4u64).fold(0, |word, n| word | u32::from(byte(region, offset + n)) << (8 * n))
    };
    let data = word(lifted.layout.context, 0);
    let end = word(lifted.layout.context, 4);
    let start = pool.eval(found.proof.departure.start, model);
    let same = u64::from(end.wrapping_sub(data)) == pool.eval(packet.length, model)
        && (0..).zip(&packet.bytes).take(usize::try_from(length).unwrap_or(0)).all(
            |(offset, &term)| {
                let left = byte(lifted.layout.packet, start.wrapping_add(offset));
                u64::from(left) == pool.eval(term, model)
            },
        );
    (word(lifted.layout.result, 0), same)
}

#[test]
fn the_formula_is_about_the_runs_that_leave_and_no_others() {
    let features =
        Features { any_result: false, maps: false, atomics: false, ..Features::default() };
    let programs = Programs::new(features, 8);
    let mut packets = 0;
    for seed in 0..80 {
        let program = programs.from_seed(seed);
        let object = Object::parse(&program.object()).expect("it is an object");
        let linked = object.link(0, None).expect("it is complete");
        let lifted = lift::lift(&object, &linked, &LiftOptions::default()).expect("it is lifted");
        for result in [DROP, PASS, TX] {
            let options = FactsOptions { bytes: 100, ..FactsOptions::default() };
            let stop = Stop::never().within(Some(Duration::from_secs(5)));
            let left = facts_after(&object, &linked, &any(), &[result], &options, &stop);
            let Ok(Outgoing::Packets(mut found)) = left else { continue };
            found.proof.set_stop(&Stop::never());
            let Answer::Sat(mut model) = found.proof.ask(&[]).expect("it answers") else {
                panic!("{seed}: a packet leaves")
            };
            let conditions = found.proof.conditions();
            let pool = &found.proof.unrolled.executor.pool;
            let packet = &found.proof.packet;
            let mut sampler = Sampler::new(pool, &conditions, packet.length, &packet.bytes);
            model = sampler.complete(pool, model);
            for _ in 0..4 {
                let replayed = replayed(&found, &model, &lifted);
                assert_eq!(replayed, (result, true), "{seed}: {model:?}\n{program}");
                model = sampler.vary(&found.proof.unrolled.executor.pool, &model);
                packets += 1;
            }
        }
    }
    assert!(packets > 200, "{packets}");
}
