//! Generates the code that runs before each run of a timed program: it restores packets and maps,
//! and changes packets.
//!
//! In all generated code, `r6` contains the context and `r7` the address of the state. The state
//! contains the number of steps that failed. After a failed step, the next run starts with another
//! packet or other map content than the first run.

use std::os::fd::BorrowedFd;

use slowpath_bpf::insn::helper::{
    MAP_DELETE_ELEM, MAP_POP_ELEM, MAP_PUSH_ELEM, MAP_UPDATE_ELEM, SET_HASH_INVALID,
    SKB_ADJUST_ROOM, SKB_CHANGE_TAIL, SKB_CHANGE_TYPE, SKB_VLAN_POP, XDP_ADJUST_HEAD,
    XDP_ADJUST_META, XDP_ADJUST_TAIL,
};
use slowpath_bpf::insn::{AluOp, Condition, Register, Size, Source};
use slowpath_bpf::{MapKind, SCHED_CLS};

use super::error::TimingError;
use super::flows::Flows;
use super::rotation::Rotation;
use super::state;
use super::undo::Undo;
use crate::LoadedProgram;
use crate::generated::Assembly;

/// Offset in bytes of the field `data` in `struct xdp_md`.
const DATA: i16 = 0;
/// Offset in bytes of the field `data_end` in `struct xdp_md`.
const DATA_END: i16 = 4;
/// Offset in bytes of the field `data_meta` in `struct xdp_md`.
const DATA_META: i16 = 8;

const CONTEXT: Register = Register::R6;
const STATE: Register = Register::R7;
/// Registers of a helper's arguments after the context.
const ARGUMENTS: [Register; 3] = [Register::R2, Register::R3, Register::R4];
/// `BPF_ADJ_ROOM_MAC`.
const ADJ_ROOM_MAC: i32 = 1;

fn too_far() -> TimingError {
    TimingError::CodeTooLong { work: "to undo" }
}

/// Generates code that adds a value to the word at the offset `word` of the state, the memory that
/// is kept between runs.
fn add_to(code: &mut Assembly, word: i16, value: Source) {
    code.load(Size::DW, Register::R1, STATE, word);
    code.alu(AluOp::Add, Register::R1, value);
    code.store(Size::DW, STATE, word, Source::Reg(Register::R1));
}

/// Generates code that increments the number of failures in the state unless `r0`, the result of a
/// helper, is 0.
fn check(code: &mut Assembly) -> Result<(), TimingError> {
    let success = code.jump_if(Condition::Eq, Register::R0, Source::Imm(0));
    add_to(code, state::FAILURES, Source::Imm(1));
    if code.land(success) { Ok(()) } else { Err(too_far()) }
}

/// Generates code for the end of the previous run of the timed program, whose end time is in `r0`.
/// If that run belongs to the current system call, the generated code adds it to the count and to
/// the total time, and executes the code of `packet`. If there was any earlier run, even in another
/// system call, it executes the code of `elements`: a new system call starts with a new packet, but
/// with the same maps.
pub fn after_run(
    code: &mut Assembly,
    packet: impl FnOnce(&mut Assembly) -> Result<(), TimingError>,
    elements: impl FnOnce(&mut Assembly) -> Result<(), TimingError>,
) -> Result<(), TimingError> {
    code.load(Size::DW, Register::R2, STATE, state::STARTED);
    let first = code.jump_if(Condition::Eq, Register::R2, Source::Imm(0));
    code.alu(AluOp::Sub, Register::R0, Source::Reg(Register::R2));
    add_to(code, state::NANOSECONDS, Source::Reg(Register::R0));
    add_to(code, state::RUNS, Source::Imm(1));
    packet(code)?;
    if !code.land(first) {
        return Err(too_far());
    }
    after_first_ever(code, elements)
}

/// Generates the code of `elements`, which is skipped only before the very first run. It also runs
/// before the first run of a later system call.
pub fn after_first_ever(
    code: &mut Assembly,
    elements: impl FnOnce(&mut Assembly) -> Result<(), TimingError>,
) -> Result<(), TimingError> {
    code.load(Size::DW, Register::R2, STATE, state::HAS_RUN);
    let first_ever = code.jump_if(Condition::Eq, Register::R2, Source::Imm(0));
    elements(code)?;
    if !code.land(first_ever) {
        return Err(too_far());
    }
    code.store(Size::DW, STATE, state::HAS_RUN, Source::Imm(1));
    Ok(())
}

/// Generates the code of `packet`, which runs before each run except the first run of a system
/// call.
pub fn before_run(
    code: &mut Assembly,
    packet: impl FnOnce(&mut Assembly) -> Result<(), TimingError>,
) -> Result<(), TimingError> {
    code.load(Size::DW, Register::R2, STATE, state::STARTED);
    let first = code.jump_if(Condition::Eq, Register::R2, Source::Imm(0));
    packet(code)?;
    let landed = code.land(first);
    code.store(Size::DW, STATE, state::STARTED, Source::Imm(1));
    if landed { Ok(()) } else { Err(too_far()) }
}

