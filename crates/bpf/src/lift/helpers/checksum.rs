//! Lifts the helper `bpf_csum_diff` (`net/core/filter.c`).

use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::RETURNED;
use crate::lift::ir::emit::{Emitter, word};
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Size in bytes of the data that a checksum adds up.
#[derive(Clone, Copy)]
enum Size {
    Constant(u32),
    /// A size known only at run time, as a 64-bit operand, with an upper bound.
    UpTo(Operand, u32),
}

impl Size {
    fn most(self) -> u32 {
        match self {
            Size::Constant(bytes) | Size::UpTo(_, bytes) => bytes,
        }
    }

    /// Returns true if the size is known not to be zero, false if it is known to be zero, and
    /// `None` otherwise.
    fn any(self) -> Option<bool> {
        match self {
            Size::Constant(bytes) => Some(bytes > 0),
            Size::UpTo(..) => None,
        }
    }
}

/// Lifts `bpf_csum_diff(from, from_size, to, to_size, seed)`. The helper subtracts one ones'
/// complement sum of 32-bit words from another and adds a seed. As in Linux since 6.13, the result
/// is folded to 16 bits. Sizes need not be multiples of 4; the last word is padded with zeros.
///
/// Architectures may sum in 64 or 32 bits (`csum_partial`), always with end-around carry. Apart
/// from zero, the result does not depend on the width.
pub(super) fn diff(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let (Some(from_size), Some(to_size)) = (size(lifter, 1, 2), size(lifter, 3, 4)) else {
        lifter.ir.emit.computed = true;
        let sum = lifter.ir.emit.draw(RETURNED, ValueFormat::Number, 64, 0xffff);
        lifter.result(sum, AbstractValue::NotStack);
        return Ok(());
    };
    let (from, to) = (lifter.ir.value(1), lifter.ir.value(3));
    let r5 = lifter.ir.value(5);
    let emit = &mut lifter.ir.emit;
    let seed = emit.extract(r5, 0, 32);
    // Depending on the sizes that are zero, the kernel computes one of three sums.
    let sum = match (from_size.any(), to_size.any()) {
        (Some(false), _) => partial(emit, to, to_size, seed),
        (Some(true), Some(false)) => removed(emit, from, from_size, seed),
        (Some(true), Some(true)) => both(emit, (from, from_size), (to, to_size), seed),
        _ => {
            let from_any = present(emit, from_size);
            let to_any = present(emit, to_size);
            let added = partial(emit, to, to_size, seed);
            let difference = both(emit, (from, from_size), (to, to_size), seed);
            let less = removed(emit, from, from_size, seed);
            let sum = emit.select(to_any, difference, less);
            emit.select(from_any, sum, added)
        }
    };
    let (low, high) = (emit.extract(sum, 0, 16), emit.extract(sum, 16, 16));
    let (low, high) = (emit.zero_extend(low, 64), emit.zero_extend(high, 64));
    let sum = emit.add(low, high);
    let folded = fold(emit, sum, 16);
    let result = emit.zero_extend(folded, 64);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Returns the size of the memory at the address in the argument register `address`. The size is in
/// the register `register`. Returns `None` if it is neither constant nor small.
fn size(lifter: &mut Lifter<'_>, address: u8, register: u8) -> Option<Size> {
    /// Maximum number of bytes if the size is not constant.
    const SMALL: u32 = 128;
    if let Ok(bytes) = lifter.constant_size(register) {
        return Some(Size::Constant(bytes));
    }
    let room = lifter.room_at(address).filter(|&room| room <= SMALL)?;
    let bytes = lifter.ir.value(register);
    let emit = &mut lifter.ir.emit;
    let low = emit.extract(bytes, 0, 32);
    Some(Size::UpTo(emit.zero_extend(low, 64), room))
}

/// Returns a 1-bit operand that is set if the size is not zero.
fn present(emit: &mut Emitter, size: Size) -> Operand {
    match size {
        Size::Constant(bytes) => Operand::constant(1, (bytes > 0).into()),
        Size::UpTo(bytes, _) => {
            let none = emit.eq(bytes, word(0));
            emit.not(none)
        }
    }
}

/// Returns the seed minus the sum of the bytes at `from`.
fn removed(emit: &mut Emitter, from: Operand, size: Size, seed: Operand) -> Operand {
    let seed = emit.not(seed);
    let sum = partial(emit, from, size, seed);
    emit.not(sum)
}

/// Returns the seed plus the sum of the bytes at `to`, minus the sum of the bytes at `from`.
fn both(
    emit: &mut Emitter,
    (from, from_size): (Operand, Size),
    (to, to_size): (Operand, Size),
    seed: Operand,
) -> Operand {
    let sum_to = partial(emit, to, to_size, seed);
    let sum_from = partial(emit, from, from_size, Operand::constant(32, 0));
    let sum_from = emit.not(sum_from);
    let (sum_to, sum_from) = (emit.zero_extend(sum_to, 64), emit.zero_extend(sum_from, 64));
    let sum = emit.add(sum_to, sum_from);
    fold(emit, sum, 32)
}

/// Returns the seed plus the sum of the 32-bit words at an address, with end-around carry.
fn partial(emit: &mut Emitter, address: Operand, size: Size, seed: Operand) -> Operand {
    let mut sum = emit.zero_extend(seed, 64);
    let most = size.most();
    for offset in (0..most).step_by(4) {
        let at = emit.add(address, word(offset.into()));
        let bytes = (most - offset).min(4) as u8;
        let next = emit.load(at, bytes);
        let mut next = emit.zero_extend(next, 64);
        if let Size::UpTo(size, _) = size {
            next = inside(emit, next, u64::from(offset), (size, bytes));
        }
        sum = emit.add(sum, next);
    }
    fold(emit, sum, 32)
}

/// Clears the bytes of `value` that lie after the end of the data. `value` consists of the `bytes`
/// bytes of memory from offset `offset` on, and the data ends at offset `size`.
fn inside(
    emit: &mut Emitter,
    value: Operand,
    offset: u64,
    (size, bytes): (Operand, u8),
) -> Operand {
    let is_inside = emit.ult(word(offset), size);
    let value = emit.select(is_inside, value, word(0));
    (1..u64::from(bytes)).fold(value, |value, kept| {
        let ends = emit.eq(size, word(offset + kept));
        let low = emit.and(value, word((1 << (8 * kept)) - 1));
        emit.select(ends, low, value)
    })
}

/// Folds a sum to `bits` bits by adding the higher bits to the lower ones.
fn fold(emit: &mut Emitter, mut sum: Operand, bits: u8) -> Operand {
    // Two rounds suffice: for a few thousand words, the first carry is less than 2^16, the second
    // at most 1.
    let mask = word((1 << bits) - 1);
    for _ in 0..2 {
        let high = emit.binary(BinaryOp::Lshr, sum, word(bits.into()));
        let low = emit.and(sum, mask);
        sum = emit.add(low, high);
    }
    emit.extract(sum, 0, bits)
}
