//! Tests that fused programs do the same in the kernel as separate programs that run one after the
//! other. Both must agree on action, packet, metadata and maps. The tests use examples and random
//! programs, in both forms of fusing.

use std::collections::BTreeMap;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::insn::{AluOp, Call, Insn, Register, Size, Source, Width};
use slowpath_bpf::{BpfProgram, Object, Part, ProgramKind, Subprogram};
use slowpath_generate::{Features, Programs};
use slowpath_kernel::{Context, Kernel, LoadedProgram};
use slowpath_oracle::Oracle;
use slowpath_specialise::fuse::{Form, FuseError, Handover, form, fuse, fuse_in_form};

/// Number of packets that are tried for each list of fused programs.
const PACKETS: usize = 1000;
/// Return value `XDP_PASS`.
const PASS: u32 = 2;

/// Returns access to the running kernel, or `None` if it is not available. Pins the thread to one
/// CPU, because per-CPU maps differ between CPUs.
fn kernel() -> Option<Kernel> {
    let mut own = rustix::thread::CpuSet::new();
    own.set(rustix::thread::sched_getcpu());
    rustix::thread::sched_setaffinity(None, &own).unwrap_or_else(|e| panic!("{e}"));
    Kernel::available().map_err(|reason| Oracle::Kernel.missing(reason)).ok()
}

