//! Tests rehearsals of chains in the running kernel. Some rewritten programs are equivalent to the
//! original, and others are not.

use std::path::Path;
use std::sync::Arc;

use slowpath_bpf::insn::helper::{
    GET_PRANDOM_U32, MAP_LOOKUP_ELEM, XDP_ADJUST_HEAD, XDP_ADJUST_TAIL,
};
use slowpath_bpf::insn::{AluOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::{KnownBits, PacketFacts};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{InstallError, Kernel, LoadError, LoadedProgram, agreement};
use slowpath_oracle::Oracle;
use slowpath_rehearsal::{
    Cover, Devices, Options, Rehearsal, RehearsalError, Role, Stage, Subject, cover, rehearse,
};
use slowpath_specialise::{Mode, specialise};
use slowpath_stop::{Limits, Stop};

/// The XDP action `XDP_PASS`, which passes the packet on.
pub const PASS: u32 = 2;

pub fn object(name: &str) -> Object {
    let folder =
        if name.starts_with("chain_") { "../slowpath/tests/objects" } else { "../../examples" };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name);
    Object::parse(&std::fs::read(file).expect("is there")).expect("is an object")
}

/// Returns the running kernel, or `None` if it is not available.
pub fn kernel() -> Option<Kernel> {
    Kernel::available().map_err(|reason| Oracle::Kernel.missing(reason)).ok()
}

/// Sets the element of the map `seen`, which makes the chain's second program return another value
/// for IPv4 packets. Does not change the maps of upstream programs.
pub fn seen(place: Role, loaded: &LoadedProgram) -> Result<Option<Installed>, InstallError> {
    let map = loaded.map("seen").filter(|_| !matches!(place, Role::Upstream(_)));
    map.map_or(Ok(()), |map| map.update(&[0; 4], &[1; 8]))?;
    Ok(None)
}

fn nothing(_: Role, _: &LoadedProgram) -> Result<Option<Installed>, InstallError> {
    Ok(None)
}

/// Returns a new object that contains `program` instead of the programs of `object`.
pub fn written(object: &Object, program: &BpfProgram) -> Object {
    Object::parse(&object.write(&[program]).expect("is written")).expect("is an object")
}

/// Returns facts that hold for all packets that the chain's first program passes on: they are IPv6
/// packets of at least 34 bytes.
pub fn facts() -> PacketFacts {
    let mut facts = PacketFacts::lengths(34, 1514);
    for (offset, byte) in [(12, 0x86), (13, 0xdd)] {
        facts.bits.extend(KnownBits::of(0xff, byte).map(|bits| (offset, bits)));
    }
    facts
}

pub fn specialised(object: &Object, facts: &PacketFacts, mode: Mode) -> Object {
    let program = object.link(0, None).expect("links");
    let made = specialise(object, &program, facts, mode, &Stop::never()).expect("is specialised");
    written(object, &made.program)
}

/// Returns an IPv6 packet that the first program of the chain passes on.
fn seed() -> Vec<u8> {
    let mut packet = vec![0; 60];
    (packet[12], packet[13], packet[20]) = (0x86, 0xdd, 7);
    packet
}

pub fn first_of_chain() -> Vec<Stage> {
    vec![Stage { object: Arc::new(object("chain_first.bpf.o")), program: 0, results: vec![PASS] }]
}

pub fn rehearsed(
    kernel: &Kernel,
    upstream: &[Stage],
    (original, rewritten): (&Object, &Object),
    options: Options,
) -> Result<Rehearsal, RehearsalError> {
    let subject = Subject { upstream, original: (original, 0), rewritten: (rewritten, 0) };
    rehearse(kernel, &subject, &[seed(), ipv4()], &seen, &options, &Stop::never())
}

/// Builds a UDP packet over IPv4, to port 53.
fn ipv4() -> Vec<u8> {
    let mut packet = vec![0x11; 80];
    packet[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 66, 0, 0, 0, 0, 64, 17]);
    packet[34..42].copy_from_slice(&[0x12, 0x34, 0, 53, 0, 46, 0, 0]);
    packet
}

pub const FEW: Options =
    Options { packets: 5000, arbitrary: false, seed: 1, rounds: 0, devices: Devices::NONE };

