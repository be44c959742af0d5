//! Tests programs that may do things the analysis does not model. Nothing is known about the
//! packets that leave such a program, and nothing is proved about it. If results depend on settings
//! from outside an object, these settings appear in the assumptions.

use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::prove;
use slowpath_chain::facts::{FactsOptions, Outgoing, any_packet, facts_after};
use slowpath_chain::optimize::optimize;
use slowpath_chain::{Chain, Loaded, RewriteOptions, rewrite};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use slowpath_specialise::Mode;
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::sync::Arc;

const PASS: [u32; 1] = [2];

fn object() -> Object {
    Object::parse(include_bytes!("objects/unseen.bpf.o")).expect("an object")
}

fn program(object: &Object, name: &str) -> BpfProgram {
    let number = object.programs.iter().position(|program| program.name == name);
    object.link(number.expect("it is there"), None).expect("links")
}

/// Returns the facts about packets that a program lets pass, or the reason why they are not known.
fn passing(name: &str) -> Result<PacketFacts, String> {
    let object = object();
    let program = program(&object, name);
    let options = FactsOptions::default();
    match facts_after(&object, &program, &any_packet(), &PASS, &options, &Stop::never()) {
        Ok(Outgoing::Packets(found)) => Ok(found.facts),
        Ok(Outgoing::Nothing(_)) => panic!("{name} lets packets pass"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn what_programs_behind_tail_calls_let_through_is_not_known() {
    let why = passing("goes_on").expect_err("others may make packets shorter");
    assert!(why.contains("tail calls through others"), "{why}");
}

#[test]
fn what_calls_say_of_fragments_is_no_fact() {
    let whole = passing("long_enough_whole").expect("is known");
    assert_eq!(whole.min_length, 1000);
    let why = passing("long_enough").expect_err("the first fragment may be shorter");
    assert!(why.contains("packets are in one piece; the result of bpf_xdp_get_buff_len"), "{why}");
    let first = passing("first_fragment").expect("no call says anything else of fragments");
    assert_eq!((first.min_length, first.byte(12)), (64, Some(8)));
}

#[test]
fn what_is_not_known_of_fragments_is_not_proved() {
    let object = object();
    for (name, proved) in [("long_enough", false), ("long_enough_whole", true)] {
        let program = program(&object, name);
        let options = LiftOptions::any_device();
        let proof = prove(&object, &program, &program, &any_packet(), &options, &Stop::never());
        let proof = proof.expect("is lifted");
        assert_eq!(proof.proved, proved, "{name}: {proof:?}");
        assert_eq!(proof.undecided.is_empty(), proved, "{name}: {proof:?}");
    }
}

#[test]
fn nothing_is_rewritten_for_packets_that_there_are_not() {
    let object = object();
    let program = program(&object, "first_fragment");
    let mut facts = any_packet();
    // Packets without this byte do not violate a fact about it.
    facts.min_length = 14;
    facts.bits.insert(12, KnownBits::all(8));
    facts.values.insert(Field { offset: 12, bytes: 1 }, BTreeSet::from([6, 7]));
    let (options, stop) = (LiftOptions::default(), Stop::never());
    let made = optimize(&object, &program, &facts, Mode::Trust, &options, &stop);
    let made = made.expect("is rewritten");
    assert!(made.specialised.is_none() && made.proof.is_none(), "{made:?}");
    assert!(made.remarks.iter().any(|remark| remark.contains("no packet")), "{made:?}");
}

/// Returns the reports about two programs in a chain. Byte 12 of all packets has the value 8.
fn reported(first: &str, second: &str) -> [slowpath_chain::report::ProgramReport; 2] {
    let text = format!(
        "schema: 1\nprograms:\n- {{name: a, object: o, program: {first}}}\n\
         - {{name: b, object: o, program: {second}}}\n\
         edges:\n- {{from: a, on: [XDP_PASS, XDP_DROP], to: b}}\n"
    );
    let chain = Chain::parse(&text).expect("a chain");
    let object = Arc::new(object());
    let loaded: Vec<Loaded> = [first, second]
        .map(|name| Loaded { object: Arc::clone(&object), program: program(&object, name).number })
        .into();
    let mut facts = any_packet();
    facts.bits.insert(12, KnownBits::all(8));
    let options =
        RewriteOptions { mode: Some(Mode::Trust), first: facts, ..RewriteOptions::default() };
    let done = rewrite(&chain, &loaded, &options, &Stop::never(), |_| ()).expect("is rewritten");
    done.report.programs.try_into().expect("two programs")
}

#[test]
fn what_loaders_may_set_is_said() {
    let [first, second] = reported("set_up", "constant");
    let set = ["action in .rodata of a has the value from its object".to_owned()];
    assert!(first.proved == Some(true) && second.proved == Some(true), "{first:?} {second:?}");
    assert_eq!(first.assumptions, set);
    assert_eq!(second.assumptions, set, "it rests on the facts about what comes from there");
    let [first, second] = reported("constant", "first_fragment");
    assert!(first.assumptions.is_empty() && second.assumptions.is_empty(), "{first:?} {second:?}");
}

#[test]
fn programs_that_are_left_out_of_the_object_are_named() {
    let [first, _] = reported("set_up", "constant");
    let named = |remark: &&String| remark.starts_with("the written object lacks elsewhere");
    assert!(first.remarks.iter().any(|remark| named(&remark)), "{:?}", first.remarks);
}
