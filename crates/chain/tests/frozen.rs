//! Tests programs that are rewritten for frozen (constant) content of maps. In the kernel,
//! rewritten random programs do the same as the originals for this content. With a guard, they also
//! do the same for any other content. They are proved, and the proof finds faults that are injected
//! into the rewriting.

use crate::assemble;
mod configured;
use crate::random;

use proptest::test_runner::TestRng;
use random::random;
use slowpath_bpf::lift::{EntryValue, LiftOptions, MapContent};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::{Proof, prove, prove_guard};
use slowpath_chain::facts::any_packet;
use slowpath_chain::frozen::{FrozenMaps, read_contents};
use slowpath_chain::{Chain, Loaded};
use slowpath_kernel::agreement::compare;
use slowpath_kernel::{Kernel, LoadedProgram as InKernel};
use slowpath_oracle::{Oracle, random_cases};
use slowpath_specialise::fault::{Fault, with};
use slowpath_specialise::{Facts, Mode, Specialised, specialise_for};
use slowpath_stop::{Limits, Stop};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Number of random programs.
const SEEDS: u64 = 80;
/// Number of packets for each random program.
const PACKETS: usize = 60;

type Contents = BTreeMap<u32, MapContent>;

/// Rewrites a program for the given content of maps. Returns the rewritten program with its object.
fn made(
    object: &Object,
    program: &BpfProgram,
    contents: &Contents,
    mode: Mode,
) -> Option<(FrozenMaps, Specialised)> {
    let (frozen, why) = FrozenMaps::of(object, contents, mode);
    assert!(why.is_empty(), "{why:?}");
    let (frozen, facts) = (frozen?, any_packet());
    let known = Facts { frozen: Some(&frozen.frozen), ..Facts::of(&facts) };
    let made = specialise_for(&frozen.object, program, known, mode, &Stop::never());
    Some((frozen, made.expect("it has a graph")))
}

fn proof(program: &BpfProgram, (frozen, made): &(FrozenMaps, Specialised), mode: Mode) -> Proof {
    let stop = Stop::new(Limits { time: Some(Duration::from_secs(10)), ..Limits::default() });
    let options = LiftOptions { contents: frozen.relied_on(made, mode), ..LiftOptions::default() };
    let object = &frozen.object;
    let proof = match &made.guard {
        Some(guard) => prove_guard(object, program, (&made.program, guard), &options, &stop),
        None => prove(object, program, &made.program, &any_packet(), &options, &stop),
    };
    proof.expect("both can be lifted")
}

fn load(kernel: &Kernel, object: &Object, program: &BpfProgram) -> InKernel {
    let bytes = object.write(&[program]).expect("it is written");
    let object = Object::parse(&bytes).expect("an object");
    kernel.load(&object, 0).unwrap_or_else(|error| panic!("{error:?}"))
}

fn fill(object: &Object, loaded: &InKernel, contents: &Contents) {
    for (&number, content) in contents {
        let Some(map) = loaded.map(&object.maps[number as usize].name) else { continue };
        let array = map.definition().kind == slowpath_bpf::MapKind::ARRAY;
        for key in map.keys().expect("keys") {
            match array {
                true => map.update(&key, &[0; 12]).expect("an element"),
                false => _ = map.delete(&key).expect("an element"),
            }
        }
        for entry in &content.entries {
            let EntryValue::Bytes(value) = &entry.value else { panic!("no bytes") };
            map.update(&entry.key, value).expect("an element");
        }
    }
}

fn differs(rng: &mut TestRng, first: &InKernel, second: &InKernel) -> Option<String> {
    (0..PACKETS).find_map(|_| {
        let packet = configured::packet(rng);
        let found = compare(first, second, &packet).expect("it runs")?;
        Some(format!("{found}, packet {packet:02x?}"))
    })
}

#[test]
fn random_programs_do_in_the_kernel_what_the_original_does() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let object = configured::object();
    let (mut compared, mut inlined, mut calls) = (0, 0, [0; 2]);
    for seed in 0..random_cases(SEEDS) {
        let mut rng = random(seed);
        let program = configured::program(&mut rng);
        let contents = configured::contents(&mut rng);
        for mode in [Mode::Trust, Mode::Guard] {
            let Some((frozen, made)) = made(&object, &program, &contents, mode) else { continue };
            let first = load(&kernel, &object, &program);
            let second = load(&kernel, &frozen.object, &made.program);
            let listing = || {
                let slots = 0..made.program.insns.len();
                let line = |slot| made.program.disassemble(&frozen.object, slot);
                slots.map(line).collect::<Vec<_>>().join("\n")
            };
            fill(&object, &first, &contents);
            fill(&object, &second, &contents);
            let found = differs(&mut rng, &first, &second);
            assert_eq!(found, None, "{seed} {mode:?} {contents:?}\n{}", listing());
            let generation = made.guard.as_ref().and_then(|guard| guard.generation);
            if let Some(number) = generation {
                let map = &frozen.object.maps[number as usize];
                let map = second.map(&map.name).expect("it reads it");
                map.update(&[0; 4], &(1_u64 << (seed % 64)).to_le_bytes()).expect("an element");
                let other: Contents =
                    (0..3).map(|map| (map, configured::content(&mut rng, map))).collect();
                fill(&object, &first, &other);
                fill(&object, &second, &other);
                let found = differs(&mut rng, &first, &second);
                assert_eq!(found, None, "{seed} raised {other:?}\n{}", listing());
            }
            compared += PACKETS * (1 + usize::from(generation.is_some()));
            if mode == Mode::Trust {
                let is = |change| matches!(change, slowpath_specialise::Change::Inlined(_));
                inlined += made.changes.iter().filter(|one| is(one.change)).count();
                let count = |program: &BpfProgram| {
                    let called = |insn: &&slowpath_bpf::insn::Insn| {
                        matches!(insn, slowpath_bpf::insn::Insn::Call(_))
                    };
                    program.insns.iter().filter(called).count()
                };
                calls[0] += count(&program);
                calls[1] += count(&made.program);
            }
        }
    }
    eprintln!("{inlined} look-ups inlined, {} of {} calls left", calls[1], calls[0]);
    assert!(inlined > 10 && 2 * calls[1] < calls[0], "{inlined} {calls:?}");
    Oracle::Kernel.compared(compared, "packets in programs rewritten for content of maps");
}

