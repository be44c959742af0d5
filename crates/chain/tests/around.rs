//! Tests facts about the memory around packets (headroom and metadata length) that pass from
//! program to program of a chain. The facts are proved for packets that leave a program. A later
//! program may rely on such a fact only if its packets cannot have any other value.

use slowpath_bpf::lift::{LiftOptions, PacketEnvironment, Receive};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::prove;
use slowpath_chain::facts::{Discovery, FactsOptions, Outgoing, facts_after};
use slowpath_chain::optimize::optimize;
use slowpath_chain::report::{FactText, ProgramReport};
use slowpath_chain::{Chain, Loaded, RewriteOptions, Rewritten, rewrite};
use slowpath_ir::PacketFacts;
use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::compare;
use slowpath_oracle::Oracle;
use slowpath_specialise::fuse::{Handover, fuse};
use slowpath_specialise::{Facts, Mode, specialise_for};
use slowpath_stop::Stop;
use std::sync::Arc;

const DROP: u32 = 1;
const PASS: u32 = 2;

fn object() -> Object {
    Object::parse(include_bytes!("objects/around.bpf.o")).expect("an object")
}

fn program(object: &Object, name: &str) -> BpfProgram {
    let number = object.programs.iter().position(|program| program.name == name);
    object.link(number.expect("it is there"), None).expect("links")
}

/// Returns facts that limit packets to lengths that fit in one memory page.
fn in_page() -> PacketFacts {
    PacketFacts::lengths(14, 3736)
}

/// Returns options for packets in one memory page that arrive with the given headroom and metadata.
fn page(arriving: Option<PacketEnvironment>) -> LiftOptions {
    let receive = Receive::TEST_RUN;
    let options = LiftOptions::default().receiving(receive);
    let receive = arriving.map_or(receive, |around| receive.with_packet_environment(around));
    LiftOptions { receive, ..options }
}

fn around(head_room: (u16, u16), metadata: (u16, u16)) -> PacketEnvironment {
    PacketEnvironment { head_room, metadata }
}

/// Returns the facts about packets that leave the program `name` with the return value `result`;
/// `None` if no packet does. `arriving` is the headroom and metadata of arriving packets.
fn leaving(name: &str, arriving: Option<PacketEnvironment>, result: u32) -> Option<Discovery> {
    leaving_of(name, &in_page(), arriving, result)
}

/// Returns the same as [`leaving`], but only for arriving packets for which `facts` hold.
fn leaving_of(
    name: &str,
    facts: &PacketFacts,
    arriving: Option<PacketEnvironment>,
    result: u32,
) -> Option<Discovery> {
    let (object, options) =
        (object(), FactsOptions { lift: page(arriving), ..FactsOptions::default() });
    let program = program(&object, name);
    let found = facts_after(&object, &program, facts, &[result], &options, &Stop::never());
    match found.expect("it can be analysed") {
        Outgoing::Packets(found) => Some(*found),
        Outgoing::Nothing(_) => None,
    }
}

/// Returns the headroom and metadata that packets have after a program has returned `XDP_PASS`.
fn behind(name: &str, arriving: Option<PacketEnvironment>) -> PacketEnvironment {
    leaving(name, arriving, PASS).expect("it lets packets pass").packet_environment
}

#[test]
fn what_lies_around_packets_is_found_out() {
    assert_eq!(behind("passes", None), Receive::PAGE.packet_environment());
    assert_eq!(behind("shifts", None), around((184, 184), (0, 0)));
    assert_eq!(behind("shifts_some", None), around((184, 216), (0, 0)));
    assert_eq!(behind("marks", None), around((216, 216), (4, 8)));
}

/// Checks that packets too long for one memory page keep the headroom and metadata with which they
/// arrived. Only some options permit packets of this length.
#[test]
fn packets_longer_than_a_page_have_the_room_that_they_arrived_with() {
    let long = PacketFacts::lengths(5000, 9000);
    let found = leaving_of("passes", &long, None, PASS).expect("they pass");
    assert_eq!(found.packet_environment, Receive::PAGE.packet_environment());
}

