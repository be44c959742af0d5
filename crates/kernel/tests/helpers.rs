//! Tests every helper and every type of map with arguments close to every limit. If slowpath's
//! interpreter allows several results, the kernel's result must be one of them.

use crate::support;

use std::collections::BTreeSet;

use rand::RngExt;
use rand::rngs::StdRng;
use slowpath_bpf::Object;
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::lift::support_matrix;
use slowpath_kernel::Kernel;
use slowpath_oracle::{Oracle, random_cases};
use slowpath_replay::Entry;
use support::pin::each_on_every_cpu;
use support::replay_pair::ReplayPair;
use support::words::{Compared, Words};
use support::{kernel, object, path};

/// Number of packets for each program.
const PACKETS: u64 = 100;
/// Number of packets after which the maps are reset.
const EPOCH: usize = 50;

fn helpers() -> Object {
    object(&path("tests/objects/helpers.bpf.o"))
}

/// Returns a random packet that consists of 64 bytes of arguments and random data.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    /// Arguments close to the limits of helpers (such as headroom and tailroom), for packets of 60
    /// to 200 bytes.
    const NEAR: [i64; 24] = [
        -257, -256, -255, -217, -216, -215, -64, -60, -46, -14, -4, 4, 14, 46, 60, 64, 127, 128,
        252, 256, 3000, 3320, 3456, 4096,
    ];
    let mut packet = Vec::new();
    for _ in 0..8 {
        let word: u64 = match rng.random_range(0..7) {
            0 => rng.random(),
            1 => u64::from(rng.random::<u32>()),
            2 => (NEAR[rng.random_range(0..NEAR.len())] + rng.random_range(-4..5)) as u64,
            3 => rng.random_range(0..256),
            4 => rng.random_range(0..1024),
            5 => rng.random_range(-400..3600i64) as u64,
            _ => rng.random_range(0..4),
        };
        packet.extend(word.to_le_bytes());
    }
    let rest = [0, 1, 40, 64, 100, 1400, 3000][rng.random_range(0..7)];
    packet.extend((0..rest).map(|_| rng.random::<u8>()));
    if rng.random_bool(0.02) {
        packet.truncate(rng.random_range(14..64));
    }
    packet
}

/// Puts elements into the maps that programs do not fill themselves.
fn fill(replay_pair: &mut ReplayPair, rng: &mut StdRng) -> Result<(), String> {
    for layout in replay_pair.lifted.layout.maps.clone() {
        let value = match layout.name.as_str() {
            "devices" | "devices_by_key" => 1u32.to_le_bytes().to_vec(),
            "cpus" => 64u32.to_le_bytes().to_vec(),
            "routes" => (0..16).collect(),
            _ => continue,
        };
        let keys: Vec<Vec<u8>> = match layout.name.as_str() {
            "routes" => {
                let mut keys: Vec<Vec<u8>> = vec![[0; 12].to_vec()];
                for _ in 0..8 {
                    let packet = packet(rng);
                    let length = rng.random_range(0u32..65);
                    if packet.len() >= 64 {
                        let at = [16, 24][rng.random_range(0..2)];
                        keys.push([&length.to_le_bytes()[..], &packet[at..at + 8]].concat());
                    }
                }
                keys
            }
            "cpus" => vec![vec![0; 4]],
            _ => [1u32, 3].iter().map(|key| key.to_le_bytes().to_vec()).collect(),
        };
        for key in keys {
            replay_pair.install(&layout, &Entry { key, value: value.clone() })?;
        }
    }
    Ok(())
}

fn agree(kernel: &Kernel, object: &Object, number: usize) -> Result<(), String> {
    let packets = random_cases(PACKETS) as usize;
    let words = Words { packets, epoch: EPOCH, packet, fill };
    let Compared { packets, covered, blocks } = words.compare(kernel, object, number)?;
    eprintln!("{}: {covered} of {blocks} blocks", object.programs[number].name);
    Oracle::Kernel.compared(packets, "packets through helpers");
    Ok(())
}

#[test]
fn kernel_and_interpreter_agree_on_every_helper() {
    let Some(kernel) = kernel() else { return };
    let object = helpers();
    let check = |number: usize| {
        let name = object.programs[number].name.as_str();
        let checked = match name {
            _ if name.starts_with("undecided_") => Ok(()),
            "lifted_only" => ReplayPair::lifted(&kernel, &object, number).map(drop),
            _ => agree(&kernel, &object, number),
        };
        checked.map_err(|fault| format!("{name}: {fault}"))
    };
    let checked = each_on_every_cpu(object.programs.len(), check);
    let faults: Vec<String> = checked.into_iter().filter_map(Result::err).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the first two cells of each row in a table of the support matrix. `header` is the header
/// row of the table.
fn rows(matrix: &str, header: &str) -> Vec<(String, String)> {
    let table = matrix.split("\n\n").find(|table| table.starts_with(header)).unwrap_or("");
    let cells = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        Some((cells.next()?.trim_matches('`').to_owned(), cells.next()?))
    };
    table.lines().skip(2).filter_map(cells).collect()
}

#[test]
fn every_entry_of_the_tables_has_a_program() {
    let object = helpers();
    let matrix = support_matrix();
    let mut called = BTreeSet::new();
    for number in 0..object.programs.len() {
        let linked = object.link(number, None).unwrap_or_else(|e| panic!("{e}"));
        called.extend(linked.insns.iter().filter_map(|insn| match insn {
            Insn::Call(Call::Helper(number)) => Some(number.to_string()),
            _ => None,
        }));
    }
    let helpers = rows(&matrix, "| helper");
    assert!(helpers.len() > 40, "{matrix}");
    let missing: Vec<&String> =
        helpers.iter().filter(|(_, n)| !called.contains(n)).map(|(name, _)| name).collect();
    assert!(missing.is_empty(), "helpers without a program: {missing:?}");
    let kinds: BTreeSet<String> = object.maps.iter().map(|map| map.kind.to_string()).collect();
    let known = rows(&matrix, "| map type");
    assert!(known.len() > 15, "{matrix}");
    let missing: Vec<&String> =
        known.iter().map(|(kind, _)| kind).filter(|kind| !kinds.contains(*kind)).collect();
    assert!(missing.is_empty(), "types of maps without a program: {missing:?}");
}
