//! Finds out how `bpf_trace_printk` and `bpf_trace_vprintk` print their arguments: as values, or as
//! memory that they point to. This depends on the format (`bpf_bprintf_prepare` of
//! `kernel/bpf/helpers.c`, Linux 6.18). When two programs are compared, their calls are recorded
//! with the printed data.

use std::collections::BTreeSet;

use slowpath_ir::{Emit, Operand};

use crate::insn::Insn;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Characters that may occur between a percent sign and the conversion specifier.
const BETWEEN: &[u8] = b"0123456789-+ .lh#";
/// Conversion specifiers that print the argument as a number or character.
const NUMBERS: &[u8] = b"diuxXc";

/// The way in which a conversion of the format prints an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrintedArgument {
    /// Printed as a value: a number or an address.
    Value,
    /// A pointer to this many bytes of memory, which are printed.
    Memory(u32),
    /// A pointer to a text, which is printed.
    Text,
}

/// Returns, in order, the way in which a format prints each argument; `None` if the format contains
/// an unknown conversion.
pub(super) fn printed_arguments(format: &[u8]) -> Option<Vec<PrintedArgument>> {
    let text = format.split(|&byte| byte == 0).next()?;
    let mut bytes = text.iter().copied().peekable();
    let mut all = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        match bytes.find(|byte| !BETWEEN.contains(byte))? {
            b'%' => {}
            b's' => all.push(PrintedArgument::Text),
            b'p' => all.push(match bytes.peek() {
                None | Some(b'K' | b'x' | b's' | b'S') => PrintedArgument::Value,
                Some(other) if !other.is_ascii_alphanumeric() => PrintedArgument::Value,
                Some(b'i' | b'I') => {
                    bytes.next();
                    match bytes.next()? {
                        b'4' => PrintedArgument::Memory(4),
                        b'6' => PrintedArgument::Memory(16),
                        _ => return None,
                    }
                }
                Some(_) => return None,
            }),
            byte if NUMBERS.contains(&byte) => all.push(PrintedArgument::Value),
            _ => return None,
        }
    }
    Some(all)
}

/// Properties of a format string that is known only at run time.
pub(super) struct RuntimeFormat {
    /// Number of arguments that the format prints, as a 64-bit value.
    pub count: Operand,
    /// Set if the format may print memory that an argument points to.
    pub prints_memory: Operand,
}

impl Lifter<'_> {
    /// Returns the format string that the first two arguments (address and size) pass, if it is
    /// constant data.
    pub(super) fn constant_format(&self) -> Option<&[u8]> {
        let start = self.constant_data(1)?;
        let size = usize::try_from(self.constant_size(2).ok()?).ok()?;
        start.get(..size)
    }

    /// Returns the data from an argument's address to the end of its map; `None` unless the data is
    /// constant.
    pub(super) fn constant_data(&self, register: u8) -> Option<&[u8]> {
        let known = self.state.regs[usize::from(register)];
        let AbstractValue::Data { map, offset: Some(offset) } = known else { return None };
        self.object.maps.get(map as usize)?.constant()?.get(usize::try_from(offset).ok()?..)
    }

    /// Returns the number of consecutive registers, from `first` on, to which the block has written
    /// before the current instruction. Later registers may be uninitialised.
    pub(super) fn registers_set(&self, first: u8) -> u64 {
        let unit = self.unit(self.at);
        let insns = &self.code.program(unit).insns;
        let mut set = BTreeSet::new();
        let mut slot = self.at.slot;
        while slot > 0 && !self.code.is_leader(unit, slot) {
            slot -= 1;
            match insns.get(slot) {
                Some(
                    Insn::Alu { dst, .. } | Insn::Load { dst, .. } | Insn::LoadImm64 { dst, .. },
                ) => {
                    set.insert(dst.number());
                }
                Some(Insn::Call(_)) => break,
                _ => {}
            }
        }
        (first..).take_while(|register| set.contains(register)).count() as u64
    }

    /// Emits code that parses a format byte by byte at run time, and returns the results of
    /// parsing.
    pub(super) fn parse_format(&mut self, format: &[Operand]) -> RuntimeFormat {
        let no = Operand::constant(1, 0);
        let (mut count, mut prints_memory, mut open) = (word(0), no, no);
        for &byte in format {
            let between = self.one_of_bytes(byte, BETWEEN);
            let number = self.one_of_bytes(byte, NUMBERS);
            let emit = &mut self.ir.emit;
            let percent = emit.eq(byte, Operand::constant(8, b'%'.into()));
            let closed = emit.not(open);
            let begin = emit.and(closed, percent);
            let continues = emit.and(open, between);
            let other = emit.not(between);
            let ends = emit.and(open, other);
            let counts = emit.and(ends, number);
            let increment = emit.zero_extend(counts, 64);
            count = emit.add(count, increment);
            let known = emit.or(number, percent);
            let unknown = emit.not(known);
            let unknown = emit.and(ends, unknown);
            prints_memory = emit.or(prints_memory, unknown);
            open = emit.or(begin, continues);
        }
        RuntimeFormat { count, prints_memory }
    }

    fn one_of_bytes(&mut self, byte: Operand, bytes: &[u8]) -> Operand {
        let emit = &mut self.ir.emit;
        let mut any = Operand::constant(1, 0);
        for &candidate in bytes {
            let same = emit.eq(byte, Operand::constant(8, candidate.into()));
            any = emit.or(any, same);
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PrintedArgument::{Memory, Text, Value};

    #[test]
    fn formats_determine_arguments() {
        let known: [(&[u8], &[PrintedArgument]); 9] = [
            (b"plain\0", &[]),
            (b"100%%\0", &[]),
            (b"%d %5lu %-08llx%c\n\0", &[Value; 4]),
            (b"%s is %s", &[Text, Text]),
            (b"%p, %px %pK %pS %p", &[Value; 5]),
            (b"%pI4 %pi6 %d", &[Memory(4), Memory(16), Value]),
            (b"%d\0%s", &[Value]),
            (b"%%d%u", &[Value]),
            (b"", &[]),
        ];
        for (format, expected) in known {
            let found = printed_arguments(format);
            assert_eq!(found.as_deref(), Some(expected), "{}", format.escape_ascii());
        }
        for unknown in [&b"%"[..], b"%f", b"%pI5", b"%pi", b"%pks", b"%lh"] {
            assert_eq!(printed_arguments(unknown), None, "{}", unknown.escape_ascii());
        }
    }
}
