//! Tests tc programs in the kernel and in the concrete interpreter: fields of `struct __sk_buff`,
//! and calls that change the packet.

use crate::support;

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::lift::{LiftOptions, lift, support_matrix};
use slowpath_bpf::{Object, SCHED_CLS};
use slowpath_kernel::witness::bytes;
use slowpath_kernel::{Context, Kernel};
use slowpath_oracle::Oracle;
use slowpath_replay::{Entry, PathRecord, Replay, ReplayError};
use support::bounds::analyse;
use support::pin::pin;
use support::tally::setting;
use support::{hex, kernel, object, path};

/// Number of packets for each program, unless the variable `SLOWPATH_SKB_PACKETS` sets another one.
const PACKETS: u64 = 40;

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

/// Runs random packets through a program in the kernel and in the interpreter. Returns the number
/// of those that were compared, of those that were not decided, and of the executed blocks.
fn compare(kernel: &Kernel, object: &Object, number: usize) -> Result<(u64, u64, usize), String> {
    let text = |fault: ReplayError| fault.to_string();
    let mut replay = Replay::new(kernel, object, number).map_err(text)?;
    replay.use_path_record(PathRecord { map: "out".to_owned(), path_bytes: 0 });
    let mut rng = StdRng::seed_from_u64(setting("SLOWPATH_FIRST_SEED", 0) + number as u64);
    let (mut agreed, mut undecided, mut blocks) = (0, 0, BTreeSet::new());
    for _ in 0..setting("SLOWPATH_SKB_PACKETS", PACKETS) {
        let packet = packet(&mut rng);
        let context = context(&mut rng, &packet);
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
    let Some(kernel) = kernel() else { return };
    pin(0);
    let object = programs();
    let mut faults = Vec::new();
    for (number, program) in object.programs.iter().enumerate() {
        match compare(&kernel, &object, number) {
            Ok((agreed, undecided, blocks)) => {
                eprintln!(
                    "{}: {agreed} agreed, {undecided} undecided, {blocks} blocks",
                    program.name
                );
                Oracle::Kernel.compared(agreed as usize, "packets through tc programs");
                // Results that depend on hidden state, such as the position of headers, multiply.
                if undecided * 4 > agreed {
                    faults.push(format!("{}: {undecided} undecided", program.name));
                }
            }
            Err(fault) => faults.push(format!("{}: {fault}", program.name)),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the instruction count that a result guarantees for the slowest packet.
fn bound_of(result: &Value) -> u64 {
    let bound = &result["guarantee"]["counts"]["instructions"];
    bound.as_u64().unwrap_or_else(|| panic!("no bound: {result}"))
}

#[test]
fn witnesses_of_tc_programs_take_their_path() {
    let Some(kernel) = kernel() else { return };
    pin(0);
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
    pin(0);
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
