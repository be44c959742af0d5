//! Tests facts about packets that leave a program with real packets, in the concrete interpreter
//! and in the running kernel.

use proptest::prelude::Rng;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use slowpath_bpf::Object;
use slowpath_bpf::lift::{LiftOptions, Lifted, Receive, lift};
use slowpath_chain::facts::{FactsOptions, Outgoing, facts_after};
use slowpath_exec::concrete::{Environment, run};
use slowpath_generate::{Features, Programs};
use slowpath_ir::{InputId, InputKind, KnownBits, PacketFacts, RegionId};
use slowpath_kernel::Kernel;
use slowpath_oracle::{Oracle, random_cases};
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const RESULTS: [u32; 2] = [2, 3];
const PROGRAMS: u64 = 30;
const PACKETS: usize = 60;
/// Minimum and maximum length of packets in bytes.
const LENGTHS: (u16, u16) = (60, 130);

fn random(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(Config::default(), rng).new_rng()
}

/// Returns random facts about arriving packets: some bytes, some bits, and a field with two values.
fn arriving(rng: &mut TestRng) -> PacketFacts {
    let mut facts = PacketFacts::lengths(LENGTHS.0, LENGTHS.1);
    for _ in 0..rng.next_u32() % 12 {
        let offset = (rng.next_u32() % 100) as u16;
        let mask = if rng.next_u32().is_multiple_of(2) { u8::MAX } else { rng.next_u32() as u8 };
        let byte = [0, 1, 2, 0x7f, 0xff][rng.next_u32() as usize % 5];
        facts.bits.extend(KnownBits::of(mask, byte).map(|bits| (offset, bits)));
    }
    if rng.next_u32().is_multiple_of(2) {
        let field = slowpath_ir::Field { offset: 101, bytes: 2 };
        facts.values.insert(field, BTreeSet::from([1, 0x0200]));
    }
    facts
}

/// Returns a random packet for which the facts hold.
fn packet(rng: &mut TestRng, facts: &PacketFacts) -> Vec<u8> {
    let spread = u32::from(facts.max_length - facts.min_length) + 1;
    let length = u32::from(facts.min_length) + rng.next_u32() % spread;
    let mut packet: Vec<u8> = (0..length)
        .map(|_| match rng.next_u32() % 3 {
            0 => rng.next_u32() as u8,
            1 => [0, 1, 0x1f, 0x20, 0x7f, 0x80, 0xff][rng.next_u32() as usize % 7],
            _ => 0,
        })
        .collect();
    for (&offset, bits) in &facts.bits {
        if let Some(byte) = packet.get_mut(usize::from(offset)) {
            *byte = *byte & !bits.mask | bits.value;
        }
    }
    for (field, values) in &facts.values {
        let value = values.iter().nth(rng.next_u32() as usize % values.len()).copied();
        let bytes = value.unwrap_or_default().to_be_bytes();
        let bytes = &bytes[8 - usize::from(field.bytes)..];
        if let Some(place) = packet.get_mut(usize::from(field.offset)..field.end()) {
            place.copy_from_slice(bytes);
        }
    }
    assert!(facts.hold(&packet));
    packet
}

/// Runs a program on a packet in the interpreter. Returns the result and the packet afterwards. All
/// bytes of memory outside the packet have the value `fill`.
fn interpret(lifted: &Lifted, packet: &[u8], fill: u8) -> Option<(u32, Vec<u8>)> {
    let program = &lifted.program;
    let mut environment = Environment::with_fill(program, fill);
    environment.inputs.insert(program.packet_length?, packet.len() as u64);
    for (offset, &byte) in (0..).zip(packet) {
        environment.memory.insert((lifted.layout.packet, offset), byte);
    }
    let run = run(program, &environment, 100_000).ok().filter(|run| !run.impossible)?;
    let byte = |region: RegionId, offset: u64| {
        let written = run.written.get(&(region, offset));
        written.or(environment.memory.get(&(region, offset))).copied().unwrap_or(fill)
    };
    let word = |region, offset: u64| {
        (0..4).fold(0, |word, n| word | u32::from(byte(region, offset + n)) << (8 * n))
    };
    let base = program
        .inputs
        .iter()
        .position(|input| input.kind == InputKind::BaseAddress(lifted.layout.packet))?;
    let base = *environment.inputs.get(&InputId::from(base))? as u32;
    let (data, end) = (word(lifted.layout.context, 0), word(lifted.layout.context, 4));
    let start = i64::from(data.wrapping_sub(base) as i32) as u64;
    let length = u64::from(end.wrapping_sub(data));
    let left = (0..length).map(|offset| byte(lifted.layout.packet, start.wrapping_add(offset)));
    Some((word(lifted.layout.result, 0), left.collect()))
}

fn facts(object: &Object, program: usize, arriving: &PacketFacts) -> Option<Outgoing> {
    let linked = object.link(program, None).ok()?;
    let options = FactsOptions { bytes: 130, ..FactsOptions::default() };
    let stop = Stop::never().within(Some(Duration::from_secs(5)));
    facts_after(object, &linked, arriving, &RESULTS, &options, &stop).ok()
}

/// Checks that the facts about packets leaving a program hold for one processed packet, whose bytes
/// are `left`. Returns false, without a check, if the packet does not continue after the program's
/// `result`.
fn check(leaving: &Outgoing, result: u32, left: &[u8], what: &dyn Fn() -> String) -> bool {
    if !RESULTS.contains(&result) {
        return false;
    }
    match leaving {
        Outgoing::Nothing(_) => panic!("{}: {left:02x?} leaves, and nothing should", what()),
        Outgoing::Packets(found) => {
            assert!(found.facts.hold(left), "{}: {left:02x?}: {:?}", what(), found.facts);
        }
    }
    true
}

