//! Tests that all generated programs can be lifted to the intermediate representation. Also tests
//! that their numbers of slots and paths are correct and within the requested limits.

use crate::common;

use common::{generated, jumps, lifted};
use slowpath_bpf::insn::{Insn, Source};
use slowpath_generate::{Features, Generated, from_seed};

#[test]
fn every_program_is_lifted() {
    for program in generated(&Features::all(), 10, 400) {
        lifted(&program);
    }
    for program in generated(&Features::plain(), 10, 200) {
        lifted(&program);
    }
}

#[test]
fn a_seed_determines_the_program() {
    let features = Features::default();
    for (seed, program) in (0..).zip(generated(&features, 10, 20)) {
        assert_eq!(from_seed(seed, &features, 10).object(), program.object());
    }
}

#[test]
fn programs_have_the_promised_size() {
    let small = Features { max_slots: 40, max_paths: 8, ..Features::default() };
    for program in generated(&small, 10, 500) {
        assert!(program.slots() <= 40 && program.paths() <= 8, "{program}");
    }
    let programs = generated(&Features::default(), 10, 500);
    let middle = programs.iter().filter(|program| (10..=120).contains(&program.slots())).count();
    assert!(middle > 450, "{middle} of 500 have 10 to 120 instructions");
}

/// Counts the paths through the instructions of the entry function. Each loop runs all its
/// iterations.
fn count(program: &Generated) -> u64 {
    let code = &program.functions()[0];
    let mut rounds = vec![0i32; code.len()];
    walk(code, 0, &mut rounds)
}

/// Counts the paths from a slot to exits. Loops run as many iterations as their bounds allow.
/// `counters` contains, for the slot of the jump at each loop's end, the number of iterations so
/// far.
fn walk(code: &[Insn], mut slot: usize, counters: &mut Vec<i32>) -> u64 {
    loop {
        let insn = code[slot];
        let next = slot + insn.slots().max(1);
        match (insn, insn.jump_target(slot)) {
            (Insn::Exit, _) => return 1,
            (Insn::Jump { .. }, Some(target)) => slot = target,
            (Insn::Branch { src, .. }, Some(target)) if target <= slot => {
                let most = rounds(code, target, src);
                counters[slot] += 1;
                if counters[slot] < most {
                    slot = target;
                } else {
                    counters[slot] = 0;
                    slot = next;
                }
            }
            (Insn::Branch { .. }, Some(target)) => {
                // A path that enters a loop again counts its iterations from zero.
                let mut own = counters.clone();
                own.iter_mut().take(target).skip(slot).for_each(|counter| *counter = 0);
                return walk(code, next, counters) + walk(code, target, &mut own);
            }
            _ => slot = next,
        }
    }
}

/// Returns the number of iterations of a loop: the bound in the comparison at its end or, if it
/// counts down, the start value of its counter.
fn rounds(code: &[Insn], head: usize, bound: Source) -> i32 {
    match (bound, code[head - 1]) {
        (Source::Imm(0), Insn::Alu { src: Source::Imm(start), .. }) => start,
        (Source::Imm(bound), _) => bound,
        (Source::Reg(_), _) => 0,
    }
}

#[test]
fn paths_are_counted_correctly() {
    let (mut counted, mut looping) = (0, 0);
    let features = Features { calls: false, max_paths: 200, ..Features::default() };
    for program in generated(&features, 10, 400) {
        let back = jumps(&program).iter().any(|(from, to)| to <= from);
        assert_eq!(program.paths(), count(&program), "{program}");
        counted += 1;
        looping += u32::from(back);
    }
    assert!(looping > 50, "{looping} of {counted} programs have loops");
}

#[test]
fn every_instruction_is_reachable() {
    for program in generated(&Features::default(), 10, 300) {
        for function in program.functions() {
            let mut reached = vec![false; function.len()];
            let mut pending = vec![0];
            while let Some(slot) = pending.pop() {
                assert!(slot < function.len(), "a way out of a function\n{program}");
                if std::mem::replace(&mut reached[slot], true) {
                    continue;
                }
                let insn = function[slot];
                pending.extend(insn.jump_target(slot));
                if !matches!(insn, Insn::Jump { .. } | Insn::Exit) {
                    pending.push(slot + insn.slots().max(1));
                }
            }
            let unreached = function
                .iter()
                .zip(&reached)
                .any(|(insn, reached)| !reached && *insn != Insn::SecondSlot);
            assert!(!unreached, "{program}");
        }
    }
}

#[test]
fn objects_are_saved() {
    let program = from_seed(1, &Features::default(), 10);
    let path = std::env::temp_dir().join(format!("slowpath-generate-{}", std::process::id()));
    program.save(&path).expect("the file is written");
    let read = std::fs::read(&path).expect("the file is read");
    std::fs::remove_file(&path).expect("the file is removed");
    assert_eq!(read, program.object());
}
