//! Runs random sequences of helper calls in the kernel and in the interpreter. Generates packets
//! and map content, and checks that the results agree.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::lift::MapLayout;
use slowpath_bpf::{MapKind, Object, SlotRef};
use slowpath_generate::sequence::{ARGUMENT_BYTES, Sequence, SequenceFeatures, Shape};
use slowpath_kernel::{Kernel, LoadedProgram};

use super::bounds::bound_holds;
use super::hex;
use super::replay_pair::ReplayPair;
use super::tally::{Class, Tally};
use slowpath_replay::Entry;

/// Number of packets for each program.
pub const PACKETS: usize = 12;
/// Number of successive packets that run on the same maps before the maps are reset.
const EPOCH: usize = 4;
/// Number of different keys for which map content is generated.
const KEYS: u64 = 4;

/// Returns the features that random programs may use. If slowpath does not support a feature
/// correctly, it is switched off here, with the reason.
pub fn features() -> SequenceFeatures {
    SequenceFeatures::default()
}

/// Returns a random packet with small arguments, so that arguments are often equal.
pub fn packet(rng: &mut StdRng) -> Vec<u8> {
    let length = match rng.random_range(0..12) {
        0 => rng.random_range(14..ARGUMENT_BYTES.end),
        1 => rng.random_range(200..1501),
        2 => ARGUMENT_BYTES.end,
        _ => rng.random_range(ARGUMENT_BYTES.end..140),
    };
    let mut packet: Vec<u8> = (0..length).map(|_| rng.random()).collect();
    for at in ARGUMENT_BYTES {
        let small = match rng.random_range(0..8) {
            0 => rng.random(),
            1 => rng.random_range(0..=16),
            2 => [15, 31, 63, 64, 127, 128, 254, 255][rng.random_range(0..8)],
            _ => rng.random_range(0..=3),
        };
        if let Some(byte) = packet.get_mut(at) {
            *byte = small;
        }
    }
    packet
}

/// Returns the object of a random program, with the slots of its maps of maps filled.
pub fn object_of(sequence: &Sequence) -> Result<Object, String> {
    let mut object = Object::parse(&sequence.object()).map_err(|e| e.to_string())?;
    for (name, shape) in sequence.maps().filter(|(_, shape)| shape.kind.holds_maps()) {
        let number = |name: &str| object.maps.iter().position(|map| map.name == name);
        let inner = |letter| number(&format!("{name}{letter}"));
        let (Some(outer), Some(a), Some(b)) = (number(&name), inner('a'), inner('b')) else {
            continue;
        };
        let slots = [(0, a), (1, b), (2, a)];
        let slots = slots.into_iter().take(shape.entries.into());
        object.maps[outer].slots = slots.map(|(slot, map)| (slot, SlotRef::Map(map))).collect();
    }
    Ok(object)
}

fn key(layout: &MapLayout, kind: MapKind, n: u64) -> Vec<u8> {
    if kind == MapKind::LPM_TRIE {
        let (length, last) = [(32u32, n as u8), (8, 0), (24, 0), (31, 2)][n as usize % 4];
        return [&length.to_le_bytes()[..], &[10, 0, 0, last]].concat();
    }
    n.to_le_bytes()[..layout.key_size.min(8) as usize].to_vec()
}

/// Puts elements into the maps of kernel and interpreter.
fn fill(replay_pair: &mut ReplayPair, sequence: &Sequence, rng: &mut StdRng) -> Result<(), String> {
    let layouts = replay_pair.lifted.layout.maps.clone();
    for (name, shape) in sequence.maps() {
        if shape.kind.holds_maps() {
            let Some(layout) = layouts.iter().find(|l| l.name == format!("{name}.inner")) else {
                continue;
            };
            for letter in ['a', 'b'].into_iter().take(shape.entries.into()) {
                let inner = format!("{name}{letter}");
                for entry in entries(layout, shape.inner, &shape, rng) {
                    replay_pair.install_inner(layout, &inner, &entry)?;
                }
            }
            continue;
        }
        let Some(layout) = layouts.iter().find(|layout| layout.name == name) else { continue };
        for entry in entries(layout, shape.kind, &shape, rng) {
            if matches!(shape.kind, MapKind::QUEUE | MapKind::STACK) {
                replay_pair.enqueue(layout, &entry.value)?;
            } else {
                replay_pair.install(layout, &entry)?;
            }
        }
    }
    Ok(())
}

