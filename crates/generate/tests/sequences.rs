//! Tests that equal seeds give equal sequences of calls and C programs, and that the metadata of
//! sequences is correct.

use slowpath_bpf::Object;
use slowpath_bpf::insn::Insn;
use slowpath_generate::c::CPrograms;
use slowpath_generate::sequence::{SequenceFeatures, Sequences};

#[test]
fn sequences_are_objects_with_their_maps() {
    let sequences = Sequences::new(SequenceFeatures::default());
    for seed in 0..100 {
        let sequence = sequences.from_seed(seed);
        let data = sequence.object();
        assert_eq!(data, sequences.from_seed(seed).object());
        let object = Object::parse(&data).unwrap_or_else(|e| panic!("program {seed}: {e}"));
        for (name, shape) in sequence.maps() {
            let map = object.maps.iter().find(|map| map.name == name);
            let map = map.unwrap_or_else(|| panic!("program {seed} has no map {name}"));
            assert_eq!((map.kind, map.max_entries), (shape.kind, shape.entries.into()));
            assert_eq!(map.inner.is_some(), shape.kind.holds_maps());
        }
        let linked = object.link(0, None).unwrap_or_else(|e| panic!("program {seed}: {e}"));
        assert_eq!(linked.insns.len(), sequence.code().len());
    }
}

#[test]
fn directions_determine_executed_instructions() {
    let sequences = Sequences::new(SequenceFeatures::default());
    for seed in 0..100 {
        let sequence = sequences.from_seed(seed);
        // For a packet that is too short, the run executes the code up to the first branch and the
        // end of the program.
        let first = sequence.code().iter().position(|i| matches!(i, Insn::Branch { .. }));
        assert_eq!(sequence.executed_instructions(0), first.unwrap_or_default() as u64 + 1 + 3);
        // If no branch is taken, the run executes all instructions, without second slots.
        let all = sequence.code().iter().filter(|insn| **insn != Insn::SecondSlot);
        assert_eq!(sequence.executed_instructions(u64::MAX), all.count() as u64);
    }
}

#[test]
fn programs_in_c_differ() {
    let programs = CPrograms::new(&SequenceFeatures::default());
    let texts: Vec<String> = (0..50).map(|seed| programs.from_seed(seed).text()).collect();
    assert_eq!(texts[7], programs.from_seed(7).text());
    for (seed, text) in texts.iter().enumerate() {
        assert!(!texts[..seed].contains(text), "program {seed} is there twice");
        assert!(text.lines().all(|line| !line.ends_with([' ', '\t'])), "{text}");
    }
}