#[test]
fn upstream_programs_keep_packets_back() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_second.bpf.o");
    let rewritten = specialised(&original, &facts(), Mode::Trust);
    let pair = (&original, &rewritten);
    let chained = rehearsed(&kernel, &first_of_chain(), pair, FEW).expect("runs");
    assert_eq!(chained.difference, None);
    assert_eq!(chained.undetermined, None);
    assert_eq!((chained.compared, chained.arbitrary, chained.ran), (5000, 0, 5000));
    assert!(chained.tried > 5500, "{} tried: some do not get through", chained.tried);
    // Without upstream programs, the assumed facts do not hold.
    let alone = rehearsed(&kernel, &[], pair, FEW).expect("runs");
    let found = alone.difference.expect("other packets arrive");
    let packet = found.packet.expect("is known");
    assert!(!facts().hold(&packet), "{packet:02x?}");
    assert!(found.what.starts_with("the runs return "), "{}", found.what);
    // The packet alone reproduces the difference.
    let load = |object| {
        let loaded = kernel.load(object, 0).expect("loads");
        seen(Role::Original, &loaded).expect("is filled");
        loaded
    };
    let again = agreement::compare(&load(&original), &load(&rewritten), &packet).expect("runs");
    assert_eq!(again.map(|difference| difference.to_string()), Some(found.what));
    Oracle::Kernel.compared(5000, "packets in rehearsals");
}

#[test]
fn programs_that_check_their_facts_get_any_packet() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_second.bpf.o");
    let options = Options { arbitrary: true, ..FEW };
    let guarded = specialised(&original, &facts(), Mode::Guard);
    let pair = (&original, &guarded);
    let checked = rehearsed(&kernel, &first_of_chain(), pair, options).expect("runs");
    assert_eq!(checked.difference, None);
    assert_eq!((checked.compared, checked.arbitrary), (5000, 5000));
    let trusting = specialised(&original, &facts(), Mode::Trust);
    let pair = (&original, &trusting);
    let unchecked = rehearsed(&kernel, &first_of_chain(), pair, options).expect("runs");
    assert_eq!(unchecked.compared, 5000);
    assert!(unchecked.difference.is_some());
    Oracle::Kernel.compared(10_000, "packets in rehearsals");
}

#[test]
fn each_changed_constant_is_found() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_second.bpf.o");
    let program = original.link(0, None).expect("links");
    let mut found = 0;
    for slot in 1..program.insns.len() {
        let mut changed = program.clone();
        // Constants that bytes 12, 13 and 20 of the packet are compared with.
        let Insn::Load { size: Size::B, offset: 12.., .. } = program.insns[slot - 1] else {
            continue;
        };
        match &mut changed.insns[slot] {
            Insn::Branch { src: Source::Imm(number), .. } => *number ^= 1,
            _ => continue,
        }
        let rewritten = written(&original, &changed);
        let mutant = rehearsed(&kernel, &[], (&original, &rewritten), FEW).expect("runs");
        let difference = mutant.difference.unwrap_or_else(|| panic!("slot {slot} is not found"));
        assert!(difference.packet.is_some());
        found += 1;
    }
    assert!(found >= 2, "{found} constants");
    Oracle::Kernel.compared(found, "changed programs in rehearsals");
}

#[test]
fn a_packet_is_found_that_leaves_another_map() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_first.bpf.o");
    let mut changed = original.link(0, None).expect("links");
    let values = changed.insns.iter_mut().filter_map(|insn| match insn {
        Insn::Alu { src: Source::Imm(number @ 1), dst, .. } if *dst != Register::R0 => Some(number),
        Insn::Store { src: Source::Imm(number @ 1), .. } => Some(number),
        _ => None,
    });
    let values: Vec<&mut i32> = values.collect();
    assert!(!values.is_empty(), "it stores a 1");
    values.into_iter().for_each(|number| *number = 3);
    let rewritten = written(&original, &changed);
    let rehearsal = rehearsed(&kernel, &[], (&original, &rewritten), FEW).expect("runs");
    let found = rehearsal.difference.expect("maps differ");
    assert_eq!(found.what, "the runs leave different content of map seen");
    // The first packet already reaches the map.
    assert_eq!((found.packet, found.before), (Some(seed()), 0));
    assert_eq!(rehearsal.notes, Vec::<String>::new());
}