/// Generates code that restores the start, the end and the bytes of packet and metadata. `is_xdp`
/// is false for tc programs.
pub fn restore_packet(code: &mut Assembly, undo: &Undo, is_xdp: bool) -> Result<(), TimingError> {
    if !is_xdp {
        return restore_skb(code, undo);
    }
    let adjust = |code: &mut Assembly, helper: i32, by: i32| {
        if by == 0 {
            return Ok(());
        }
        code.mov(Register::R1, Source::Reg(CONTEXT));
        code.set(Register::R2, by);
        code.call(helper);
        check(code)
    };
    let before = i32::try_from(undo.metadata.len()).map_err(|_| too_far())?;
    let after = i32::try_from(undo.metadata_after).map_err(|_| too_far())?;
    // The packet must keep room for an Ethernet header at every step, so it grows first.
    let tail = undo.tail.saturating_neg();
    adjust(code, XDP_ADJUST_TAIL, tail.max(0))?;
    adjust(code, XDP_ADJUST_HEAD, undo.head.saturating_neg())?;
    adjust(code, XDP_ADJUST_META, after - before)?;
    adjust(code, XDP_ADJUST_TAIL, tail.min(0))?;
    let metadata = [(0, undo.metadata.clone())];
    write(code, &metadata, [DATA_META, DATA])?;
    write(code, &undo.packet, [DATA, DATA_END])
}

/// Generates code that restores a tc program's packet: its length, tag, hash, fields and bytes.
fn restore_skb(code: &mut Assembly, undo: &Undo) -> Result<(), TimingError> {
    let call = |code: &mut Assembly, helper: i32, arguments: &[i32]| {
        code.mov(Register::R1, Source::Reg(CONTEXT));
        for (register, &value) in ARGUMENTS.into_iter().zip(arguments) {
            code.set(register, value);
        }
        code.call(helper);
    };
    let skb = &undo.skb;
    if skb.pushed_tag {
        call(code, SKB_VLAN_POP, &[]);
        check(code)?;
    }
    if skb.room != 0 {
        call(code, SKB_ADJUST_ROOM, &[skb.room.saturating_neg(), ADJ_ROOM_MAC, 0]);
        check(code)?;
    }
    if let Some(length) = skb.length {
        call(code, SKB_CHANGE_TAIL, &[length, 0]);
        check(code)?;
    }
    let [data, end, _] = SCHED_CLS.ends().map(|offset| offset as i16);
    write(code, &undo.packet, [data, end])?;
    if let Some(packet_type) = skb.packet_type {
        call(code, SKB_CHANGE_TYPE, &[packet_type]);
        check(code)?;
    }
    if skb.hashed {
        call(code, SET_HASH_INVALID, &[]);
    }
    for &(field, value) in &skb.fields {
        let size = match field.bytes {
            4 => Size::W,
            8 => Size::DW,
            _ => return Err(too_far()),
        };
        code.number(Register::R1, value);
        code.store(size, CONTEXT, field.offset as i16, Source::Reg(Register::R1));
    }
    Ok(())
}

/// Generates code that writes `pieces`, pairs of offset and bytes, into packet or metadata.
/// `between` contains the offsets of two context fields, whose values are the start and the end of
/// this memory. The code writes only if all pieces lie before the end.
fn write(
    code: &mut Assembly,
    pieces: &[(u32, Vec<u8>)],
    between: [i16; 2],
) -> Result<(), TimingError> {
    let ends = pieces.iter().map(|(at, bytes)| *at as usize + bytes.len());
    let end = ends.max().unwrap_or(0);
    within(code, end, between, |code| {
        for (at, bytes) in pieces {
            let mut at = i16::try_from(*at).map_err(|_| too_far())?;
            for word in bytes.chunks(4) {
                if let Ok(word) = <[u8; 4]>::try_from(word) {
                    let value = Source::Imm(i32::from_ne_bytes(word));
                    code.store(Size::W, Register::R2, at, value);
                    at += 4;
                } else {
                    for byte in word {
                        code.store(Size::B, Register::R2, at, Source::Imm((*byte).into()));
                        at += 1;
                    }
                }
            }
        }
        Ok(())
    })
}