#[test]
fn it_goes_on_from_what_arrives() {
    let arriving = around((40, 216), (0, 8));
    assert_eq!(behind("passes", Some(arriving)), arriving);
    // Packets without enough headroom do not pass.
    assert_eq!(behind("shifts", Some(arriving)), around((8, 184), (0, 8)));
    assert_eq!(behind("shifts", Some(around((0, 216), (0, 0)))).head_room, (0, 184));
    assert_eq!(behind("marks", Some(around((216, 216), (0, 252)))).metadata, (4, 216));
    let any = behind("passes", Some(PacketEnvironment::ANY));
    assert_eq!((any.head_room.0, any.metadata), (0, (0, 252)));
}

#[test]
fn room_that_others_may_have_used_is_not_there() {
    let passing = |name, arriving| leaving(name, arriving, PASS).expect("packets pass").facts;
    let anything = Some(PacketEnvironment::ANY);
    assert_eq!(passing("grows", None).byte(12), Some(0xaa));
    assert_eq!(passing("grows", anything).byte(12), None);
    // Packets with enough headroom pass, but packets without headroom are dropped.
    let grown = passing("shifts", anything);
    assert_eq!((grown.byte(12), grown.min_length), (Some(0xaa), in_page().min_length + 32));
    assert!(leaving("shifts", None, DROP).is_none());
    assert!(leaving("shifts", anything, DROP).is_some());
}

/// Rewrites a chain in which each program follows the previous one on `XDP_PASS`. `edge` is added
/// to the description of each edge. Each packet is in one page.
fn rewritten(names: &[&str], edge: &str, mode: Mode) -> Rewritten {
    rewritten_for(names, edge, mode, "native-page")
}

/// Same as [`rewritten`], for packets that the driver delivers in the way `receive`.
fn rewritten_for(names: &[&str], edge: &str, mode: Mode, receive: &str) -> Rewritten {
    let device = |number: usize| if edge.is_empty() { 0 } else { number };
    let programs = names.iter().enumerate().map(|(number, name)| {
        let device = device(number);
        format!("- {{name: p{number}, object: o, program: {name}, device: d{device}}}\n")
    });
    let edges = (1..names.len())
        .map(|to| format!("- {{from: p{}, on: [XDP_PASS], to: p{to}{edge}}}\n", to - 1));
    let (programs, edges): (String, String) = (programs.collect(), edges.collect());
    let text = format!("schema: 1\nprograms:\n{programs}edges:\n{edges}");
    let chain = Chain::parse(&text).expect("a chain");
    let object = Arc::new(object());
    let load = |name: &&str| Loaded {
        object: Arc::clone(&object),
        program: program(&object, name).number,
    };
    let loaded: Vec<Loaded> = names.iter().map(load).collect();
    let options = RewriteOptions { mode: Some(mode), ..RewriteOptions::default() };
    let options = options.receiving(receive).expect("an environment");
    rewrite(&chain, &loaded, &options, &Stop::never(), |_| ()).expect("is rewritten")
}

/// Returns the report about the last program of a chain on one device. The rewritten programs have
/// no guards.
fn last(names: &[&str]) -> ProgramReport {
    rewritten(names, "", Mode::Trust).report.programs.pop().expect("there is one")
}

/// Returns the helper calls of a program whose return values are known, with these values.
fn returns(program: &ProgramReport) -> Vec<(&str, Option<i64>)> {
    program.results.iter().map(|known| (known.helper.as_str(), known.returns)).collect()
}

const MOVES: [(&str, Option<i64>); 1] = [("bpf_xdp_adjust_head", Some(0))];

/// Returns true if the rewritten program lacks a branch whose outcome depends on headroom or
/// metadata, and is proved equivalent to the original.
fn relies(program: &ProgramReport) -> bool {
    program.dropped.iter().any(|dropped| dropped.room) && program.proved == Some(true)
}

#[test]
fn calls_that_cannot_fail_are_known() {
    for (names, known) in [
        (&["shifts", "takes_184"][..], true),
        (&["shifts", "takes_185"], false),
        (&["shifts_some", "takes_184"], true),
        (&["shifts_some", "takes_185"], false),
        (&["shifts", "passes", "takes_184"], true),
        (&["shifts", "passes", "takes_185"], false),
        // Metadata takes up a part of the headroom.
        (&["marks", "takes_208"], true),
        (&["marks", "takes_209"], false),
        (&["passes", "takes_216"], true),
    ] {
        let last = last(names);
        assert_eq!(returns(&last), &MOVES[..usize::from(known)], "{names:?}");
        assert_eq!(relies(&last), known, "{names:?}: {last:#?}");
    }
}

