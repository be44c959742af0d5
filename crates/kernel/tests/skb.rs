//! Tests tc programs in the kernel and in the concrete interpreter: fields of `struct __sk_buff`,
//! and calls that change the packet.

use crate::support;

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use slowpath_bpf::insn::{AluOp, Call, Condition, Insn, Register, Size, Source, Width};
use slowpath_bpf::lift::{LiftOptions, lift, support_matrix};
use slowpath_bpf::{FirstByte, Object, ProgramKind, ProgramType, SCHED_CLS};
use slowpath_kernel::witness::bytes;
use slowpath_kernel::{Context, Kernel};
use slowpath_oracle::{Oracle, random_cases};
use slowpath_replay::{Entry, PathRecord, Replay, ReplayError};
use support::assemble;
use support::bounds::analyse;
use support::pin::{each_on_every_cpu, pin_here};
use support::tally::setting;
use support::{hex, kernel, object, path};

/// Number of random packets for each program.
const PACKETS: u64 = 12;

fn programs() -> Object {
    object(&path("tests/objects/skb.bpf.o"))
}

/// Returns a random packet. Each of its first words selects a helper and its arguments.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    /// EtherTypes: IPv4, IPv6, VLAN tags, and a length.
    const TYPES: [u16; 6] = [0x0800, 0x0800, 0x86dd, 0x8100, 0x88a8, 0x0040];
    let mut packet: Vec<u8> = Vec::new();
    for _ in 0..8 {
        let far: i64 = match rng.random_range(0..3) {
            0 => rng.random_range(-8..140),
            1 => rng.random_range(0..3700),
            _ => rng.random::<i16>().into(),
        };
        let word = u64::from(rng.random::<u16>())
            | u64::from(far as u16) << 16
            | u64::from(rng.random::<u32>()) << 32;
        packet.extend(word.to_le_bytes());
    }
    if rng.random_bool(0.8) {
        let ty = TYPES[rng.random_range(0..TYPES.len())];
        packet[12..14].copy_from_slice(&ty.to_be_bytes());
    }
    if rng.random_bool(0.3) {
        let inner = TYPES[rng.random_range(0..TYPES.len())];
        packet[16..18].copy_from_slice(&inner.to_be_bytes());
    }
    match rng.random_range(0..6) {
        0 => packet[..6].fill(0),
        1 => packet[..6].fill(0xff),
        _ => {}
    }
    let rest = [0, 0, 1, 40, 100, 1400, 3000][rng.random_range(0..7)];
    packet.extend((0..rest).map(|_| rng.random::<u8>()));
    if rng.random_bool(0.03) {
        packet.truncate(rng.random_range(14..64));
        // The kernel runs no IP packets without an IP header.
        packet[12..14].copy_from_slice(&[0x12, 0x34]);
    }
    packet
}

/// Returns a random context, with fields that a test run accepts.
fn context(rng: &mut StdRng, packet: &[u8]) -> Context {
    let mut context = Context::default();
    for name in ["mark", "priority", "cb[0]", "cb[1]", "cb[2]", "cb[3]", "cb[4]"] {
        if rng.random_bool(0.5) {
            context.fields.insert(name.to_owned(), rng.random::<u32>().into());
        }
    }
    if rng.random_bool(0.3) {
        context.fields.insert("tstamp".to_owned(), rng.random::<u64>() >> 1);
    }
    if rng.random_bool(0.3) {
        let more = rng.random_range(0..60_000);
        context.fields.insert("wire_len".to_owned(), packet.len() as u64 + more);
    }
    if rng.random_bool(0.3) {
        context.fields.insert("gso_segs".to_owned(), rng.random_range(0..60_000));
    }
    if rng.random_bool(0.3) {
        context.fields.insert("ifindex".to_owned(), 1);
    }
    context
}