/// Generates code that tests if the memory between two addresses has at least `end` bytes.
/// `between` contains the offsets of the context fields with these addresses. If so, the code
/// executes `inside`, with the first address in `r2`. If not, it counts a failure.
fn within(
    code: &mut Assembly,
    end: usize,
    between: [i16; 2],
    inside: impl FnOnce(&mut Assembly) -> Result<(), TimingError>,
) -> Result<(), TimingError> {
    if end == 0 {
        return Ok(());
    }
    // Offsets of stores are at most 15 bits long.
    let end = i16::try_from(end).map_err(|_| too_far())?;
    code.set(Register::R0, 1);
    code.load(Size::W, Register::R2, CONTEXT, between[0]);
    code.load(Size::W, Register::R3, CONTEXT, between[1]);
    code.mov(Register::R4, Source::Reg(Register::R2));
    code.alu(AluOp::Add, Register::R4, Source::Imm(end.into()));
    let outside = code.jump_if(Condition::Gt, Register::R4, Source::Reg(Register::R3));
    inside(code)?;
    code.set(Register::R0, 0);
    if !code.land(outside) {
        return Err(too_far());
    }
    check(code)
}

/// Keys and values of the map elements to restore. One map stores them together in its only value.
#[derive(Default)]
pub struct Constants {
    /// Content of the map's value: all keys and values, one after the other.
    pub bytes: Vec<u8>,
    /// Offsets in the value at which the key and the value of each element start.
    offsets: Vec<(u32, u32)>,
}