#[test]
fn maps_are_filled_alike() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_second.bpf.o");
    let subject = Subject { upstream: &[], original: (&original, 0), rewritten: (&original, 0) };
    let filled = |only: Option<Role>| {
        let fill = move |place: Role, loaded: &LoadedProgram| match only {
            Some(only) if only != place => Ok(None),
            _ => seen(place, loaded),
        };
        rehearse(&kernel, &subject, &[seed()], &fill, &FEW, &Stop::never()).expect("runs")
    };
    let both = filled(None);
    assert_eq!((both.compared, both.difference), (5000, None));
    let found = filled(Some(Role::Rewritten)).difference.expect("the map decides");
    assert!(found.what.starts_with("the runs return "), "{}", found.what);
    assert_eq!(found.before, 0);
}

#[test]
fn given_packets_have_maps_of_their_own() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_second.bpf.o");
    let rewritten = specialised(&original, &facts(), Mode::Trust);
    // The upstream program would drop IPv4, but these packets bypass it.
    let upstream = &first_of_chain()[..];
    let subject = Subject { upstream, original: (&original, 0), rewritten: (&rewritten, 0) };
    let run = |covers: &[Cover<'_>]| cover(&kernel, &subject, covers, &Stop::never());
    let three = || Cover { packets: vec![seed(); 3], install: &seen };
    let alike = run(&[three(), Cover { packets: vec![seed()], install: &nothing }]).expect("runs");
    assert_eq!((alike.packets, alike.difference, alike.not_installed), (4, None, None));
    assert_eq!(alike.ways, 2, "with the element and without");
    let mut other = ipv4();
    other[20] = 1;
    let two = Cover { packets: vec![seed(), other.clone()], install: &seen };
    let found = run(&[three(), two]).expect("runs");
    assert_eq!(found.packets, 3);
    let found = found.difference.expect("it relies on IPv6");
    assert!(found.what.starts_with("the runs return "), "{}", found.what);
    assert_eq!((found.packet, found.before), (Some(other), 1));
    // Groups with content that a map rejects are skipped, with the reason.
    let wrong = |_: Role, loaded: &LoadedProgram| {
        loaded.map("seen").map_or(Ok(()), |map| map.update(&[9; 4], &[1; 8]))?;
        Ok(None)
    };
    let left = run(&[Cover { packets: vec![seed()], install: &wrong }, three()]).expect("runs");
    assert_eq!((left.packets, left.difference), (3, None));
    assert!(left.not_installed.is_some());
    // Groups for which no time is left are skipped, too.
    let soon = Stop::new(Limits { polls: Some(2), ..Limits::default() });
    let ended = cover(&kernel, &subject, &[three(), three(), three()], &soon).expect("runs");
    assert_eq!((ended.packets, ended.not_run, ended.difference), (3, 6, None));
}

#[test]
fn rejections_by_the_verifier_are_reported() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_second.bpf.o");
    let mut changed = original.link(0, None).expect("links");
    // r9 is uninitialised.
    changed.insns[0] = Insn::Alu {
        width: Width::W64,
        op: AluOp::Mov,
        dst: Register::R0,
        src: Source::Reg(Register::R9),
    };
    let rewritten = written(&original, &changed);
    let refused = rehearsed(&kernel, &[], (&original, &rewritten), FEW).expect_err("is refused");
    let text = refused.to_string();
    let RehearsalError::Load { role: Role::Rewritten, cause } = refused else {
        panic!("another error: {text}");
    };
    assert!(matches!(*cause, LoadError::Rejected { .. }), "{text}");
    assert!(text.starts_with("the rewritten program: ") && text.contains("R9 !read_ok"), "{text}");
}

#[test]
fn both_are_timed() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_second.bpf.o");
    let rewritten = specialised(&original, &facts(), Mode::Trust);
    let options = Options { packets: 100, rounds: 7, ..FEW };
    let chained = rehearsed(&kernel, &first_of_chain(), (&original, &rewritten), options);
    let chained = chained.expect("runs");
    let rate = chained.rate.unwrap_or_else(|| panic!("{:?}", chained.notes));
    assert_eq!((rate.rounds, rate.restored), (7, false));
    assert_eq!(rate.packet, seed());
    for time in [rate.original_ns, rate.rewritten_ns, rate.frame_ns, rate.ratio] {
        assert!(time.is_finite() && time > 0.0, "{rate:?}");
    }
    // The original looks up a map and makes up to 80 memory reads; an empty program is faster.
    let rewritten = of_insns(&original, vec![set(Register::R0, PASS.cast_signed()), Insn::Exit]);
    let subject = Subject { upstream: &[], original: (&original, 0), rewritten: (&rewritten, 0) };
    let options = Options { packets: 0, ..options };
    let stop = Stop::never();
    let quick = rehearse(&kernel, &subject, &[seed()], &nothing, &options, &stop).expect("runs");
    let rate = quick.rate.unwrap_or_else(|| panic!("{:?}", quick.notes));
    assert!(rate.ratio < 1.0, "{rate:?}");
    Oracle::Kernel.compared(2, "rates in rehearsals");
}

