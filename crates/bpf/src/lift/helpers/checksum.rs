//! `bpf_csum_diff` (`net/core/filter.c`).

use slowpath_ir::{BinaryOp, Emit, Operand, Reading};

use crate::lift::emit::{Emitter, errno, word};
use crate::lift::error::Cause;
use crate::lift::frame::Place;
use crate::lift::lifter::Lifter;
use crate::lift::value::Known;

const EINVAL: i64 = 22;

/// `bpf_csum_diff(from, from_size, to, to_size, seed)`: the difference of two ones' complement
/// sums of 32-bit words plus a seed, folded to 16 bits (since Linux 6.13; the last word is filled up
/// with zeros).
///
/// Sums of 32-bit words with end-around carry are what `csum_partial` computes on every
/// architecture: in 64 or 32 bits, a sum that is not zero is represented the same.
pub(super) fn diff(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let sizes = (lifter.constant_size(2), lifter.constant_size(4));
    let (Ok(from_size), Ok(to_size)) = sizes else {
        // Sizes that are computed: any sum is possible.
        let sum = lifter.machine.emit.draw("the sum", Reading::Number, 64, 0xffff);
        let failed = lifter.machine.emit.coin("whether it fails", &["no", "yes: -EINVAL"]);
        let result = lifter.machine.emit.select(failed, errno(EINVAL), sum);
        lifter.result(result, Known::NoStack);
        return Ok(());
    };
    let (from, to) = (lifter.machine.value(1), lifter.machine.value(3));
    let r5 = lifter.machine.value(5);
    let seed = lifter.machine.emit.extract(r5, 0, 32);
    let sum = match (from_size, to_size) {
        (0, 0) => seed,
        (0, _) => partial(&mut lifter.machine.emit, to, to_size, seed),
        (_, 0) => {
            let emit = &mut lifter.machine.emit;
            let seed = emit.not(seed);
            let sum = partial(emit, from, from_size, seed);
            emit.not(sum)
        }
        _ => {
            let emit = &mut lifter.machine.emit;
            let added = partial(emit, to, to_size, seed);
            let removed = partial(emit, from, from_size, Operand::constant(32, 0));
            let removed = emit.not(removed);
            let (added, removed) = (emit.zero_extend(added, 64), emit.zero_extend(removed, 64));
            let sum = emit.add(added, removed);
            fold(emit, sum, 32)
        }
    };
    let emit = &mut lifter.machine.emit;
    let (low, high) = (emit.extract(sum, 0, 16), emit.extract(sum, 16, 16));
    let (low, high) = (emit.zero_extend(low, 64), emit.zero_extend(high, 64));
    let sum = emit.add(low, high);
    let folded = fold(emit, sum, 16);
    let result = emit.zero_extend(folded, 64);
    lifter.result(result, Known::NoStack);
    Ok(())
}

/// The sum of 32-bit words in memory and a seed, with end-around carry.
fn partial(emit: &mut Emitter, address: Operand, bytes: u32, seed: Operand) -> Operand {
    let mut sum = emit.zero_extend(seed, 64);
    for offset in (0..bytes).step_by(4) {
        let at = emit.add(address, word(offset.into()));
        let next = emit.load(at, (bytes - offset).min(4) as u8);
        let next = emit.zero_extend(next, 64);
        sum = emit.add(sum, next);
    }
    fold(emit, sum, 32)
}

/// Adds what is above the low `bits` to them until nothing is.
fn fold(emit: &mut Emitter, mut sum: Operand, bits: u8) -> Operand {
    let mask = word((1 << bits) - 1);
    for _ in 0..2 {
        let high = emit.binary(BinaryOp::Lshr, sum, word(bits.into()));
        let low = emit.and(sum, mask);
        sum = emit.add(low, high);
    }
    emit.extract(sum, 0, bits)
}