impl Constants {
    /// Collects the keys and values to restore in the maps of a program.
    pub fn new(undo: &Undo, program: &LoadedProgram) -> Result<Constants, TimingError> {
        let mut all = Constants::default();
        for element in &undo.elements {
            let map = program.map_by_number(element.map).ok_or(TimingError::NoMap)?;
            let key = all.put(&element.key)?;
            // The helper that pops an element needs a buffer.
            let room = vec![0; map.definition().value_size as usize];
            let value = all.put(element.value.as_deref().unwrap_or(&room))?;
            all.offsets.push((key, value));
        }
        Ok(all)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<u32, TimingError> {
        let at = u32::try_from(self.bytes.len()).map_err(|_| too_far())?;
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        Ok(at)
    }
}

/// Generates code that restores elements of maps. `constants` is the map that contains the keys and
/// values of these elements; `None` if no elements must be restored.
pub fn restore_elements(
    code: &mut Assembly,
    undo: &Undo,
    program: &LoadedProgram,
    constants: Option<(BorrowedFd, &Constants)>,
) -> Result<(), TimingError> {
    let Some((fd, constants)) = constants else { return Ok(()) };
    for (element, &(key, value)) in undo.elements.iter().zip(&constants.offsets) {
        let map = program.map_by_number(element.map).ok_or(TimingError::NoMap)?;
        let ordered = matches!(map.definition().kind, MapKind::QUEUE | MapKind::STACK);
        code.map(Register::R1, map.fd());
        match (&element.value, ordered) {
            (Some(_), true) => {
                code.map_value(Register::R2, fd, value);
                code.set(Register::R3, 0);
                code.call(MAP_PUSH_ELEM);
            }
            (None, true) => {
                code.map_value(Register::R2, fd, value);
                code.call(MAP_POP_ELEM);
            }
            (Some(_), false) => {
                code.map_value(Register::R2, fd, key);
                code.map_value(Register::R3, fd, value);
                code.set(Register::R4, 0);
                code.call(MAP_UPDATE_ELEM);
            }
            (None, false) => {
                code.map_value(Register::R2, fd, key);
                code.call(MAP_DELETE_ELEM);
            }
        }
        check(code)?;
    }
    Ok(())
}

/// Generates code that writes the next packet of a rotation.
pub fn rotate(code: &mut Assembly, rotation: &Rotation) -> Result<(), TimingError> {
    let invalid = || TimingError::CodeTooLong { work: "to rotate" };
    let count = rotation.count().and_then(|count| i32::try_from(count).ok()).ok_or_else(invalid)?;
    // A linear congruential generator modulo a power of two has its full period (Hull and Dobell:
    // the increment is odd, the factor is 1 modulo 4); the constants are those of Numerical
    // Recipes.
    let (number, value, changed) = (Register::R8, Register::R5, Register::R9);
    code.load(Size::DW, number, STATE, state::GENERATOR);
    code.alu(AluOp::Mul, number, Source::Imm(1_664_525));
    code.alu(AluOp::Add, number, Source::Imm(1_013_904_223));
    code.store(Size::DW, STATE, state::GENERATOR, Source::Reg(number));
    code.alu(AluOp::And, number, Source::Imm(count - 1));
    let words = rotation.words();
    let end = words.iter().map(|word| (word.at + word.len) as usize).max();
    within(code, end.unwrap_or(0), [DATA, DATA_END], |code| {
        for word in &words {
            code.number(value, word.value);
            for change in &word.changes {
                code.mov(changed, Source::Reg(number));
                match change.left {
                    0 => {}
                    left @ 1.. => code.alu(AluOp::Lsh, changed, Source::Imm(left)),
                    right => code.alu(AluOp::Rsh, changed, Source::Imm(-right)),
                }
                code.number(Register::R1, change.mask);
                code.alu(AluOp::And, changed, Source::Reg(Register::R1));
                code.alu(AluOp::Xor, value, Source::Reg(changed));
            }
            let size = match word.len {
                8 => Size::DW,
                4 => Size::W,
                2 => Size::H,
                _ => Size::B,
            };
            let at = i16::try_from(word.at).map_err(|_| invalid())?;
            code.store(size, Register::R2, at, Source::Reg(value));
        }
        Ok(())
    })
}

/// Generates code that chooses a flow at random and writes it into the packet. `sum` is the sum of
/// those words of the IPv4 header that are the same in all flows ([`Flows::constant_sum`]).
pub fn draw(code: &mut Assembly, flows: &Flows, sum: i32) -> Result<(), TimingError> {
    let count =
        i32::try_from(flows.count).map_err(|_| TimingError::CodeTooLong { work: "to draw" })?;
    let (number, hash) = (Register::R8, Register::R9);
    let reg = Source::Reg;
    // A linear congruential generator modulo 2^64 (Knuth, The Art of Computer Programming, volume
    // 2, 3.3.4, table 1, line 26). Its high half times a bound, shifted right by 32 bits, is a
    // number below the bound.
    code.load(Size::DW, number, STATE, state::GENERATOR);
    code.number(hash, 6_364_136_223_846_793_005);
    code.alu(AluOp::Mul, number, reg(hash));
    code.number(hash, 1_442_695_040_888_963_407);
    code.alu(AluOp::Add, number, reg(hash));
    code.store(Size::DW, STATE, state::GENERATOR, reg(number));
    code.alu(AluOp::Rsh, number, Source::Imm(32));
    code.alu(AluOp::Mul, number, Source::Imm(count));
    code.alu(AluOp::Rsh, number, Source::Imm(32));
    // Hash of the flow's number: half of the mixing function of Steele, Lea and Flood ("Fast
    // Splittable Pseudorandom Number Generators", OOPSLA 2014).
    code.mov(hash, reg(number));
    code.alu(AluOp::Add, hash, Source::Imm((flows.seed & 0x7fff_ffff) as i32));
    for factor in [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9] {
        code.number(Register::R5, factor);
        code.alu(AluOp::Mul, hash, reg(Register::R5));
        code.mov(Register::R5, reg(hash));
        code.alu(AluOp::Rsh, Register::R5, Source::Imm(32));
        code.alu(AluOp::Xor, hash, reg(Register::R5));
    }
    // Multiplication by an odd number is injective, so source addresses stay distinct.
    code.number(Register::R5, 0x9e37_79b1);
    code.alu(AluOp::Mul, number, reg(Register::R5));
    code.number(Register::R5, flows.seed.into());
    code.alu(AluOp::Add, number, reg(Register::R5));
    within(code, 38, [DATA, DATA_END], |code| {
        code.store(Size::W, Register::R2, 26, reg(number));
        // A port of at least 1024.
        code.mov(Register::R5, reg(hash));
        code.alu(AluOp::Rsh, Register::R5, Source::Imm(32));
        code.alu(AluOp::Or, Register::R5, Source::Imm(u16::from_ne_bytes([4, 0]).into()));
        code.store(Size::H, Register::R2, 34, reg(Register::R5));
        if flows.destination_ports {
            code.alu(AluOp::Rsh, Register::R5, Source::Imm(16));
            code.store(Size::H, Register::R2, 36, reg(Register::R5));
        }
        code.set(Register::R5, sum);
        let mut add = |from: Register, shift: i32| {
            code.mov(Register::R1, reg(from));
            code.alu(AluOp::Rsh, Register::R1, Source::Imm(shift));
            code.alu(AluOp::And, Register::R1, Source::Imm(0xffff));
            code.alu(AluOp::Add, Register::R5, reg(Register::R1));
        };
        add(number, 0);
        add(number, 16);
        if flows.destinations {
            add(hash, 0);
            add(hash, 16);
            code.store(Size::W, Register::R2, 30, reg(hash));
        }
        for _ in 0..2 {
            code.mov(Register::R1, reg(Register::R5));
            code.alu(AluOp::Rsh, Register::R1, Source::Imm(16));
            code.alu(AluOp::And, Register::R5, Source::Imm(0xffff));
            code.alu(AluOp::Add, Register::R5, reg(Register::R1));
        }
        code.alu(AluOp::Xor, Register::R5, Source::Imm(0xffff));
        code.store(Size::H, Register::R2, 24, reg(Register::R5));
        Ok(())
    })
}