#[test]
fn examples_rewritten_without_facts_agree() {
    let Some(kernel) = kernel() else { return };
    let names = [
        "alaw2ulaw.bpf.o",
        "count_min.4.bpf.o",
        "ddos_filter.bpf.o",
        "dns_cache.bpf.o",
        "firewall.bpf.o",
        "flow_monitor.bpf.o",
        "header_parser.bpf.o",
        "ipv6_lb.bpf.o",
        "quic_lb.bpf.o",
        "tunnel.bpf.o",
    ];
    let (mut packets, mut undetermined, mut timed) = (0, Vec::new(), 0);
    for name in names {
        let original = object(name);
        let rewritten = specialised(&original, &PacketFacts::lengths(14, 1514), Mode::Trust);
        let options = Options { packets: 2000, rounds: 3, ..FEW };
        let rehearsal = rehearsed(&kernel, &[], (&original, &rewritten), options).expect(name);
        eprintln!("{name}: {rehearsal:?}");
        assert_eq!(rehearsal.difference, None, "{name}");
        assert_eq!(rehearsal.ran, 2000, "{name}");
        match rehearsal.undetermined {
            Some(reason) => undetermined.push((name, reason)),
            None => packets += rehearsal.compared as usize,
        }
        timed += usize::from(rehearsal.rate.is_some());
    }
    // Calls for the time get fixed answers.
    assert_eq!(undetermined, [], "all are compared");
    assert!(timed >= 5, "{timed} are timed");
    Oracle::Kernel.compared(packets, "packets in rehearsals");
}

#[test]
fn equal_seeds_give_equal_results() {
    let Some(kernel) = kernel() else { return };
    let original = object("header_parser.bpf.o");
    let run = |seed| {
        let options = Options { seed, ..FEW };
        rehearsed(&kernel, &[], (&original, &original), options).expect("runs")
    };
    let first = run(5);
    assert!(first.ways >= 3, "{} ways", first.ways);
    assert_eq!((first.compared, &first.difference), (5000, &None));
    assert_eq!(run(5), first);
}

#[test]
fn a_stop_ends_it_early() {
    let Some(kernel) = kernel() else { return };
    let original = object("chain_second.bpf.o");
    let subject = Subject { upstream: &[], original: (&original, 0), rewritten: (&original, 0) };
    let stop = Stop::new(Limits { polls: Some(100), ..Limits::default() });
    let options = Options::default();
    let ended = rehearse(&kernel, &subject, &[seed()], &nothing, &options, &stop).expect("runs");
    assert_eq!(ended.ended.as_deref(), Some("interrupted"));
    assert!((1..options.packets).contains(&ended.compared), "{}", ended.compared);
    assert_eq!(ended.rate, None);
}

/// Returns a copy of an object whose first program has the instructions `insns`.
pub fn of_insns(object: &Object, insns: Vec<Insn>) -> Object {
    let mut program = object.link(0, None).expect("links");
    program.lines = vec![None; insns.len()];
    program.insns = insns;
    program.subprograms.truncate(1);
    written(object, &program)
}

pub fn set(dst: Register, number: i32) -> Insn {
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Imm(number) }
}