/// Turns a packet into one that starts with its network header, and adapts its context.
fn without_link_header(rng: &mut StdRng, packet: &mut Vec<u8>, context: &mut Context) {
    /// EtherTypes besides IP: VLAN tag, ARP, LLDP.
    const OTHERS: [u16; 3] = [0x8100, 0x0806, 0x88cc];
    packet[0] = match rng.random_range(0..5) {
        0 | 1 => 0x40 | packet[0] & 15,
        2 | 3 => 0x60 | packet[0] & 15,
        _ => packet[0],
    };
    if rng.random_bool(0.05) {
        packet.truncate(rng.random_range(1..64));
    }
    if rng.random_bool(0.1) {
        let protocol = OTHERS[rng.random_range(0..3)].swap_bytes();
        context.fields.insert("protocol".to_owned(), protocol.into());
    }
    // The kernel compares it with the length that includes the link layer header.
    context.fields.remove("wire_len");
}

/// Returns a random packet and its context, for programs of the type `row`.
fn packet_for(row: &ProgramType, rng: &mut StdRng) -> (Vec<u8>, Context) {
    let mut packet = packet(rng);
    let mut context = context(rng, &packet);
    if row.first != FirstByte::Link {
        without_link_header(rng, &mut packet, &mut context);
    }
    (packet, context)
}

/// Runs random packets through a program in the kernel and in the interpreter. Returns the numbers
/// of compared packets, of packets without a verdict, and of executed basic blocks.
fn compare(kernel: &Kernel, object: &Object, number: usize) -> Result<(u64, u64, usize), String> {
    let row = ProgramType::of(object.programs[number].kind).unwrap_or_else(|| panic!("a type"));
    let text = |fault: ReplayError| fault.to_string();
    let mut replay = Replay::new(kernel, object, number).map_err(text)?;
    replay.use_path_record(PathRecord { map: "out".to_owned(), path_bytes: 0 });
    let mut rng = StdRng::seed_from_u64(setting("SLOWPATH_FIRST_SEED", 0) + number as u64);
    let (mut agreed, mut undecided, mut blocks) = (0, 0, BTreeSet::new());
    for _ in 0..random_cases(PACKETS) {
        let (packet, context) = packet_for(row, &mut rng);
        match replay.run(&packet, &context) {
            Ok(step) => {
                agreed += 1;
                blocks.extend(step.run.path.iter().map(|taken| taken.block));
            }
            Err(ReplayError::Undecided(_)) => undecided += 1,
            Err(fault) => {
                let fields = &context.fields;
                let first = hex(&packet[..packet.len().min(64)]);
                return Err(format!("{first} ({} bytes, {fields:?}): {fault}", packet.len()));
            }
        }
    }
    Ok((agreed, undecided, blocks.len()))
}

#[test]
fn kernel_and_interpreter_agree_on_tc_programs() {
    agree_on(&programs(), "packets through tc programs");
}

#[test]
fn kernel_and_interpreter_agree_on_programs_of_sockets() {
    agree_on(&object(&path("tests/objects/sockets.bpf.o")), "packets through programs of sockets");
}

