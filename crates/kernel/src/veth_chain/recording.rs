//! Rewrites a program so that it records its result at each exit.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::helper::{TAIL_CALL, XDP_GET_BUFF_LEN, XDP_LOAD_BYTES};
use slowpath_bpf::insn::{AluOp, Call, Condition, Insn, Register, Size, Source};

use crate::TestRun;
use crate::generated::Assembly;
use crate::rewriting::{DEEPEST, free_stack_offset, insert_and_replace};

/// `XDP_ABORTED`.
const ABORTED: i32 = 0;
/// `XDP_DROP`.
const DROP: i32 = 1;
/// Number of 4-byte words of metadata that are recorded.
const WORDS: i16 = 8;
/// Maximum number of packet bytes that are recorded.
const PACKET: i32 = 16 << 10;
/// Maximum length of metadata in bytes (`xdp_metalen_invalid`). If the distance between packet and
/// metadata is larger, the driver does not support metadata.
const METADATA: u32 = 252;

/// Result of a frame's run through a chain of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Index of the last program that ran, counted from 0 in the order of the chain.
    pub program: usize,
    /// Result of the last program, with the packet and metadata that it left. Metadata beyond the
    /// first 32 bytes is replaced by zeros. The duration is 0.
    pub run: TestRun,
}

/// Offsets in bytes of the fields of a record. A program writes its result as a record into the
/// value of a map. The number of recorded frames has 8 bytes, and other fields have 4.
pub struct Layout {
    count: i16,
    result: i16,
    program: i16,
    /// Offset of the packet's length.
    length: i16,
    /// Offset of the metadata's length.
    metadata_length: i16,
    metadata: i16,
    packet: i16,
}

/// The layout of all records.
pub const LAYOUT: Layout = Layout {
    count: 0,
    result: 8,
    program: 12,
    length: 16,
    metadata_length: 20,
    metadata: 24,
    packet: 24 + 4 * WORDS,
};

impl Layout {
    /// Returns the size of a record in bytes.
    pub fn size(&self) -> u32 {
        self.packet as u32 + PACKET as u32
    }

    /// Decodes the number of frames that have been recorded so far from the map's value.
    pub fn count(&self, value: &[u8]) -> u64 {
        let bytes = value.get(self.count as usize..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }

    /// Decodes the record that was written last. Returns `None` if it is incomplete.
    pub fn record(&self, value: &[u8]) -> Option<Record> {
        let number = |at: i16| {
            let bytes = value.get(at as usize..)?.first_chunk()?;
            Some(u32::from_ne_bytes(*bytes))
        };
        let part = |at: i16, length: usize| Some(value.get(at as usize..)?.get(..length)?.to_vec());
        let metadata_length = number(self.metadata_length).filter(|&length| length <= METADATA)?;
        let mut metadata = part(self.metadata, (metadata_length as usize).min(4 * WORDS as usize))?;
        metadata.resize(metadata_length as usize, 0);
        let run = TestRun {
            return_value: number(self.result)?,
            packet: part(self.packet, number(self.length)? as usize)?,
            fields: Default::default(),
            metadata,
            duration: Duration::ZERO,
        };
        Some(Record { program: number(self.program)? as usize, run })
    }
}

/// Parameters of the code that replaces the exits of a program.
pub struct Exits<'a> {
    /// The map into which the program writes its result.
    pub record: BorrowedFd<'a>,
    /// The program array that contains the programs of the chain.
    pub next: BorrowedFd<'a>,
    /// Index of the program in the chain, from 0.
    pub program: usize,
    /// Return values of the program after which the packet goes to the next program of the chain.
    pub results: &'a [u32],
    /// True if the program accepts packets in several buffers.
    pub fragments: bool,
}