fn object(below: &str) -> Object {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(below);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Object::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn example(name: &str) -> Object {
    object(&format!("examples/{name}.bpf.o"))
}

/// Joins several objects into one. Returns the joined object with the first program of each
/// original object, after linking.
fn joined(objects: &[Object]) -> (Object, Vec<BpfProgram>) {
    let names: Vec<String> = (0..objects.len()).map(|n| format!("p{n}")).collect();
    let parts: Vec<Part> =
        names.iter().zip(objects).map(|(name, object)| Part { name, object }).collect();
    let joined = Object::join(&parts, |_, _| false);
    let linked = joined.programs.iter().map(|&number| joined.object.link(number, None));
    let linked = linked.map(|program| program.unwrap_or_else(|e| panic!("{e}"))).collect();
    (joined.object, linked)
}

fn handover(from: usize, results: &[u32], to: usize) -> Handover {
    Handover { from, results: results.to_vec(), to }
}

/// Returns handovers for `count` programs: if a program returns `XDP_PASS`, the next program in the
/// list runs.
fn chain(count: usize) -> Vec<Handover> {
    (1..count).map(|to| handover(to - 1, &[PASS], to)).collect()
}

/// Returns a random packet: Ethernet with IPv4 or IPv6, then TCP, UDP or another protocol, with
/// some bytes changed.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..rng.random_range(60..200)).map(|_| rng.random()).collect();
    let protocol = [6, 17, 1, 4, 41, 0][rng.random_range(0..6)];
    match rng.random_range(0..5) {
        0 | 1 => {
            packet[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
            let total = (packet.len() - 14) as u16;
            packet[16..18].copy_from_slice(&total.to_be_bytes());
            packet[20..22].fill(0);
            packet[23] = protocol;
        }
        2 | 3 => {
            packet[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
            let len = (packet.len() - 54) as u16;
            packet[18..20].copy_from_slice(&len.to_be_bytes());
            packet[20] = protocol;
        }
        _ => {}
    }
    packet
}

type Outcome = (u32, Vec<u8>, Vec<u8>);

/// Runs separate programs one after the other, each on the packet as the previous one left it.
/// Returns the final state after the last run, and the number of programs that ran. Returns `None`
/// if a packet becomes too short for the next program.
fn in_turn(
    programs: &[LoadedProgram],
    handovers: &[Handover],
    packet: &[u8],
) -> Option<(Outcome, usize)> {
    let (mut number, mut packet, mut metadata) = (0, packet.to_vec(), Vec::new());
    for count in 1.. {
        if packet.len() < 14 {
            return None;
        }
        let context = Context { metadata, ..Context::default() };
        let run = programs[number].run_in(&packet, 1, &context).unwrap_or_else(|e| panic!("{e}"));
        let result = run.return_value;
        (packet, metadata) = (run.packet, run.metadata);
        let next = handovers.iter().find(|h| h.from == number && h.results.contains(&result));
        match next {
            Some(next) => number = next.to,
            None => return Some(((result, packet, metadata), count)),
        }
    }
    None
}

type Contents = BTreeMap<Vec<u8>, Option<Vec<Vec<u8>>>>;

fn content(of: &LoadedProgram, name: &str) -> Option<Contents> {
    let map = of.map(name)?;
    let keys = map.keys().ok()?;
    keys.into_iter().map(|key| Some((key.clone(), map.lookup_all(&key).ok()?))).collect()
}

/// Returns true if the programs call no helper whose result differs between runs, such as the time
/// or a random number.
fn repeatable(programs: &[BpfProgram]) -> bool {
    let changing = [5, 7, 8, 125, 160];
    let is = |insn: &Insn| matches!(insn, Insn::Call(Call::Helper(n)) if changing.contains(n));
    !programs.iter().flat_map(|program| &program.insns).any(is)
}

/// Runs random packets through the fused program and through the separate programs, and checks that
/// the final states are equal. Returns the number of compared packets, and the number of packets
/// for which more than one program ran.
fn agree(
    kernel: &Kernel,
    objects: &[Object],
    handovers: &[Handover],
    form: Form,
    count: usize,
    seed: u64,
) -> (usize, usize) {
    let (joined, linked) = joined(objects);
    let fused = fuse_in_form(form, &linked, handovers, "fused").unwrap_or_else(|e| panic!("{e}"));
    let mut alone = joined.clone();
    alone.maps.iter_mut().for_each(|map| map.slots.clear());
    let bytes = alone.write(&[&fused]).unwrap_or_else(|e| panic!("{e}"));
    let read = Object::parse(&bytes).unwrap_or_else(|e| panic!("{e}"));
    let fused = kernel.load(&read, 0).unwrap_or_else(|e| panic!("{form:?}: {e}"));
    let load = |object: &Object| {
        let mut object = object.clone();
        object.maps.iter_mut().for_each(|map| map.slots.clear());
        kernel.load(&object, 0).unwrap_or_else(|e| panic!("{e}"))
    };
    let programs: Vec<LoadedProgram> = objects.iter().map(load).collect();
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut compared, mut handed) = (0, 0);
    for _ in 0..count {
        let packet = packet(&mut rng);
        let run = fused.run(&packet, 1).unwrap_or_else(|e| panic!("{e}"));
        let Some((expected, ran)) = in_turn(&programs, handovers, &packet) else { continue };
        assert_eq!((run.return_value, run.packet, run.metadata), expected, "{form:?} {packet:x?}");
        compared += 1;
        handed += usize::from(ran > 1);
    }
    if compared == count && repeatable(&linked) {
        for (number, object) in objects.iter().enumerate() {
            for def in &object.maps {
                let in_joined = |name: &str| joined.maps.iter().any(|map| map.name == name);
                let name = if in_joined(&def.name) {
                    def.name.clone()
                } else if def.initial.is_some() {
                    format!("{}.p{number}", def.name)
                } else {
                    format!("p{number}_{}", def.name)
                };
                let expected = content(&programs[number], &def.name);
                assert_eq!(content(&fused, &name), expected, "{form:?} {name}");
            }
        }
    }
    (compared, handed)
}

#[test]
fn fused_examples_do_what_they_do_one_after_the_other() {
    let Some(kernel) = kernel() else { return };
    let chains: [&[&str]; 6] = [
        &["header_parser", "flow_monitor"],
        &["firewall", "ipv6_lb"],
        &["count_min.4", "tunnel"],
        &["flow_monitor", "flow_monitor"],
        &["header_parser", "count_min.1", "firewall"],
        &["tunnel", "header_parser", "flow_monitor"],
    ];
    let mut packets = 0;
    for names in chains {
        let objects: Vec<Object> = names.iter().map(|name| example(name)).collect();
        let handovers = chain(objects.len());
        let (_, linked) = joined(&objects);
        let chosen = form(&linked, &handovers);
        for form in [chosen, Form::Calls] {
            let (compared, handed) = agree(&kernel, &objects, &handovers, form, PACKETS, 7);
            eprintln!("{names:?} {form:?}: {compared} packets, {handed} handed over");
            assert!(compared > PACKETS / 2, "{names:?}");
            packets += compared;
        }
    }
    Oracle::Kernel.compared(packets, "packets through fused examples");
}

#[test]
fn fused_random_programs_do_what_they_do_one_after_the_other() {
    let Some(kernel) = kernel() else { return };
    let generator = Programs::new(Features::default(), 8);
    let (mut packets, mut handed_over) = (0, 0);
    for seed in 0..40 {
        let objects: Vec<Object> = (0..3)
            .map(|n| generator.from_seed(3 * seed + n).object())
            .map(|bytes| Object::parse(&bytes).unwrap_or_else(|e| panic!("{e}")))
            .collect();
        // Two handovers lead to the last program, and one result has no handover.
        let handovers =
            [handover(0, &[0, PASS], 1), handover(0, &[1, 4], 2), handover(1, &[0, 1, PASS, 4], 2)];
        let (_, linked) = joined(&objects);
        for form in [form(&linked, &handovers), Form::Calls] {
            let (compared, handed) = agree(&kernel, &objects, &handovers, form, 50, seed);
            packets += compared;
            handed_over += handed;
        }
    }
    assert!(handed_over > 500, "{handed_over} packets were handed over");
    Oracle::Kernel.compared(packets, "packets through fused random programs");
}

fn two() -> Vec<BpfProgram> {
    joined(&[example("header_parser"), example("flow_monitor")]).1
}

#[test]
fn programs_become_one_function_where_they_can() {
    let programs = two();
    let Form::Inline { context } = form(&programs, &chain(2)) else { panic!("they can") };
    assert!(context % 8 == 0 && context <= 80, "{context}");
    let fused = fuse(&programs, &chain(2), "both").expect("fuses");
    let inlined: usize = programs.iter().map(|program| program.insns.len()).sum();
    // Fusing adds a save and a reload of the context, a branch, a jump and two exits.
    assert_eq!(fused.insns.len(), inlined + 6);
    assert_eq!((fused.name.as_str(), fused.section.as_str()), ("both", "xdp"));
    let called: usize = programs.iter().map(|program| program.subprograms.len() - 1).sum();
    assert_eq!(fused.subprograms.len(), 1 + called);
    let driver = &fused.insns[..fused.subprograms[1].first];
    assert_eq!(driver.iter().filter(|insn| **insn == Insn::Exit).count(), 2);
    let lines = |program: &BpfProgram| program.lines.iter().flatten().count();
    assert_eq!(lines(&fused), programs.iter().map(lines).sum::<usize>());
}

#[test]
fn a_program_that_is_reached_twice_is_there_once() {
    let programs =
        joined(&[example("firewall"), example("flow_monitor"), example("header_parser")]).1;
    let handovers = [handover(0, &[PASS], 1), handover(0, &[1], 2), handover(1, &[PASS], 2)];
    let fused = fuse(&programs, &handovers, "fused").expect("fuses");
    let inlined: usize = programs.iter().map(|program| program.insns.len()).sum();
    assert!(fused.insns.len() < inlined + 20, "{} {inlined}", fused.insns.len());
}

#[test]
fn tail_calls_end_only_their_own_program() {
    let mut programs = two();
    programs[0].insns[0] = Insn::Call(Call::Helper(slowpath_bpf::insn::helper::TAIL_CALL));
    assert_eq!(form(&programs, &chain(2)), Form::Calls);
    // Tail calls of the last program may end the whole chain.
    programs.swap(0, 1);
    assert!(matches!(form(&programs, &chain(2)), Form::Inline { .. }));
}

/// Returns a program that uses `own` bytes of stack, and calls a function that uses `callee` bytes
/// of stack.
fn deep(own: i16, callee: i16) -> BpfProgram {
    let result = |value| Insn::Alu {
        width: Width::W64,
        op: AluOp::Mov,
        dst: Register::R0,
        src: Source::Imm(value),
    };
    let keep = |depth: i16| Insn::Store {
        size: Size::B,
        base: Register::FRAME,
        offset: -depth,
        src: Source::Imm(1),
    };
    let call = Insn::Call(Call::Subprogram { offset: 2 });
    let function = |name: &str, first, global| Subprogram {
        name: name.to_owned(),
        first,
        global,
        section: "xdp".to_owned(),
        section_slot: first,
    };
    let insns =
        vec![keep(own), call, result(PASS as i32), Insn::Exit, keep(callee), result(0), Insn::Exit];
    BpfProgram {
        number: 0,
        name: "deep".to_owned(),
        section: "xdp".to_owned(),
        kind: ProgramKind::Xdp,
        lines: vec![None; insns.len()],
        insns,
        subprograms: vec![function("deep", 0, true), function("callee", 4, false)],
        kfuncs: Vec::new(),
        unresolved: Vec::new(),
    }
}

#[test]
fn stacks_of_calls_fit_as_they_fit_alone() {
    let object = example("header_parser");
    let load = |kernel: &Kernel, program: &BpfProgram| {
        let mut object = object.clone();
        object.maps.iter_mut().for_each(|map| map.slots.clear());
        let bytes = object.write(&[program]).unwrap_or_else(|e| panic!("{e}"));
        let read = Object::parse(&bytes).unwrap_or_else(|e| panic!("{e}"));
        kernel.load(&read, 0).map_err(|e| e.to_string())
    };
    let cases = [
        (deep(240, 250), Form::Inline { context: 248 }),
        (deep(256, 250), Form::Calls),
        (deep(496, 16), Form::Calls),
    ];
    for (program, expected) in cases {
        let programs = [program.clone(), program];
        assert_eq!(form(&programs, &chain(2)), expected);
        let Some(kernel) = kernel() else { return };
        let fused = fuse(&programs, &chain(2), "fused").expect("fuses");
        match (load(&kernel, &programs[0]), load(&kernel, &fused)) {
            (Ok(_), Ok(fused)) => {
                assert_eq!(fused.run(&[0; 60], 1).expect("runs").return_value, PASS);
            }
            (alone, fused) => panic!("{alone:?} {fused:?}"),
        }
    }
    let Some(kernel) = kernel() else { return };
    let programs = [deep(256, 250), deep(256, 250)];
    let inline = fuse_in_form(Form::Inline { context: 264 }, &programs, &chain(2), "fused");
    let refused = load(&kernel, &inline.expect("fuses")).expect_err("too deep").to_string();
    assert!(refused.contains("combined stack size"), "{refused}");
    Oracle::Kernel.compared(3, "fused programs with deep stacks");
}

#[test]
fn a_full_stack_takes_calls() {
    let twice = |depth: i16| {
        let mut program = deep(depth, 0);
        // Remove the call and the called function.
        program.insns.remove(1);
        program.insns.truncate(3);
        program.lines.truncate(3);
        program.subprograms.truncate(1);
        form(&[program.clone(), program], &chain(2))
    };
    assert_eq!(twice(504), Form::Inline { context: 512 });
    assert_eq!(twice(505), Form::Calls);
}

#[test]
fn handovers_that_make_no_sense_are_named() {
    let programs = two();
    let refused = |programs: &[BpfProgram], handovers: &[Handover]| {
        fuse(programs, handovers, "fused").expect_err("refused")
    };
    let names: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
    assert_eq!(refused(&[], &[]), FuseError::Nothing);
    assert_eq!(
        refused(&programs, &[handover(0, &[PASS], 2)]),
        FuseError::NoProgram { number: 2, available: 2 }
    );
    assert_eq!(refused(&programs, &[]), FuseError::Unreached { program: names[1].clone() });
    assert_eq!(
        refused(&programs, &[handover(0, &[], 1)]),
        FuseError::Unreached { program: names[1].clone() }
    );
    assert_eq!(
        refused(&programs, &[handover(0, &[PASS], 1), handover(1, &[PASS], 0)]),
        FuseError::Circle { program: names[0].clone() }
    );
    assert_eq!(
        refused(&programs, &[handover(0, &[PASS], 1), handover(0, &[1, PASS], 1)]),
        FuseError::Ambiguous { program: names[0].clone(), result: PASS }
    );
    let mut other = programs.clone();
    other[1].kind = ProgramKind::SchedCls;
    let text = refused(&other, &chain(2)).to_string();
    assert_eq!(text, format!("program {} is of type sched_cls, {} is not", names[1], names[0]));
    let mut fragments = programs.clone();
    fragments[1].section = "xdp.frags".to_owned();
    assert!(refused(&fragments, &chain(2)).to_string().contains("in fragments"));
    let mut damaged = programs;
    damaged[1].insns[0] = Insn::Call(Call::Subprogram { offset: 1 });
    let text = refused(&damaged, &chain(2)).to_string();
    assert!(text.contains("is damaged"), "{text}");
}
