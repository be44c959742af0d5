//! Provides programs and environments for tests.

// Each test file uses only a part of this module.

pub mod program;

use std::path::{Path, PathBuf};

use slowpath_bpf::Object;
use slowpath_bpf::lift::LiftOptions;
use slowpath_exec::concrete::Environment;
use slowpath_ir::{InputId, InputKind, Op, Program, RegionId, RegionKind};

/// Returns the files in `examples/` with this suffix, sorted.
pub fn examples(suffix: &str) -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), suffix)
}

/// Returns the files of a directory with this suffix, sorted.
pub fn files(directory: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{directory:?}: {e}"));
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(suffix));
    files.sort();
    files
}

/// Returns the programs of a BPF object in the intermediate representation. Leaves out those that
/// cannot be linked or lifted.
pub fn bpf_programs(file: &Path) -> Vec<Program> {
    let data = std::fs::read(file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
    let object = Object::parse(&data).unwrap_or_else(|e| panic!("{file:?}: {e}"));
    (0..object.programs.len())
        .filter_map(|number| {
            let linked = object.link(number, None).ok()?;
            let lifted =
                slowpath_bpf::lift::lift(&object, &linked, &LiftOptions::default()).ok()?;
            Some(lifted.program)
        })
        .collect()
}

/// Returns the program of an NFP listing.
pub fn nfp_program(file: &Path) -> Program {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
    let listing = slowpath_nfp::parse(&text).unwrap_or_else(|e| panic!("{file:?}: {e}"));
    slowpath_nfp::lift(&listing, "listing", &slowpath_nfp::LiftOptions::default())
        .unwrap_or_else(|e| panic!("{file:?}: {e}"))
}

/// A random number generator (xorshift64*) that starts from a fixed state.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end.max(1)
    }

    fn one_of(&mut self, values: &[u8]) -> u8 {
        values[self.below(values.len() as u64) as usize]
    }
}

/// Returns a random packet of a common protocol, in which some bytes are changed.
fn packet(random: &mut Random) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..1600).map(|_| random.next() as u8).collect();
    bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    let transport = match random.below(4) {
        0 => {
            bytes[12..14].copy_from_slice(&[0x86, 0xdd]);
            bytes[14] = 0x60;
            bytes[20] = random.one_of(&[6, 17, 0, 43, 58]);
            54
        }
        1 => {
            bytes[12..18].copy_from_slice(&[0x81, 0, 0, 5, 8, 0]);
            bytes[18] = 0x45;
            bytes[24..26].copy_from_slice(&[0, 0]);
            bytes[27] = random.one_of(&[6, 17, 1]);
            38
        }
        _ => {
            bytes[12..14].copy_from_slice(&[8, 0]);
            bytes[14] = random.one_of(&[0x45, 0x45, 0x46]);
            bytes[20..22].copy_from_slice(&[0, 0]);
            bytes[23] = random.one_of(&[6, 17, 17, 1]);
            34
        }
    };
    if random.below(2) == 0 {
        let port = random.one_of(&[53, 80]);
        bytes[transport + 2..transport + 4].copy_from_slice(&[0, port]);
        bytes[transport + 8] = random.one_of(&[0x80, 0x40, 0xc0, 0]);
    }
    for _ in 0..random.below(3) {
        let place = random.below(90) as usize;
        bytes[place] = random.next() as u8;
    }
    bytes
}

/// Returns random inputs and memory contents for a run of a program.
pub fn environment(program: &Program, random: &mut Random) -> Environment {
    let fill = random.one_of(&[0, 1, 0xff]);
    let mut environment = Environment::with_fill(program, fill);
    for (index, input) in program.inputs.iter().enumerate() {
        if matches!(input.kind, InputKind::BaseAddress(_)) {
            continue;
        }
        let value = match random.below(4) {
            0 => input.min,
            1 => input.max,
            _ => input.min + random.next() % (input.max - input.min).saturating_add(1).max(1),
        };
        environment.inputs.insert(InputId::from(index), value);
    }
    for (index, region) in program.regions.iter().enumerate() {
        let id = RegionId::from(index);
        if region.kind == RegionKind::Packet {
            let bytes = packet(random);
            let places = (0u64..).zip(bytes);
            environment.memory.extend(places.map(|(offset, byte)| ((id, offset), byte)));
        } else if random.below(2) == 0 {
            for offset in 0..64 {
                environment.memory.insert((id, offset), random.next() as u8);
            }
        }
    }
    let ops = program.blocks.iter().flat_map(|block| &block.ops);
    let mut limits = ops.filter_map(|origin| match origin.op {
        Op::Unknown { min, max, .. } => Some((min, max)),
        _ => None,
    });
    if limits.all(|(min, max)| min == 0 && max >= 1) {
        environment.unknowns = (0..64).map(|_| random.below(2)).collect();
    }
    environment
}