/// Replaces each exit of a program by code that either records the result or calls the next
/// program.
///
/// # Errors
/// A short reason if the exits cannot be replaced.
pub fn recording(program: &BpfProgram, exits: &Exits) -> Result<BpfProgram, &'static str> {
    let insns = &program.insns;
    let functions = program.subprograms.iter().map(|function| function.first);
    let end = functions.filter(|&first| first > 0).min().unwrap_or(insns.len());
    let (main, others) = insns.split_at(end.min(insns.len()));
    if others.contains(&Insn::Call(Call::Helper(TAIL_CALL))) {
        // The tail-called program would only end the function, not the program.
        return Err("a function of it makes tail calls");
    }
    if insns.iter().enumerate().any(|(slot, insn)| insn.jump_target(slot) == Some(0)) {
        return Err("its first instruction is in a loop");
    }
    let context = free_stack_offset(program, 0) - 8;
    if context < DEEPEST {
        return Err("there is no room on the stack");
    }
    let save = Insn::Store {
        size: Size::DW,
        base: Register::FRAME,
        offset: context,
        src: Source::Reg(Register::R1),
    };
    let record = exit(exits, context)?;
    let ends = main.iter().enumerate().filter(|(_, insn)| **insn == Insn::Exit);
    let replaced = ends.map(|(slot, _)| (slot, record.clone())).collect();
    let mut recording = insert_and_replace(program, &BTreeMap::from([(0, vec![save])]), &replaced)?;
    // The kernel does not attach devmap and cpumap programs to devices.
    let section = if exits.fragments { "xdp.frags" } else { "xdp" };
    recording.section = section.to_owned();
    Ok(recording)
}

/// Returns the instructions that replace an exit of a program. `stack` is the stack offset at which
/// the program's context is saved.
fn exit(exits: &Exits, stack: i16) -> Result<Vec<Insn>, &'static str> {
    const FAR: &str = "there are too many results";
    let (result, context, record, length) =
        (Register::R6, Register::R7, Register::R8, Register::R9);
    let (data, metadata, end, word) = (Register::R2, Register::R3, Register::R4, Register::R5);
    let mut code = Assembly::default();
    code.mov(result, Source::Reg(Register::R0));
    for op in [AluOp::Lsh, AluOp::Rsh] {
        code.alu(op, result, Source::Imm(32));
    }
    code.load(Size::DW, context, Register::FRAME, stack);
    let results = exits.results.iter().filter_map(|&result| i32::try_from(result).ok());
    let continuing: Vec<_> =
        results.map(|value| code.jump_if(Condition::Eq, result, Source::Imm(value))).collect();
    code.map_value(record, exits.record, 0);
    code.store(Size::W, record, LAYOUT.result, Source::Reg(result));
    code.store(Size::W, record, LAYOUT.program, Source::Imm(exits.program as i32));
    // `data` and `data_meta` of `struct xdp_md`.
    code.load(Size::W, data, context, 0);
    code.load(Size::W, metadata, context, 8);
    code.mov(word, Source::Reg(data));
    code.alu(AluOp::Sub, word, Source::Reg(metadata));
    let none = code.jump_if(Condition::Le, word, Source::Imm(METADATA as i32));
    code.set(word, 0);
    let mut fits = code.land(none);
    code.store(Size::W, record, LAYOUT.metadata_length, Source::Reg(word));
    let mut over = Vec::new();
    for offset in (0..WORDS).map(|number| 4 * number) {
        code.mov(end, Source::Reg(metadata));
        code.alu(AluOp::Add, end, Source::Imm(i32::from(offset) + 4));
        over.push(code.jump_if(Condition::Gt, end, Source::Reg(data)));
        code.load(Size::W, word, metadata, offset);
        code.store(Size::W, record, LAYOUT.metadata + offset, Source::Reg(word));
    }
    fits &= over.into_iter().all(|hole| code.land(hole));
    code.mov(Register::R1, Source::Reg(context));
    code.call(XDP_GET_BUFF_LEN);
    code.mov(length, Source::Reg(Register::R0));
    code.store(Size::W, record, LAYOUT.length, Source::Reg(length));
    let empty = code.jump_if(Condition::Lt, length, Source::Imm(1));
    let long = code.jump_if(Condition::Gt, length, Source::Imm(PACKET));
    code.mov(Register::R1, Source::Reg(context));
    code.set(Register::R2, 0);
    code.mov(Register::R3, Source::Reg(record));
    code.alu(AluOp::Add, Register::R3, Source::Imm(LAYOUT.packet.into()));
    code.mov(Register::R4, Source::Reg(length));
    code.call(XDP_LOAD_BYTES);
    fits &= code.land(empty) & code.land(long);
    code.set(Register::R1, 1);
    code.count(record, LAYOUT.count, Register::R1);
    code.exit(DROP);
    if !continuing.is_empty() {
        fits &= continuing.into_iter().all(|hole| code.land(hole));
        code.mov(Register::R1, Source::Reg(context));
        code.map(Register::R2, exits.next);
        code.set(Register::R3, exits.program as i32 + 1);
        code.call(TAIL_CALL);
        code.exit(ABORTED);
    }
    if fits { Ok(code.into_insns()) } else { Err(FAR) }
}