#[test]
fn what_is_known_of_room_and_metadata_is_told() {
    let shifted = last(&["shifts", "takes_184"]);
    let told = &shifted.facts[1];
    assert_eq!(told.fact, FactText::Headroom { min: 184, max: 184 });
    let source = include_str!("objects/around.bpf.c").lines();
    let at = source.enumerate().find(|(_, line)| line.contains("adjust_head(ctx, -32)"));
    let lines: Vec<u32> = told.established.iter().map(|line| line.line).collect();
    assert_eq!(lines, [at.expect("it is there").0 as u32 + 1]);
    assert!(shifted.results[0].line.is_some());
    let marked = last(&["marks", "told"]);
    assert_eq!(marked.facts[1].fact, FactText::Metadata { min: 4, max: 8 });
    let plain = last(&["passes", "told"]);
    let around =
        |fact: &FactText| matches!(fact, FactText::Headroom { .. } | FactText::Metadata { .. });
    assert!(!plain.facts.iter().any(|fact| around(&fact.fact)), "as newly received");
}

#[test]
fn ends_move_inwards_where_packets_are_long_enough() {
    let trimmed = last(&["passes", "trims"]);
    // No device delivers a packet that ends after the limit of its buffer.
    assert_eq!(returns(&trimmed), [MOVES[0], ("bpf_xdp_adjust_tail", Some(0))]);
    assert_eq!(trimmed.proved, Some(true), "{trimmed:#?}");
}

#[test]
fn nothing_is_relied_on_that_a_guard_does_not_check() {
    for names in [["shifts", "takes_184"], ["passes", "takes_216"]] {
        let mut done = rewritten(&names, "", Mode::Guard);
        let guarded = done.report.programs.pop().expect("there is one");
        assert!(!guarded.dropped.iter().any(|dropped| dropped.room), "{guarded:#?}");
        assert!(returns(&guarded).is_empty());
    }
}

/// Checks that the guard of a rewritten program also makes sure that packets are long enough for
/// the helper calls that shorten them.
#[test]
fn packets_are_cut_off_behind_a_guard_as_well() {
    let (object, facts) = (object(), PacketFacts::lengths(64, 1500));
    let trims = program(&object, "trims");
    let stop = Stop::never();
    let options = LiftOptions::default();
    let made = optimize(&object, &trims, &facts, Mode::Guard, &options, &stop);
    let made = made.expect("is rewritten");
    let (specialised, proof) = (made.specialised.expect("so it is"), made.proof.expect("too"));
    assert!(proof.proved, "{proof:#?}");
    let known: Vec<Option<u64>> = specialised.results.iter().map(|known| known.value).collect();
    assert_eq!(known, [Some(0), Some(0)], "both ends move inwards");
    assert!(!specialised.changes.iter().any(|dropped| dropped.room));
}

#[test]
fn another_device_has_all_of_the_room() {
    for (edge, known) in [("", false), (", network: {}", true)] {
        let mut done = rewritten(&["shifts", "takes_216"], edge, Mode::Trust);
        let last = done.report.programs.pop().expect("there is one");
        assert_eq!(returns(&last), &MOVES[..usize::from(known)], "{edge}");
        assert!(last.facts.iter().all(|f| !matches!(f.fact, FactText::Headroom { .. })) == known);
    }
}

/// Checks that nothing is known about headroom if any device may deliver the packets, even if an
/// earlier program has moved the packet's start.
#[test]
fn any_device_may_have_no_room() {
    for names in [&["passes", "takes_216"][..], &["shifts", "takes_184"]] {
        for edge in ["", ", network: {}"] {
            let mut done = rewritten_for(names, edge, Mode::Trust, "any");
            let last = done.report.programs.pop().expect("there is one");
            assert!(returns(&last).is_empty(), "{names:?} {edge}: {:?}", last.results);
            assert!(!last.dropped.iter().any(|dropped| dropped.room), "{names:?} {edge}");
            assert!(last.assumptions.iter().all(|one| !one.contains("packets arrive")));
        }
    }
}