/// Returns random elements for a map of this type, at most as many as it can hold.
fn entries(layout: &MapLayout, kind: MapKind, shape: &Shape, rng: &mut StdRng) -> Vec<Entry> {
    let array = matches!(kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY | MapKind::DEVMAP);
    let max = u64::from(shape.entries);
    let mut keys: Vec<u64> = (0..KEYS).filter(|&n| !array || n < max).collect();
    keys.retain(|_| rng.random_bool(0.5));
    keys.truncate(max as usize);
    let mut entry = |n| {
        let mut value = vec![0; layout.value_size as usize];
        for word in value.chunks_mut(8) {
            word[0] = rng.random_range(0..6);
            if word.len() == 8 && rng.random_bool(0.2) {
                word[1..].copy_from_slice(&rng.random::<[u8; 7]>());
            }
        }
        if matches!(kind, MapKind::DEVMAP | MapKind::DEVMAP_HASH) {
            value = 1u32.to_le_bytes().to_vec();
        }
        Entry { key: key(layout, kind, n), value }
    };
    keys.into_iter().map(&mut entry).collect()
}

/// Computes how many instructions the last run executed, from the path that the program recorded.
fn executed(sequence: &Sequence, loaded: &LoadedProgram, packet: &[u8]) -> u64 {
    let output = loaded.map("out").and_then(|out| out.lookup(&[0; 4]).ok().flatten());
    let path = output.and_then(|out| out.first_chunk::<8>().copied()).map_or(0, u64::from_le_bytes);
    sequence.executed_instructions(if packet.len() < ARGUMENT_BYTES.end { 0 } else { path })
}

/// Checks that packets have the same results in the kernel and in the interpreter. Returns the
/// largest number of instructions that a packet executed.
fn packets_agree(
    kernel: &Kernel,
    sequence: &Sequence,
    seed: u64,
    tally: &mut Tally,
) -> Result<u64, (Class, String)> {
    let refused = |fault| (Class::Refused, fault);
    let object = object_of(sequence).map_err(refused)?;
    let lifted = ReplayPair::lifted(kernel, &object, 0).map_err(refused)?;
    let mut rng = StdRng::seed_from_u64(seed);
    let mut max = 0;
    for epoch in 0..PACKETS / EPOCH {
        let mut replay_pair =
            ReplayPair::of(kernel, &object, 0, lifted.clone()).map_err(refused)?;
        replay_pair.report_path(8);
        if epoch > 0 {
            fill(&mut replay_pair, sequence, &mut rng).map_err(refused)?;
        }
        let content = replay_pair.installed.clone();
        for _ in 0..EPOCH {
            let packet = packet(&mut rng);
            let with_context = |fault: String| {
                let elements: Vec<String> = content
                    .iter()
                    .map(|(map, e)| format!("{map}[{}]={}", hex(&e.key), hex(&e.value)))
                    .collect();
                let arguments = &packet[..packet.len().min(ARGUMENT_BYTES.end)];
                let arguments = format!("{} ({} bytes)", hex(arguments), packet.len());
                format!("epoch {epoch}, packet {arguments}: {fault}; {}", elements.join(" "))
            };
            let run = match replay_pair.compare(&packet) {
                // The interpreter does not know the maps' content from here on.
                Err(_) if replay_pair.undecided => {
                    tally.undecided += 1;
                    break;
                }
                run => run.map_err(|fault| (Class::Meaning, with_context(fault)))?,
            };
            tally.packets += 1;
            let count = executed(sequence, replay_pair.loaded(), &packet);
            if count != run.costs.len() as u64 {
                let fault = format!("{count} instructions, not {}", run.costs.len());
                return Err((Class::Count, with_context(fault)));
            }
            max = max.max(count);
        }
    }
    Ok(max)
}

/// Checks that kernel and interpreter agree on a random program, and that its bound holds if
/// `bound` is set.
pub fn check(
    kernel: &Kernel,
    sequence: &Sequence,
    seed: u64,
    bound: bool,
    tally: &mut Tally,
) -> Result<(), (Class, String)> {
    tally.programs += 1;
    let max = packets_agree(kernel, sequence, seed, tally)?;
    if bound { bound_holds(kernel, sequence.object(), max, tally) } else { Ok(()) }
}
