//! Emits loads and stores of packet bytes, loads of map elements, and atomic additions
//! (`mem_ldx_data*`, `mem_ldx_emem`, `data_ld_host_order*`, `data_st*_host_order` of the Linux NFP
//! driver). The memory commands transfer little-endian words.

use slowpath_bpf::insn::{Register, Size};

use super::assembler::{ADDRESS_A, Assembler, Dst, IMM_A, IMM_B, a, b, imm, xfer};
use super::pair::{pair, zero_extend};
use crate::codegen::annotated::{AnnotatedInsn, PacketCache};
use crate::{Address, AluOp, MemCommand, Operand};

/// Size of a word of the SmartNIC in bytes.
const WORD: u8 = 4;
/// Largest number of words that a memory command can transfer without `indirect_ref`, which takes
/// the length from the previous ALU result.
const DIRECT_WORDS: u8 = 8;

/// Returns the ALU result that overrides the length of the next memory command. Bit 7 enables the
/// override, and bits 8 to 12 are the count minus one (`CMD_OVE_LEN`, `CMD_OV_LEN`).
pub(super) fn length_override(count: u8) -> u32 {
    1 << 7 | u32::from(count.wrapping_sub(1) & 0x1f) << 8
}

/// Emits a load of packet bytes, from memory or from transfer registers that an earlier read
/// filled.
pub(super) fn load(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    size: Size,
    dst: Register,
    base: Register,
    offset: i16,
) {
    match insn.cache {
        // As in the driver, a range whose end offset is 0 is not cached.
        Some(cache) if cache.end != 0 => {
            if cache.fetches {
                fetch(asm, base, cache);
            }
            cached(asm, insn, size, dst, offset.wrapping_sub(cache.start) as u8);
        }
        _ => {
            let offset = asm.restricted(i32::from(offset) as u32, IMM_B);
            let address = Address::Sram(a(pair(base)), offset);
            host_order(asm, insn, size, dst, address);
        }
    }
}

/// Emits a load from an element of a map.
pub(super) fn load_element(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    size: Size,
    dst: Register,
    base: Register,
    offset: i16,
) {
    let offset = asm.restricted(i32::from(offset) as u32, IMM_B);
    let address = element(asm, base, offset);
    host_order(asm, insn, size, dst, address);
}

/// Emits code that computes the 40-bit address of a map element plus an offset (`addr40_offset`).
pub(super) fn element(asm: &mut Assembler, base: Register, offset: Operand) -> Address {
    let low = pair(base);
    if offset == imm(0) {
        return Address::Dram(b(low + 1), a(low));
    }
    asm.alu(IMM_A, a(low), AluOp::Add, offset);
    asm.alu(IMM_B, b(low + 1), AluOp::AddCarry, imm(0));
    Address::Dram(IMM_B, IMM_A)
}

fn host_order(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    size: Size,
    dst: Register,
    address: Address,
) {
    let (number, count) = (pair(dst), size.bytes());
    asm.mem(MemCommand::Read32Swap, 0, address, count.div_ceil(WORD), false);
    match size {
        Size::DW => {
            asm.mov(Dst::Both(number), xfer(0));
            asm.mov(Dst::Both(number + 1), xfer(1));
            return;
        }
        Size::W => asm.mov(Dst::Both(number), xfer(0)),
        _ => asm.subpart(Dst::Both(number), xfer(0), count, 0),
    }
    zero_extend(asm, insn, number);
}

/// Emits one read that fetches the packet bytes of a group of loads.
fn fetch(asm: &mut Assembler, base: Register, cache: PacketCache) {
    let offset = asm.restricted(i32::from(cache.start) as u32, IMM_B);
    let length = cache.end.wrapping_sub(cache.start) as u8;
    let words = length.div_ceil(WORD);
    let indirect = length > DIRECT_WORDS * WORD;
    if indirect {
        asm.constant(Dst::None, length_override(words));
    }
    let address = Address::Sram(a(pair(base)), offset);
    asm.mem(MemCommand::Read32Swap, 0, address, words, indirect);
}

