//! Helper functions for tests of passes, which compare programs before and after a pass.

use crate::analysis::{Analysis, AnalysisInputs};
use crate::assemble;
use crate::graph::Graph;
use crate::passes::Log;
use crate::pipeline::{Mode, Specialised, specialise};
use slowpath_bpf::insn::Insn;
use slowpath_bpf::lift::Receive;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_generate::{Features, Programs};
use slowpath_ir::{KnownBits, PacketFacts};
use slowpath_stop::Stop;

/// Returns the text of a program that checks that the packet has `bytes` bytes and then continues
/// with `text`. The packet's start is in `r2` and its end in `r3`. `r4` points to the end of the
/// checked bytes.
pub(crate) fn checked(bytes: u16, text: &str) -> String {
    format!(
        "r2 = *(u32 *)(r1 +0)
        r3 = *(u32 *)(r1 +4)
        r4 = r2
        r4 += {bytes}
        if r4 > r3 goto drop
        {text}
        drop:
        r0 = 1
        exit"
    )
}

/// Returns facts about packets of at least `min_length` bytes. `bytes` contains the packet offset
/// and value of each known byte.
pub(crate) fn facts(min_length: u16, bytes: &[(u16, u8)]) -> PacketFacts {
    let mut facts = PacketFacts::lengths(min_length, 1500);
    facts.bits.extend(bytes.iter().map(|&(offset, byte)| (offset, KnownBits::all(byte))));
    facts
}

/// Runs a single pass on a program. Returns the rewritten program and the changes that the pass has
/// recorded. Returns `None` if the pass reports that it changed nothing.
pub(crate) fn after(
    text: &str,
    facts: &PacketFacts,
    pass: impl FnOnce(&mut Graph, &mut Analysis<'_>, &mut Log) -> bool,
) -> Option<(BpfProgram, Log)> {
    let program = assemble::program(text);
    let mut graph = Graph::of(&program).expect("it has a graph");
    let (constants, whole) = (Vec::new(), true);
    let inputs = AnalysisInputs {
        facts,
        constants,
        frozen: None,
        receive: Receive::PAGE,
        contiguous: whole,
    };
    let mut analysis = Analysis::of(&graph, &inputs, &Stop::never()).expect("in time");
    let (mut log, old) = (Log::default(), graph.clone());
    let changed = pass(&mut graph, &mut analysis, &mut log);
    assert!(changed || graph == old, "it says that it changed nothing");
    changed.then(|| (graph.emit(&program).expect("it is short").program, log))
}

/// Rewrites a program with all passes, for packets for which the facts hold.
pub(crate) fn whole(text: &str, facts: &PacketFacts, mode: Mode) -> Specialised {
    let program = assemble::program(text);
    // The program needs an object, but uses none of its maps.
    let object = Programs::new(Features { maps: false, ..Features::default() }, 1).from_seed(0);
    let object = Object::parse(&object.object()).expect("an object");
    specialise(&object, &program, facts, mode, &Stop::never()).expect("it has a graph")
}

/// Lists the instructions of a program, one per line.
pub(crate) fn listing(insns: &[Insn]) -> String {
    insns.iter().map(|insn| format!("{insn}\n")).collect()
}

/// Checks that a program consists of exactly the instructions in `text`; panics otherwise.
#[track_caller]
pub(crate) fn is(program: &BpfProgram, text: &str) {
    let expected = assemble::program(text);
    assert_eq!(listing(&program.insns), listing(&expected.insns));
}