#[test]
fn what_rests_on_an_environment_says_so() {
    let done = rewritten(&["passes", "takes_216"], "", Mode::Trust);
    for program in &done.report.programs {
        let said = program.assumptions.iter().any(|one| one.contains("as native-page delivers"));
        assert!(said, "{:?}", program.assumptions);
    }
}

#[test]
fn a_proof_is_about_what_lies_around_packets() {
    let (object, stop) = (object(), Stop::never());
    let takes = program(&object, "takes_184");
    let facts = in_page();
    let shifted = around((184, 216), (0, 0));
    let known =
        Facts { receive: Receive::PAGE.with_packet_environment(shifted), ..Facts::of(&facts) };
    let made = specialise_for(&object, &takes, known, Mode::Trust, &stop).expect("has a graph");
    assert!(made.program.insns.len() < takes.insns.len());
    let [told, untold] = ["told", "untold"].map(|name| program(&object, name));
    for (pair, packet_environment, proved) in [
        ((&takes, &made.program), shifted, true),
        ((&takes, &made.program), around((183, 216), (0, 0)), false),
        ((&takes, &made.program), PacketEnvironment::ANY, false),
        ((&told, &untold), around((0, 216), (0, 0)), true),
        ((&told, &untold), around((216, 216), (0, 4)), false),
        ((&told, &untold), around((216, 216), (4, 8)), false),
    ] {
        let options = page(Some(packet_environment));
        let proof = prove(&object, pair.0, pair.1, &facts, &options, &stop).expect("is lifted");
        assert_eq!(proof.proved, proved, "{} {packet_environment:?}: {proof:#?}", pair.0.name);
        assert!(proved || proof.counterexample.is_some(), "{} {packet_environment:?}", pair.0.name);
    }
}

#[test]
fn metadata_of_others_is_looked_at() {
    let object = object();
    let [told, untold] = ["told", "untold"].map(|name| program(&object, name));
    for (packet_environment, proved) in [(None, true), (Some(PacketEnvironment::ANY), false)] {
        let options = page(packet_environment);
        let proof = prove(&object, &told, &untold, &in_page(), &options, &Stop::never());
        assert_eq!(proof.expect("it can be asked for").proved, proved, "{packet_environment:?}");
    }
}

/// Checks in the kernel that a second program, rewritten for the packets that a first one passes to
/// it, does the same as the original second program.
#[test]
fn the_kernel_agrees_about_room_that_was_used() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let (object, mut compared) = (object(), 0);
    let whole = |first: &BpfProgram, second: BpfProgram| {
        let handover = Handover { from: 0, results: vec![PASS], to: 1 };
        fuse(&[first.clone(), second], &[handover], "whole").expect("they become one")
    };
    for (first, second, relied) in [
        ("shifts", "takes_184", true),
        ("shifts", "takes_185", false),
        ("shifts_some", "takes_184", true),
        ("marks", "takes_208", true),
        ("marks", "takes_209", false),
        ("passes", "takes_216", true),
        ("passes", "trims", true),
    ] {
        let (facts, packet_environment) = (in_page(), behind(first, None));
        let [upstream, downstream] = [first, second].map(|name| program(&object, name));
        // The end of a packet does not move if the packet is too long for a page.
        let short = PacketFacts::lengths(64, 1500);
        let facts = if second == "trims" { &short } else { &facts };
        let known = Facts {
            receive: Receive::PAGE.with_packet_environment(packet_environment),
            ..Facts::of(facts)
        };
        let made = specialise_for(&object, &downstream, known, Mode::Trust, &Stop::never());
        let made = made.expect("has a graph");
        assert_eq!(made.program.insns.len() < downstream.insns.len(), relied, "{second}");
        let before = kernel.load_rewritten(&object, &whole(&upstream, downstream));
        let after = kernel.load_rewritten(&object, &whole(&upstream, made.program));
        let (before, after) = (before.expect("is accepted"), after.expect("is accepted"));
        for (length, byte) in [(64, 8), (64, 9), (80, 8), (1000, 8), (1500, 9)] {
            let mut packet = vec![0; length];
            packet[12] = byte;
            let differs = compare(&before, &after, &packet).expect("it runs");
            assert!(differs.is_none(), "{first} {second} {length} {byte}: {differs:?}");
            compared += 1;
        }
    }
    Oracle::Kernel.compared(compared, "packets whose head room was used before");
}
