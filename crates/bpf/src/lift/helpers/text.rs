//! Lifts the helper that compares texts (`bpf_strncmp` of `kernel/bpf/helpers.c`, `strncmp` of
//! `lib/string.c`).

use slowpath_ir::{Emit, ValueFormat};

use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::RETURNED;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Lifts `bpf_strncmp(bytes, size, text)`. The result is zero if both texts are equal. Otherwise it
/// has the sign of the difference of the first bytes that differ: 1, -1, or, on some architectures,
/// the difference itself.
pub(super) fn compare(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let (Ok(size), Some(text)) = (lifter.constant_size(2), constant_text(lifter, 3)) else {
        // The verifier accepts only constant texts; here the size depends on the packet.
        lifter.ir.emit.computed = true;
        let result = lifter.ir.emit.draw(RETURNED, ValueFormat::Signed, 64, u64::MAX);
        lifter.result(result, AbstractValue::NotStack);
        return Ok(());
    };
    let bytes = lifter.ir.value(1);
    let whole = lifter.ir.emit.unknown_bit("result", &["sign", "difference"]);
    let emit = &mut lifter.ir.emit;
    let mut result = word(0);
    let compared: Vec<(u64, u8)> = (0..u64::from(size)).zip(text).collect();
    for &(offset, expected) in compared.iter().rev() {
        let address = emit.add(bytes, word(offset));
        let byte = emit.load(address, 1);
        let byte = emit.zero_extend(byte, 64);
        let expected = word(expected.into());
        let same = emit.eq(byte, expected);
        let less = emit.ult(byte, expected);
        let sign = emit.select(less, word(u64::MAX), word(1));
        let difference = emit.sub(byte, expected);
        let differs = emit.select(whole, difference, sign);
        result = emit.select(same, result, differs);
    }
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Returns the text at the address in an argument register, with its final NUL. Returns `None` if
/// the text is not constant.
fn constant_text(lifter: &Lifter<'_>, register: usize) -> Option<Vec<u8>> {
    let AbstractValue::Data { map, offset: Some(offset) } = lifter.state.regs[register] else {
        return None;
    };
    let map = lifter.object.maps.get(map as usize)?;
    let mut text = Vec::new();
    for at in u64::try_from(offset).ok()?.. {
        let byte = *map.constant_bytes(at, 1)?.first()?;
        text.push(byte);
        if byte == 0 {
            return Some(text);
        }
    }
    None
}
