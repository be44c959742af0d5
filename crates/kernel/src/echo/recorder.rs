//! A generated program that records the latency of marked packets.

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::helper::{KTIME_GET_NS, XDP_LOAD_BYTES};
use slowpath_bpf::insn::{AluOp, Condition, Register, Size, Source};

use crate::LoadedProgram;
use crate::generated::{Assembly, GeneratedError, KEY, load, map};
use crate::program::Variant;
use crate::sys::{Cpus, RawMap};

/// Maximum number of packets whose latencies are recorded. With 4 bytes each, they take 4 MiB, the
/// limit of a map value in kernels before 6.4.
pub const MOST_PACKETS: u32 = 1 << 20;
/// Length of a mark in bytes.
pub const MARK: usize = 16;
/// Magic number that distinguishes marked packets from others.
const MAGIC: i32 = 0x510e_9a7b;
/// `XDP_DROP`.
const DROP: i32 = 1;

/// The last bytes of a marked packet: its time of sending and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Time of sending in nanoseconds (`CLOCK_MONOTONIC`).
    pub time: u64,
    /// Number of the packet.
    pub number: u32,
}

impl Mark {
    /// Encodes the mark as it stands at the end of a packet.
    #[must_use]
    pub fn bytes(self) -> [u8; MARK] {
        let mut bytes = [0; MARK];
        bytes[..8].copy_from_slice(&self.time.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.number.to_ne_bytes());
        bytes[12..].copy_from_slice(&MAGIC.to_ne_bytes());
        bytes
    }
}

/// Counts of the packets that the recording program received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Packets whose latency was recorded.
    pub marked: u64,
    /// Packets without a valid mark, and packets that repeat the number of an earlier packet.
    pub unmarked: u64,
}

/// The recording program and its maps.
#[derive(Debug)]
pub struct Recorder {
    program: LoadedProgram,
    /// Latency of each packet in nanoseconds, in 4 bytes; 0 if the packet did not return.
    latencies: RawMap,
    counts: RawMap,
}

impl Recorder {
    pub fn new(cpus: Cpus) -> Result<Recorder, GeneratedError> {
        let latencies = map("latencies", MapKind::ARRAY, 4 * MOST_PACKETS, cpus)?;
        let counts = map("counts", MapKind::ARRAY, 16, cpus)?;
        let code = program(&latencies, &counts).ok_or_else(|| GeneratedError::Refused {
            what: "a jump",
            cause: std::io::ErrorKind::InvalidInput.into(),
        })?;
        Ok(Recorder { program: load("recorder", &code, Variant::xdp(false))?, latencies, counts })
    }

    pub fn program(&self) -> &LoadedProgram {
        &self.program
    }

    pub fn recorded(&self) -> Result<Recorded, GeneratedError> {
        let bytes = self.counts.lookup(&KEY).map_err(unread)?;
        let words = bytes.as_chunks::<8>().0;
        let word = |at: usize| words.get(at).map_or(0, |&word| u64::from_ne_bytes(word));
        Ok(Recorded { marked: word(0), unmarked: word(1) })
    }

    pub fn forget(&self) -> Result<(), GeneratedError> {
        let none = vec![0; 4 * MOST_PACKETS as usize];
        self.latencies.update(&KEY, &none).map_err(unread)
    }

    pub fn latencies(&self) -> Result<Vec<u32>, GeneratedError> {
        let bytes = self.latencies.lookup(&KEY).map_err(unread)?;
        let all = bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_ne_bytes(word));
        Ok(all.filter(|&latency| latency > 0).collect())
    }
}

fn unread(cause: std::io::Error) -> GeneratedError {
    GeneratedError::Refused { what: "the latencies", cause }
}

/// Generates the recording program.
fn program(latencies: &RawMap, counts: &RawMap) -> Option<Assembly> {
    let [r0, r1, r2, r3, r4, r6, r7, r8, r10] = [
        Register::R0,
        Register::R1,
        Register::R2,
        Register::R3,
        Register::R4,
        Register::R6,
        Register::R7,
        Register::R8,
        Register::FRAME,
    ];
    let mark = MARK as i16;
    let mut code = Assembly::default();
    code.mov(r6, Source::Reg(r1));
    // The mark is at the end of the packet.
    code.load(Size::W, r3, r6, 0);
    code.load(Size::W, r2, r6, 4);
    code.alu(AluOp::Sub, r2, Source::Reg(r3));
    code.alu(AluOp::Add, r2, Source::Imm(-i32::from(mark)));
    code.mov(r3, Source::Reg(r10));
    code.alu(AluOp::Add, r3, Source::Imm(-i32::from(mark)));
    code.set(r4, i32::from(mark));
    code.mov(r1, Source::Reg(r6));
    code.call(XDP_LOAD_BYTES);
    let short = code.jump_if(Condition::Ne, r0, Source::Imm(0));
    code.load(Size::W, r1, r10, -4);
    let foreign = code.jump_if(Condition::Ne, r1, Source::Imm(MAGIC));
    code.load(Size::W, r8, r10, -8);
    let beyond = code.jump_if(Condition::Ge, r8, Source::Imm(MOST_PACKETS as i32));
    code.load(Size::DW, r7, r10, -mark);
    code.call(KTIME_GET_NS);
    code.alu(AluOp::Sub, r0, Source::Reg(r7));
    // A latency has 32 bits and is not 0.
    let positive = code.jump_if(Condition::Ne, r0, Source::Imm(0));
    code.set(r0, 1);
    let landed = code.land(positive);
    code.number(r1, u32::MAX.into());
    let fits = code.jump_if(Condition::Le, r0, Source::Reg(r1));
    code.mov(r0, Source::Reg(r1));
    let landed = code.land(fits) && landed;
    code.alu(AluOp::Lsh, r8, Source::Imm(2));
    code.map_value(r2, latencies.fd(), 0);
    code.alu(AluOp::Add, r2, Source::Reg(r8));
    code.load(Size::W, r3, r2, 0);
    let again = code.jump_if(Condition::Ne, r3, Source::Imm(0));
    code.store(Size::W, r2, 0, Source::Reg(r0));
    code.map_value(r1, counts.fd(), 0);
    code.set(r2, 1);
    code.count(r1, 0, r2);
    code.exit(DROP);
    let holes = [short, foreign, beyond, again];
    let landed = holes.into_iter().all(|hole| code.land(hole)) && landed;
    code.map_value(r1, counts.fd(), 8);
    code.set(r2, 1);
    code.count(r1, 0, r2);
    code.exit(DROP);
    landed.then_some(code)
}