#[test]
fn facts_hold_for_what_leaves_random_programs() {
    let features = Features { any_result: false, ..Features::default() };
    let programs = Programs::new(features, 8);
    let kernel = Kernel::available().inspect_err(|reason| Oracle::Kernel.missing(reason)).ok();
    let (mut analysed, mut interpreted, mut ran, mut known) = (0, 0, 0, 0);
    for seed in 0..random_cases(PROGRAMS) {
        let program = programs.from_seed(seed);
        let object = Object::parse(&program.object()).expect("it is an object");
        let mut rng = random(seed);
        let arriving = arriving(&mut rng);
        let Some(leaving) = facts(&object, 0, &arriving) else { continue };
        analysed += 1;
        if let Outgoing::Packets(found) = &leaving {
            known += found.list().len();
        }
        let linked = object.link(0, None).expect("it is complete");
        let (min_packet, max_packet) = LENGTHS;
        let options = LiftOptions {
            receive: Receive::PAGE.with_length(min_packet, max_packet),
            ..LiftOptions::default()
        };
        let lifted = lift(&object, &linked, &options).expect("it was lifted before");
        let loaded = kernel.as_ref().and_then(|kernel| kernel.load(&object, 0).ok());
        for _ in 0..PACKETS {
            let packet = packet(&mut rng, &arriving);
            let what = || format!("program {seed}, {packet:02x?}\n{program}");
            let fill = [0, 1, 0xff][rng.next_u32() as usize % 3];
            if let Some((result, left)) = interpret(&lifted, &packet, fill) {
                interpreted += usize::from(check(&leaving, result, &left, &what));
            }
            if let Some(test) = loaded.as_ref().and_then(|loaded| loaded.run(&packet, 1).ok()) {
                ran += usize::from(check(&leaving, test.return_value, &test.packet, &what));
            }
        }
    }
    eprintln!("{analysed} programs, {known} facts, {interpreted} interpreted, {ran} in the kernel");
    assert!(
        analysed > 20 && known > 100 && interpreted > 400,
        "{analysed}, {known}, {interpreted}"
    );
    if kernel.is_some() {
        Oracle::Kernel.compared(ran, "packets that leave random programs, of which facts hold");
    }
}

#[test]
fn facts_hold_for_what_leaves_a_chain_in_the_kernel() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let object = Object::parse(include_bytes!("objects/facts.bpf.o")).expect("it is an object");
    let mut first = PacketFacts::lengths(60, 200);
    first.bits.extend([0x86, 0xdd].iter().zip(12..).map(|(&b, at)| (at, KnownBits::all(b))));
    first.bits.insert(14, KnownBits { mask: 0xf0, value: 0x60 });
    first.bits.insert(20, KnownBits::all(6));
    let Some(Outgoing::Packets(after)) = facts(&object, 0, &first) else {
        panic!("packets pass the firewall")
    };
    let Some(second) = facts(&object, 1, &after.facts) else { panic!("it is understood") };
    let firewall = kernel.load(&object, 0).expect("the kernel loads it");
    let magic = kernel.load(&object, 1).expect("the kernel loads it");
    let mut rng = random(0);
    let mut through = 0;
    for _ in 0..500 {
        let packet = packet(&mut rng, &first);
        let run = firewall.run(&packet, 1).expect("it runs");
        if !RESULTS.contains(&run.return_value) {
            continue;
        }
        assert!(after.facts.hold(&run.packet), "{:02x?}: {:?}", run.packet, after.facts);
        let next = magic.run(&run.packet, 1).expect("it runs");
        let what = || format!("{packet:02x?}");
        through += usize::from(check(&second, next.return_value, &next.packet, &what));
    }
    Oracle::Kernel.compared(through, "packets through two programs with facts");
}

#[test]
fn examples_are_understood_whole() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("there are examples")
        .flatten()
        .map(|e| e.path())
        .collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|end| end == "o"));
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let analysed: usize = std::thread::scope(|scope| {
        let worker = || {
            let own = std::iter::from_fn(|| paths.get(next.fetch_add(1, Ordering::Relaxed)));
            own.map(|path| understood(path)).sum::<usize>()
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
    });
    assert!(analysed > 5, "{analysed}");
}

/// Computes the facts that hold after each program of an example. Returns the number of programs.
fn understood(path: &Path) -> usize {
    let object = Object::parse(&std::fs::read(path).expect("it is there")).expect("an object");
    for number in 0..object.programs.len() {
        let linked = object.link(number, None).expect("it is complete");
        let stop = Stop::never();
        let any = PacketFacts::lengths(60, 1500);
        let results = [2, 3, 4];
        let options = FactsOptions::default();
        let left = facts_after(&object, &linked, &any, &results, &options, &stop);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = format!("{}: {}", name.unwrap_or_default(), linked.name);
        match left.unwrap_or_else(|error| panic!("{name}: {error}")) {
            Outgoing::Packets(found) => {
                let work = found.work;
                eprintln!("{name}: {work:?}");
                // A single query refutes many candidates.
                assert!(found.stopped.is_none() && work.queries < 60, "{name}: {work:?}");
            }
            Outgoing::Nothing(never) => panic!("{name}: packets pass: {never:?}"),
        }
    }
    object.programs.len()
}