#[test]
fn random_programs_are_proved() {
    let (object, mut proved) = (configured::object(), 0);
    for seed in 0..random_cases(SEEDS / 8) {
        let mut rng = random(seed);
        let program = configured::program(&mut rng);
        let contents = configured::contents(&mut rng);
        for mode in [Mode::Trust, Mode::Guard] {
            let Some(made) = made(&object, &program, &contents, mode) else { continue };
            let proof = proof(&program, &made, mode);
            assert!(proof.counterexample.is_none(), "{seed} {mode:?} {proof:#?}");
            assert!(proof.proved, "{seed} {mode:?} {proof:#?}");
            proved += 1;
        }
    }
    assert!(proved > 10, "{proved}");
}

fn example(name: &str) -> (Arc<Object>, BpfProgram, Contents) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chain");
    let read = |end: &str| std::fs::read(path.join(format!("{name}.{end}"))).expect("a file");
    let object = Arc::new(Object::parse(&read("bpf.o")).expect("an object"));
    let program = object.link(0, None).expect("links");
    let text = format!("schema: 1\nprograms:\n  - {{name: one, object: {name}.bpf.o}}");
    let chain = Chain::parse(&text).expect("a chain");
    let loaded = [Loaded { object: Arc::clone(&object), program: 0 }];
    let maps = String::from_utf8(read("toml")).expect("text");
    let mut contents = read_contents(&chain, &loaded, &maps).expect("content");
    (object, program, contents.remove(0))
}

/// Faults to inject into the rewriting. Each comes with an example program that it makes wrong, and
/// with the mode of rewriting.
const FAULTS: [(Fault, &str, Mode); 5] = [
    (Fault::OneEntryOnly, "backends", Mode::Trust),
    (Fault::EntryForgotten, "rules", Mode::Trust),
    (Fault::KeyTooShort, "rules", Mode::Guard),
    (Fault::GenerationIgnored, "rules", Mode::Guard),
    (Fault::GenerationCut, "backends", Mode::Guard),
];

#[test]
fn faults_are_found() {
    let faults: BTreeSet<Fault> = FAULTS.iter().map(|&(fault, ..)| fault).collect();
    let first = Fault::OriginalMissed as usize + 1;
    let all = (first..=Fault::GenerationCut as usize).count();
    assert_eq!(faults.len(), all, "the table has all of them");
    for (fault, name, mode) in FAULTS {
        let (object, program, contents) = example(name);
        let right = made(&object, &program, &contents, mode).expect("it has maps");
        let sound = proof(&program, &right, mode);
        assert!(sound.proved, "without {fault:?}: {sound:#?}");
        let mutant = with(fault, || made(&object, &program, &contents, mode));
        let mutant = mutant.expect("it has maps");
        assert_ne!(mutant.1.program.insns, right.1.program.insns, "{fault:?} does not show");
        let found = proof(&program, &mutant, mode);
        assert!(!found.proved && found.counterexample.is_some(), "{fault:?}: {found:#?}");
    }
}

/// Checks that a program rewritten for certain map contents is not proved equivalent for other
/// contents.
#[test]
fn other_content_refutes_it() {
    let (object, program, contents) = example("rules");
    let (mut frozen, made) = made(&object, &program, &contents, Mode::Trust).expect("it has maps");
    let rules = frozen.contents.get_mut("rules").expect("given");
    let EntryValue::Bytes(value) = &mut rules.entries[1].value else { panic!("no bytes") };
    value[0] = 1;
    let other = proof(&program, &(frozen.clone(), made.clone()), Mode::Trust);
    assert!(!other.proved && other.counterexample.is_some(), "{other:#?}");
    // If the content is unknown, the proof fails as well.
    frozen.contents.clear();
    let any = proof(&program, &(frozen, made), Mode::Trust);
    assert!(!any.proved && any.counterexample.is_some(), "{any:#?}");
}