#[test]
fn packets_are_put_back_between_timed_runs() {
    let Some(kernel) = kernel() else { return };
    let timed = |original: &Object, packet: Vec<u8>| {
        let facts = PacketFacts::lengths(14, 1514);
        let rewritten = specialised(original, &facts, Mode::Trust);
        let subject =
            Subject { upstream: &[], original: (original, 0), rewritten: (&rewritten, 0) };
        let options = Options { packets: 500, rounds: 3, ..FEW };
        let stop = Stop::never();
        let seeds = [packet];
        let done = rehearse(&kernel, &subject, &seeds, &nothing, &options, &stop).expect("runs");
        assert_eq!((&done.difference, done.compared), (&None, 500));
        let rate = done.rate.unwrap_or_else(|| panic!("{:?}", done.notes));
        assert!(rate.restored, "{rate:?}");
        rate
    };
    // A transcoded packet is no longer A-law. Unless it is restored, it takes a shorter path.
    let mut rtp = ipv4();
    rtp.resize(54 + 160, 0xd5);
    rtp[34..54]
        .copy_from_slice(&[0x40, 0, 0x40, 0, 0, 180, 0, 0, 0x80, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    rtp[16..18].copy_from_slice(&200u16.to_be_bytes());
    let rate = timed(&object("alaw2ulaw.bpf.o"), rtp);
    assert!(rate.original_ns > 100.0, "160 samples: {rate:?}");
    assert!(rate.restoring_ns > 0.0, "the clock is read: {rate:?}");
    // Packets that grow at the front, or shrink at either end.
    for (helper, by) in [(XDP_ADJUST_HEAD, -8), (XDP_ADJUST_TAIL, -8), (XDP_ADJUST_HEAD, 8)] {
        let insns = vec![
            set(Register::R2, by),
            Insn::Call(Call::Helper(helper)),
            // A failed adjustment leads to another path.
            Insn::Branch {
                width: Width::W64,
                cond: Condition::Eq,
                dst: Register::R0,
                src: Source::Imm(0),
                offset: 2,
            },
            set(Register::R0, 1),
            Insn::Exit,
            set(Register::R0, PASS.cast_signed()),
            Insn::Exit,
        ];
        timed(&of_insns(&object("chain_second.bpf.o"), insns), seed());
    }
    Oracle::Kernel.compared(2000, "packets in rehearsals");
}

/// Builds a program that returns a random number plus `more`.
fn random(more: i32) -> Object {
    let add =
        Insn::Alu { width: Width::W64, op: AluOp::Add, dst: Register::R0, src: Source::Imm(more) };
    let insns = vec![Insn::Call(Call::Helper(GET_PRANDOM_U32)), add, Insn::Exit];
    of_insns(&object("chain_second.bpf.o"), insns)
}

#[test]
fn random_numbers_are_the_same_in_both() {
    let Some(kernel) = kernel() else { return };
    let run =
        |rewritten| rehearsed(&kernel, &[], (&random(0), &random(rewritten)), FEW).expect("runs");
    let same = run(0);
    assert_eq!((same.undetermined, same.difference), (None, None));
    assert_eq!(same.compared, 5000);
    let note =
        "results of bpf_get_prandom_u32 are equal for both programs, but not those of the kernel";
    assert!(same.notes.iter().any(|told| told == note), "{:?}", same.notes);
    assert!(run(1).difference.is_some_and(|found| found.what.contains("return")));
}

#[test]
fn a_packet_whose_changes_do_not_matter_is_not_put_back() {
    let Some(kernel) = kernel() else { return };
    // Each run increments a byte, which does not affect the path.
    let base = Register::R2;
    let load = |dst, base, size, offset| Insn::Load { size, signed: false, dst, base, offset };
    let to = |dst, src| Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src };
    let insns = vec![
        load(base, Register::R1, Size::W, 0),
        load(Register::R3, Register::R1, Size::W, 4),
        to(Register::R4, Source::Reg(base)),
        Insn::Alu { width: Width::W64, op: AluOp::Add, dst: Register::R4, src: Source::Imm(14) },
        Insn::Branch {
            width: Width::W64,
            cond: Condition::Gt,
            dst: Register::R4,
            src: Source::Reg(Register::R3),
            offset: 3,
        },
        load(Register::R5, base, Size::B, 0),
        Insn::Alu { width: Width::W64, op: AluOp::Add, dst: Register::R5, src: Source::Imm(1) },
        Insn::Store { size: Size::B, base, offset: 0, src: Source::Reg(Register::R5) },
        set(Register::R0, PASS.cast_signed()),
        Insn::Exit,
    ];
    let timed = |insns: Vec<Insn>| {
        let object = of_insns(&object("chain_second.bpf.o"), insns);
        let options = Options { packets: 100, rounds: 3, ..FEW };
        rehearsed(&kernel, &[], (&object, &object), options).expect("runs")
    };
    let rate = timed(insns.clone()).rate.expect("is timed");
    assert_eq!((rate.restored, rate.restoring_ns), (false, 0.0));
    let [low, high] = rate.ratio_quartiles;
    assert!(low <= rate.ratio && rate.ratio <= high, "{rate:?}");
    // Every 256th run takes another path, so the packet is restored.
    let mut other = insns;
    other.insert(
        6,
        Insn::Branch {
            width: Width::W64,
            cond: Condition::Eq,
            dst: Register::R5,
            src: Source::Imm(1),
            offset: 2,
        },
    );
    if let Insn::Branch { offset, .. } = &mut other[4] {
        *offset += 1;
    }
    let restored = timed(other).rate.expect("is timed");
    assert!(restored.restored && restored.restoring_ns > 0.0, "{restored:?}");
    Oracle::Kernel.compared(2, "rates in rehearsals");
}

#[test]
fn an_unpredictable_program_is_not_compared() {
    let Some(kernel) = kernel() else { return };
    let run = |insns| {
        let original = of_insns(&object("chain_second.bpf.o"), insns);
        rehearsed(&kernel, &[], (&original, &original), FEW).expect("runs")
    };
    // Returns an address in the map. The name of the called function does not show this.
    let address = run(vec![
        Insn::Store { size: Size::W, base: Register::FRAME, offset: -4, src: Source::Imm(0) },
        Insn::Alu {
            width: Width::W64,
            op: AluOp::Mov,
            dst: Register::R2,
            src: Source::Reg(Register::FRAME),
        },
        Insn::Alu { width: Width::W64, op: AluOp::Add, dst: Register::R2, src: Source::Imm(-4) },
        Insn::LoadImm64 { dst: Register::R1, value: Imm64::Map(0) },
        Insn::SecondSlot,
        Insn::Call(Call::Helper(MAP_LOOKUP_ELEM)),
        Insn::Exit,
    ]);
    let reason = address.undetermined.expect("addresses differ");
    let expected = "two copies of the original program behave differently: the runs return ";
    assert!(reason.starts_with(expected), "{reason}");
    assert_eq!((address.compared, address.ran, address.difference), (0, 5000, None));
}

#[test]
fn maps_that_only_one_program_uses_are_compared() {
    let Some(kernel) = kernel() else { return };
    let object = object("chain_first.bpf.o");
    let passes = [set(Register::R0, PASS.cast_signed()), Insn::Exit];
    let writes = |value| {
        let to_register =
            |dst, src| Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Reg(src) };
        let (base, offset) = (Register::FRAME, -4);
        let mut insns = vec![
            Insn::Store { size: Size::W, base, offset, src: Source::Imm(0) },
            to_register(Register::R2, base),
            Insn::Alu {
                width: Width::W64,
                op: AluOp::Add,
                dst: Register::R2,
                src: Source::Imm(-4),
            },
            Insn::LoadImm64 { dst: Register::R1, value: Imm64::Map(0) },
            Insn::SecondSlot,
            Insn::Call(Call::Helper(MAP_LOOKUP_ELEM)),
            Insn::Branch {
                width: Width::W64,
                cond: Condition::Eq,
                dst: Register::R0,
                src: Source::Imm(0),
                offset: 1,
            },
            Insn::Store { size: Size::DW, base: Register::R0, offset: 0, src: Source::Imm(value) },
        ];
        insns.extend(passes);
        of_insns(&object, insns)
    };
    let without = of_insns(&object, passes.to_vec());
    let (one, zero) = (writes(1), writes(0));
    for pair in [(&one, &without), (&without, &one)] {
        let run = |install| {
            let subject = Subject { upstream: &[], original: (pair.0, 0), rewritten: (pair.1, 0) };
            rehearse(&kernel, &subject, &[seed()], install, &FEW, &Stop::never()).expect("runs")
        };
        let found = run(&nothing).difference.expect("one writes");
        assert_eq!(found.what, "the runs leave different content of map seen");
        assert_eq!((found.packet, found.before), (Some(seed()), 0));
        // Writing the existing value makes no difference.
        assert_eq!(run(&seen_as_bytes).difference, None);
    }
    let subject = Subject { upstream: &[], original: (&zero, 0), rewritten: (&without, 0) };
    let same = rehearse(&kernel, &subject, &[], &nothing, &FEW, &Stop::never()).expect("runs");
    assert_eq!((same.difference, same.compared), (None, 5000));
}

/// Sets the value of the map `seen` to an 8-byte integer 1, in native byte order, if the program
/// has this map.
fn seen_as_bytes(_: Role, loaded: &LoadedProgram) -> Result<Option<Installed>, InstallError> {
    loaded.map("seen").map_or(Ok(()), |map| map.update(&[0; 4], &1u64.to_ne_bytes()))?;
    Ok(None)
}