/// Emits a load of packet bytes that an earlier read has put into transfer registers. `from` is the
/// index of the first loaded byte in these registers.
fn cached(asm: &mut Assembler, insn: &AnnotatedInsn, size: Size, dst: Register, from: u8) {
    let (low, high) = (Dst::Both(pair(dst)), Dst::Both(pair(dst) + 1));
    let (count, first, skipped) = (size.bytes(), from / WORD, from % WORD);
    let word = |number: u8| xfer(first + number);
    if skipped == 0 {
        match size {
            Size::DW => {
                asm.mov(low, word(0));
                asm.mov(high, word(1));
                return;
            }
            Size::W => asm.mov(low, word(0)),
            _ => asm.subpart(low, word(0), count, 0),
        }
        zero_extend(asm, insn, pair(dst));
        return;
    }
    // The value spans up to three words: the end of the first, the second, the beginning of the
    // third.
    let in_first = count.min(WORD - skipped);
    asm.subpart(low, word(0), in_first, skipped);
    if count <= WORD {
        if count > in_first {
            asm.or_subpart(low, word(1), count - in_first, in_first);
        }
        zero_extend(asm, insn, pair(dst));
        return;
    }
    let rest = WORD - in_first;
    asm.or_subpart(low, word(1), rest, in_first);
    asm.subpart(high, word(1), in_first, rest);
    asm.or_subpart(high, word(2), rest, in_first);
}

pub(super) fn store(asm: &mut Assembler, size: Size, base: Register, offset: i16, src: Register) {
    let offset = asm.restricted(i32::from(offset) as u32, IMM_B);
    let words = size.bytes().div_ceil(WORD);
    for word in 0..words {
        asm.mov(xfer(word), a(pair(src) + word));
    }
    let address = Address::Sram(a(pair(base)), offset);
    asm.mem(MemCommand::Write8Swap, 0, address, size.bytes(), false);
}

/// Emits an atomic addition to a word of a map element (`mem_xadd`). If the added value is known to
/// have at most 16 bits, the memory command contains the value. If the value is known to be larger,
/// transfer registers hold it. Otherwise, the emitted code chooses at run time.
pub(super) fn add(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    size: Size,
    base: Register,
    offset: i16,
    src: Register,
) {
    use super::assembler::{ADDRESS_B, Label};
    use crate::{BranchCondition, Insn};
    const HALF: u64 = 0xffff;
    /// Value for bits 3 to 5 of the operand of `indirect_ref`. With it, the upper half word of this
    /// operand is the number to add.
    const DATA: u32 = 2 << 3;
    /// Count field of the operand of `indirect_ref` for an addition of 4 bytes. If bit 2 of the
    /// count is also set, the addition has 8 bytes.
    const COUNT_4: u32 = 8;
    let double = size == Size::DW;
    let (value, unknown) = insn.bounds.src.map_or((0, u64::MAX), |src| {
        let known = src.zeros() | src.ones();
        (src.ones(), !known)
    });
    let over = value > HALF || unknown > HALF;
    let maybe = value <= HALF;
    let (base, src) = (pair(base), pair(src));
    let offset_value = i32::from(offset) as u32;
    let offset_operand = asm.operand(offset_value, IMM_B);
    let with_offset = |asm: &mut Assembler| {
        if offset == 0 {
            return Address::Dram(b(base + 1), a(base));
        }
        asm.alu(ADDRESS_A, a(base), AluOp::Add, offset_operand);
        asm.alu(ADDRESS_B, a(base + 1), AluOp::AddCarry, imm(0));
        Address::Dram(ADDRESS_B, ADDRESS_A)
    };
    let address_insns = if offset == 0 { 0 } else { 2 };
    let words = if double { 2 } else { 1 };
    // Order of the code: decision, address, 16-bit addition, branch over the wider addition.
    let full = asm.here() + 4 + address_insns + 4;
    let behind = full + 1 + words;
    if maybe && over {
        asm.constant(IMM_A, HALF as u32);
        asm.alu(Dst::None, IMM_A, AluOp::Sub, b(src));
        asm.alu(Dst::None, imm(0), AluOp::SubCarry, b(src + 1));
        let defer = address_insns as u8;
        asm.branch(BranchCondition::CarryClear, Label::Insn(full), defer);
    }
    let address = with_offset(asm);
    if maybe {
        let count = COUNT_4 | u32::from(double) << 2;
        asm.constant(IMM_A, DATA | 1 << 7 | count << 8);
        asm.or_subpart(IMM_A, b(src), 2, 2);
        asm.push(Insn::Mem {
            command: MemCommand::AddImm,
            xfer: 0,
            address,
            count: 1,
            indirect: true,
            signal: None,
            defer: 0,
        });
        if over {
            asm.branch(BranchCondition::Always, Label::Insn(behind), 0);
        }
    }
    if over {
        asm.push(Insn::Mem {
            command: MemCommand::Add,
            xfer: 0,
            address,
            count: if double { 5 } else { 1 },
            indirect: false,
            signal: Some(1),
            defer: words as u8,
        });
        for word in 0..words as u8 {
            asm.mov(xfer(word), a(src + word));
        }
    }
}
