//! Emits memory copies, each of which replaces several loads and stores: one read, then one or two
//! writes. The loaded register must also get the value of the last load that the copy replaces
//! (`nfp_cpp_memcpy` of the driver).

use slowpath_bpf::insn::{Register, Size};

use super::assembler::{Assembler, Dst, IMM_B, a, xfer};
use super::packet::{element, length_override};
use super::pair::pair;
use crate::codegen::annotated::Copy;
use crate::{Address, MemCommand};

/// Largest number of bytes that a memory command can transfer without `indirect_ref`, which takes
/// the length from the previous ALU result.
const DIRECT: u8 = 32;

/// Emits a copy of `copy.length` bytes, starting at `base` plus `offset`. `size` is the size of the
/// loads that the copy replaces, and `dst` is their destination. `from_element` is true if the
/// bytes come from a map element.
pub(super) fn copy(
    asm: &mut Assembler,
    copy: Copy,
    (size, dst): (Size, Register),
    (base, offset): (Register, i16),
    from_element: bool,
) {
    let Copy { length, descending, to, to_offset } = copy;
    let words = length.div_ceil(4);
    let offset = asm.restricted(i32::from(offset) as u32, IMM_B);
    let from = if from_element {
        element(asm, base, offset)
    } else {
        Address::Sram(a(pair(base)), offset)
    };
    let indirect = length > DIRECT;
    if indirect {
        asm.constant(Dst::None, length_override(words));
    }
    asm.mem(MemCommand::Read32Swap, 0, from, words, indirect);
    for word in 0..words {
        asm.mov(xfer(word), xfer(word));
    }
    write(asm, length, pair(to), to_offset);
    last_loaded(asm, length, descending, size, pair(dst));
}

fn write(asm: &mut Assembler, length: u8, base: u8, offset: i16) {
    use MemCommand::{Write8Swap, Write32Swap};
    let words = length.div_ceil(4);
    let rest = length % 4;
    let at = |asm: &mut Assembler, offset: i32| {
        let offset = asm.restricted(offset as u32, IMM_B);
        Address::Sram(a(base), offset)
    };
    let first = i32::from(offset);
    let to = at(asm, first);
    match length {
        0..=8 => asm.mem(Write8Swap, 0, to, length, false),
        9..=DIRECT if rest == 0 => asm.mem(Write32Swap, 0, to, words, false),
        9..=DIRECT => {
            asm.constant(Dst::None, length_override(length));
            asm.mem(Write8Swap, 0, to, length, true);
        }
        _ if rest == 0 => {
            asm.constant(Dst::None, length_override(words));
            asm.mem(Write32Swap, 0, to, words, true);
        }
        33..=40 => {
            asm.mem(Write32Swap, 0, to, 8, false);
            let to = at(asm, first + 32);
            asm.mem(Write8Swap, 8, to, length - 32, false);
        }
        _ => {
            let whole = words - 1;
            asm.constant(Dst::None, length_override(whole));
            asm.mem(Write32Swap, 0, to, whole, true);
            // The driver truncates this offset to a byte.
            let to = at(asm, i32::from((first + 4 * i32::from(whole)) as u8));
            asm.mem(Write8Swap, whole, to, rest, false);
        }
    }
}

/// Emits code that sets the loaded register to the value of the last replaced load, in the same way
/// as the driver.
fn last_loaded(asm: &mut Assembler, length: u8, descending: bool, size: Size, dst: u8) {
    let words = length.div_ceil(4);
    let first = match (descending, size) {
        (true, _) => 0,
        (false, Size::DW) => words.saturating_sub(2),
        (false, _) => words - 1,
    };
    let low = Dst::Both(dst);
    let rest = length % 4;
    match size {
        Size::B => {
            let from = if rest == 0 { 3 } else { rest - 1 };
            asm.subpart(low, xfer(first), 1, from);
        }
        Size::H => asm.subpart(low, xfer(first), 2, rest ^ 2),
        Size::W => asm.mov(low, xfer(0)),
        Size::DW => {
            asm.mov(low, xfer(first));
            asm.mov(Dst::Both(dst + 1), xfer(first + 1));
            return;
        }
    }
    asm.constant(Dst::Both(dst + 1), 0);
}