/// Compares kernel and interpreter on random packets for all programs of an object.
fn agree_on(object: &Object, what: &'static str) {
    let Some(kernel) = kernel() else { return };
    let check = |number: usize| {
        let name = object.programs[number].name.as_str();
        let (agreed, undecided, blocks) =
            compare(&kernel, object, number).map_err(|fault| format!("{name}: {fault}"))?;
        eprintln!("{name}: {agreed} agreed, {undecided} undecided, {blocks} blocks");
        Oracle::Kernel.compared(agreed as usize, what);
        // Hidden state, such as the position of headers, leaves some results undecided. Their
        // number may be at most a quarter of the others.
        if undecided * 4 > agreed {
            return Err(format!("{name}: {undecided} undecided"));
        }
        Ok(())
    };
    let checked = each_on_every_cpu(object.programs.len(), check);
    let faults: Vec<String> = checked.into_iter().filter_map(Result::err).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the upper bound on instructions from a result of the analysis.
fn bound_of(result: &Value) -> u64 {
    let bound = &result["guarantee"]["counts"]["instructions"];
    bound.as_u64().unwrap_or_else(|| panic!("no bound: {result}"))
}

#[test]
fn witnesses_of_tc_programs_take_their_path() {
    let Some(kernel) = kernel() else { return };
    pin_here();
    let file = path("../../tests/objects/tc_mark.bpf.o");
    let data = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let object = object(&file);
    let result = analyse(data);
    let witness = &result["paths"][0]["witness"];
    let mut packet = bytes(&witness["packet"]);
    // In a test run, the field `protocol` follows from the packet.
    packet[12..14].copy_from_slice(&[8, 0]);
    let mut replay = Replay::new(&kernel, &object, 0).unwrap_or_else(|e| panic!("{e}"));
    replay.install(witness).unwrap_or_else(|e| panic!("{e}"));
    let step = replay.run(&packet, &Context::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(step.instructions, bound_of(&result));
    assert_eq!(SCHED_CLS.result_name(step.outcome.action), Some("TC_ACT_REDIRECT"));
    Oracle::Kernel.compared(1, "witnesses of tc programs");
}

#[test]
fn no_packet_exceeds_the_bound_of_a_tc_program() {
    let Some(kernel) = kernel() else { return };
    pin_here();
    let object = object(&path("../../tests/objects/tc_mark.bpf.o"));
    let data = std::fs::read(path("../../tests/objects/tc_mark.bpf.o"));
    let bound = bound_of(&analyse(data.unwrap_or_else(|e| panic!("{e}"))));
    let mut replay = Replay::new(&kernel, &object, 0).unwrap_or_else(|e| panic!("{e}"));
    let mut rng = StdRng::seed_from_u64(setting("SLOWPATH_FIRST_SEED", 0));
    for port in 0u16..4 {
        let value = rng.random::<u32>().to_le_bytes().to_vec();
        let entry = Entry { key: port.to_le_bytes().to_vec(), value };
        replay.put("marks", &entry).unwrap_or_else(|e| panic!("{e}"));
    }
    let mut most = 0;
    for _ in 0..200 {
        let mut packet = packet(&mut rng);
        if packet.len() >= 60 && rng.random_bool(0.8) {
            packet[12..15].copy_from_slice(&[8, 0, 0x45]);
            packet[23] = 6;
            packet[36..38].copy_from_slice(&[0, rng.random_range(0..5)]);
        }
        let step = replay.run(&packet, &Context::default()).unwrap_or_else(|e| panic!("{e}"));
        assert!(step.instructions <= bound, "{}: {} instructions", hex(&packet), step.instructions);
        most = most.max(step.instructions);
    }
    assert!(most + 10 > bound, "the packets execute at most {most} of {bound} instructions");
    Oracle::Kernel.compared(200, "packets below the bound of a tc program");
}

/// Returns a program that executes the instruction `insn` and returns 0. Loads the context into
/// `r6` first, because some instructions need it there.
fn program_of(insn: Insn) -> [Insn; 4] {
    let [r0, r1, r6] = [0, 1, 6].map(|number| Register::new(number).expect("a register"));
    let alu = |dst, src| Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src };
    [alu(r6, Source::Reg(r1)), insn, alu(r0, Source::Imm(0)), Insn::Exit]
}

/// Returns an object with a program of this type, which executes the instruction.
fn object_of(kind: ProgramKind, insn: Insn) -> Object {
    let mut object = assemble::object(&[&program_of(insn)]);
    object.programs[0].kind = kind;
    object
}

/// Lifts the program of an object. Returns the error message, or `None` if lifting succeeds.
fn fault(object: &Object) -> Option<String> {
    let linked = object.link(0, None).unwrap_or_else(|e| panic!("{e}"));
    lift(object, &linked, &LiftOptions::any_device()).err().map(|fault| fault.to_string())
}

const KINDS: [ProgramKind; 4] = [
    ProgramKind::SchedCls,
    ProgramKind::SchedAct,
    ProgramKind::CgroupSkb,
    ProgramKind::SocketFilter,
];

#[test]
fn the_kernel_accepts_the_same_accesses_to_the_context() {
    let Some(kernel) = kernel() else { return };
    let [r0, r1] = [0, 1].map(|number| Register::new(number).expect("a register"));
    let (mut compared, mut faults) = (0, Vec::new());
    let mut check = |kind, insn| {
        let object = object_of(kind, insn);
        let fault = fault(&object);
        let known = fault.as_ref().is_none_or(|text| !text.contains("does not model"));
        let accepted = kernel.load_any(&object, 0).is_ok();
        if accepted != fault.is_none() && known {
            faults.push(format!("{kind} {insn:?}: {accepted}, {fault:?}"));
        }
        compared += 1;
    };
    // Actions have the same description as classifiers (`SchedCls`), so classifiers suffice.
    for kind in KINDS.into_iter().filter(|&kind| kind != ProgramKind::SchedAct) {
        for size in [Size::B, Size::H, Size::W, Size::DW] {
            // Unaligned accesses differ from aligned ones only in the check of the alignment.
            for offset in (0..196).step_by(usize::from(size.bytes().max(2))) {
                let src = Source::Imm(1);
                check(kind, Insn::Load { size, signed: false, dst: r0, base: r1, offset });
                check(kind, Insn::Store { size, base: r1, offset, src });
            }
        }
        for offset in [0, 1, 76, 80, 140, 88] {
            check(kind, Insn::Load { size: Size::W, signed: true, dst: r0, base: r1, offset });
        }
        for index in [None, Some(r1)] {
            check(kind, Insn::LoadPacket { size: Size::H, index, offset: 4 });
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Kernel.compared(compared, "accesses to the context");
}

#[test]
fn the_kernel_accepts_the_same_helpers() {
    let Some(kernel) = kernel() else { return };
    let mut compared = 0;
    for number in 1..212 {
        let insn = Insn::Call(Call::Helper(number));
        let supported = |kind| {
            let fault = fault(&object_of(kind, insn));
            fault.is_none_or(|text| !text.contains("is not supported"))
        };
        let known = KINDS.into_iter().any(supported);
        for kind in KINDS.into_iter().filter(|_| known) {
            let refusal = kernel.load_any(&object_of(kind, insn), 0).err().map(|e| e.to_string());
            // The arguments are wrong, so the kernel rejects all programs, for different reasons.
            let may = refusal.is_none_or(|text| !text.contains("cannot use helper"));
            // Timers could interrupt these programs, so slowpath refuses them.
            let interruptible = ProgramType::of(kind).is_some_and(|row| row.interruptible);
            let timer = (169..173).contains(&number);
            assert_eq!(supported(kind) || timer && interruptible, may, "{kind} {number}");
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared} comparisons");
    Oracle::Kernel.compared(compared, "helpers of types of programs");
}

#[test]
fn no_packet_exceeds_the_bound_of_programs_of_sockets() {
    let Some(kernel) = kernel() else { return };
    pin_here();
    for (name, map) in [("cgroup_policy", Some("ports")), ("socket_dns", None)] {
        let file = path(&format!("../../tests/objects/{name}.bpf.o"));
        let data = std::fs::read(&file).unwrap_or_else(|e| panic!("{e}"));
        let result = analyse(data);
        let bound = bound_of(&result);
        let object = object(&file);
        let mut replay = Replay::new(&kernel, &object, 0).unwrap_or_else(|e| panic!("{e}"));
        for port in 0u16..4 {
            let entry = Entry { key: port.to_le_bytes().to_vec(), value: vec![0; 8] };
            map.map(|map| replay.put(map, &entry)).transpose().unwrap_or_else(|e| panic!("{e}"));
        }
        let mut rng = StdRng::seed_from_u64(setting("SLOWPATH_FIRST_SEED", 0));
        let mut most = 0;
        for _ in 0..300 {
            let mut packet = packet(&mut rng);
            let mut context = Context::default();
            without_link_header(&mut rng, &mut packet, &mut context);
            if packet.len() >= 60 && rng.random_bool(0.8) {
                packet[0] = 0x45;
                packet[9] = if map.is_some() { 6 } else { 17 };
                packet[22..24].copy_from_slice(&[0, rng.random_range(0..5)]);
                packet[33] = rng.random_range(0..4) << 4 | 2;
                if map.is_none() {
                    packet[22..24].copy_from_slice(&[0, 53]);
                    packet[30] &= 0x7f;
                }
            }
            let step = replay.run(&packet, &context).unwrap_or_else(|e| panic!("{name}: {e}"));
            let (text, count) = (hex(&packet), step.instructions);
            assert!(count <= bound, "{name}: {text}: {count} instructions");
            most = most.max(count);
        }
        assert_eq!(most, bound, "{name}: the packets execute at most {most} instructions");
        Oracle::Kernel.compared(300, "packets below the bound of programs of sockets");
    }
}

/// Number of random programs. The environment variable `SLOWPATH_SKB_PROGRAMS` overrides it.
const PROGRAMS: u64 = 60;

/// Returns a random program for the types with packet loads of classic BPF. It mixes loaded bytes
/// and fields into `r9`, branches on `r9`, and stores it to fields.
fn random_program(rng: &mut StdRng) -> Vec<Insn> {
    const FIELDS: [i16; 8] = [0, 8, 16, 32, 40, 48, 52, 64];
    let r = |number| Register::new(number).expect("a register");
    let alu = |op, dst, src| Insn::Alu { width: Width::W64, op, dst: r(dst), src };
    let mut code =
        vec![alu(AluOp::Mov, 6, Source::Reg(r(1))), alu(AluOp::Mov, 9, Source::Imm(rng.random()))];
    let statements = rng.random_range(2..14);
    // Each branch skips the next statements.
    let mut branches: Vec<(usize, usize)> = Vec::new();
    for statement in 0..statements {
        for &(at, target) in &branches {
            if target == statement {
                let offset = (code.len() - at - 1) as i16;
                if let Insn::Branch { offset: to, .. } = &mut code[at] {
                    *to = offset;
                }
            }
        }
        let size = [Size::B, Size::H, Size::W][rng.random_range(0..3)];
        let offset = match rng.random_range(0..6) {
            0 => rng.random_range(0..4000),
            1 => rng.random(),
            _ => rng.random_range(0..150),
        };
        match rng.random_range(0..6) {
            0 => code.push(Insn::LoadPacket { size, index: None, offset: offset & i32::MAX }),
            1 | 2 => {
                code.push(alu(AluOp::Mov, 7, Source::Reg(r(9))));
                code.push(alu(
                    AluOp::And,
                    7,
                    Source::Imm([0x3f, 0x7f, 0xfff, -1][size as usize & 3]),
                ));
                code.push(Insn::LoadPacket { size, index: Some(r(7)), offset });
            }
            3 => {
                let offset = FIELDS[rng.random_range(0..FIELDS.len())];
                code.push(Insn::Load {
                    size: Size::W,
                    signed: false,
                    dst: r(0),
                    base: r(6),
                    offset,
                });
            }
            4 => {
                let (offset, src) = (48 + 4 * rng.random_range(0..5), Source::Reg(r(9)));
                code.push(Insn::Store { size: Size::W, base: r(6), offset, src });
                continue;
            }
            _ => {
                branches.push((code.len(), statement + rng.random_range(1..4)));
                let src = Source::Imm(1 << rng.random_range(0..8));
                let (cond, width) = (Condition::Set, Width::W64);
                code.push(Insn::Branch { width, cond, dst: r(9), src, offset: 0 });
                continue;
            }
        }
        code.push(alu(AluOp::Mul, 9, Source::Imm(31)));
        code.push(alu(AluOp::Xor, 9, Source::Reg(r(0))));
    }
    let end = code.len();
    for (at, target) in branches {
        if let Insn::Branch { offset, .. } = &mut code[at]
            && target >= statements
        {
            *offset = (end - at - 1) as i16;
        }
    }
    let src = Source::Reg(r(9));
    code.push(Insn::Store { size: Size::W, base: r(6), offset: 64, src });
    code.push(alu(AluOp::Mov, 0, src));
    code.push(Insn::Exit);
    code
}

#[test]
fn random_programs_with_packet_loads_do_the_same_in_the_kernel() {
    let Some(kernel) = kernel() else { return };
    pin_here();
    let (mut compared, mut reached) = (0, 0);
    let first = setting("SLOWPATH_FIRST_SEED", 0);
    for seed in first..first + setting("SLOWPATH_SKB_PROGRAMS", PROGRAMS) {
        let mut rng = StdRng::seed_from_u64(seed);
        let file = assemble::file(&[&random_program(&mut rng)]);
        // The section `act` contains actions.
        let at = file.windows(5).position(|bytes| bytes == b"\0xdp\0");
        let mut file = file;
        let at = at.unwrap_or_else(|| panic!("no section name")) + 1;
        file[at..at + 3].copy_from_slice(b"act");
        let mut object = Object::parse(&file).unwrap_or_else(|e| panic!("{e}"));
        let result = analyse(file);
        let bound = bound_of(&result);
        let kinds = [ProgramKind::SchedCls, ProgramKind::SchedAct, ProgramKind::SocketFilter];
        object.programs[0].kind = kinds[rng.random_range(0..3)];
        let row = ProgramType::of(object.programs[0].kind).unwrap_or_else(|| panic!("a type"));
        let mut replay = Replay::new(&kernel, &object, 0).unwrap_or_else(|e| panic!("{seed}: {e}"));
        for _ in 0..8 {
            let (packet, context) = packet_for(row, &mut rng);
            match replay.run(&packet, &context) {
                Ok(step) => {
                    let count = step.instructions;
                    assert!(count <= bound, "{seed}: {count} of at most {bound} instructions");
                    reached += u64::from(count == bound);
                    compared += 1;
                }
                Err(ReplayError::Undecided(_)) => {}
                Err(fault) => panic!("{seed}: {} {fault}", hex(&packet)),
            }
        }
    }
    eprintln!("{compared} compared, {reached} reach the bound");
    assert!(compared > 0 && reached > 0);
    Oracle::Kernel.compared(compared, "packets through random programs with packet loads");
}

#[test]
fn every_helper_of_tc_programs_has_a_program() {
    let object = programs();
    let matrix = support_matrix();
    let mut called = BTreeSet::new();
    for number in 0..object.programs.len() {
        let linked = object.link(number, None).unwrap_or_else(|e| panic!("{e}"));
        called.extend(linked.insns.iter().filter_map(|insn| match insn {
            Insn::Call(Call::Helper(number)) => Some(number.to_string()),
            _ => None,
        }));
    }
    let table = matrix.split("\n\n").find(|table| table.starts_with("| helper in tc"));
    let rows: Vec<&str> = table.unwrap_or("").lines().skip(2).collect();
    assert!(rows.len() > 30, "{matrix}");
    let missing: Vec<&&str> = rows
        .iter()
        .filter(|row| row.split('|').nth(2).is_none_or(|cell| !called.contains(cell.trim())))
        .collect();
    assert!(missing.is_empty(), "helpers without a program: {missing:?}");
}

#[test]
fn programs_lift_for_any_device() {
    let object = programs();
    for number in 0..object.programs.len() {
        let linked = object.link(number, None).unwrap_or_else(|e| panic!("{e}"));
        let lifted = lift(&object, &linked, &LiftOptions::any_device());
        assert!(lifted.is_ok(), "{}: {lifted:?}", linked.name);
    }
}
