//! Statements of random programs that use a hash map, a table with known content, or random
//! numbers. The hash map is modelled in memory: each key has a number, which determines the address
//! of its element.

use super::compile::Compiler;
use super::{HANDLES, VALUES};
use proptest::prelude::*;
use slowpath_ir::{BinaryOp, BlockBuilder, BlockId, Destination, DrawId, Emit, Operand, Reg};

/// Known content of the table that random programs read.
pub const TABLE: [u8; 12] = [0, 1, 1, 4, 3, 2, 2, 2, 0, 0, 255, 1];
/// Number of possible values of a random number that a program draws.
pub const CHANCES: u64 = 4;

/// A statement that uses the hash map, the table or a random number.
#[derive(Clone, Debug)]
pub enum Element {
    /// Looks up a key of one or two register values in the hash map. The register `handle` gets a
    /// pointer to the element, or null.
    LookUp { handle: usize, a: usize, b: Option<usize> },
    /// Marks the hash map's element for a key as present or absent. The key consists of the values
    /// of registers `a` and `b`.
    Mark { a: usize, b: Option<usize>, present: bool },
    /// Reads 1 or 2 bytes of an element, unless the pointer to it is null.
    Read { dst: usize, handle: usize, bytes: u8 },
    /// Writes 1 or 2 bytes of an element, unless the pointer to it is null.
    Write { src: usize, handle: usize, bytes: u8 },
    /// Reads a byte of the table at offset `value & 15`; `a` is the register with the value.
    Table { dst: usize, a: usize },
    /// Draws a random number below [`CHANCES`].
    Draw { dst: usize },
}

pub fn element() -> impl Strategy<Value = Element> {
    let (v, h) = (|| 0..VALUES, || 0..HANDLES);
    let second = || prop_oneof![3 => Just(None), 1 => v().prop_map(Some)];
    prop_oneof![
        4 => (h(), v(), second()).prop_map(|(handle, a, b)| Element::LookUp { handle, a, b }),
        2 => (v(), second(), any::<bool>())
            .prop_map(|(a, b, present)| Element::Mark { a, b, present }),
        4 => (v(), h(), 1u8..3)
            .prop_map(|(dst, handle, bytes)| Element::Read { dst, handle, bytes }),
        3 => (v(), h(), 1u8..3)
            .prop_map(|(src, handle, bytes)| Element::Write { src, handle, bytes }),
        1 => (v(), v()).prop_map(|(dst, a)| Element::Table { dst, a }),
        1 => v().prop_map(|dst| Element::Draw { dst }),
    ]
}

/// Returns the address of a 16-byte element of the hash map. Byte 0 is set if the element is
/// present; its value begins at byte 8.
fn address(build: &mut BlockBuilder<'_>, hash: Reg, a: Reg, b: Option<Reg>) -> Operand {
    let first = build.zero_extend(a, 64);
    let mut number = build.binary(BinaryOp::Intern, first, Operand::constant(64, 0));
    if let Some(b) = b {
        let (chained, second) = (build.zero_extend(number, 64), build.zero_extend(b, 64));
        number = build.binary(BinaryOp::Intern, chained, second);
    }
    let offset = build.binary(BinaryOp::Concat, number, Operand::constant(4, 0));
    let offset = build.zero_extend(offset, 64);
    build.binary(BinaryOp::Add, hash, offset)
}

impl Compiler {
    pub(super) fn element(&mut self, element: &Element) {
        if let Element::Read { handle, .. } | Element::Write { handle, .. } = *element {
            let join = self.unless_null(handle);
            self.straight(element);
            self.finish(None, Destination::Block(BlockId::from(join)), join);
        } else {
            self.straight(element);
        }
    }

    /// Ends the current basic block with a branch that skips the next statement if the pointer is
    /// null. Returns the index of the block after this statement.
    fn unless_null(&mut self, handle: usize) -> usize {
        let (mut build, registers) = self.build();
        let handle = registers.handles[handle];
        let null = build.binary(BinaryOp::Eq, handle, Operand::constant(64, 0));
        let cond = build.temp(1);
        build.copy(cond, null);
        let (join, found) = (self.fresh(), self.fresh());
        self.finish(Some(cond), Destination::Block(BlockId::from(join)), found);
        join
    }

    fn straight(&mut self, element: &Element) {
        let (mut build, registers) = self.build();
        let value = |index: usize| registers.values[index];
        let found = |build: &mut BlockBuilder<'_>, handle: usize| {
            build.binary(BinaryOp::Add, registers.handles[handle], Operand::constant(64, 1))
        };
        match *element {
            Element::LookUp { handle, a, b } => {
                let element = address(&mut build, registers.hash, value(a), b.map(value));
                let present = build.load(element, 1);
                let absent = build.binary(BinaryOp::Eq, present, Operand::constant(8, 0));
                let content = build.binary(BinaryOp::Add, element, Operand::constant(64, 8));
                let null = Operand::constant(64, 0);
                let result = build.select(absent, null, content);
                build.copy(registers.handles[handle], result);
            }
            Element::Mark { a, b, present } => {
                let element = address(&mut build, registers.hash, value(a), b.map(value));
                build.store(element, Operand::constant(8, present.into()));
            }
            Element::Read { dst, handle, bytes } => {
                let place = found(&mut build, handle);
                let read = build.load(place, bytes);
                let read = build.zero_extend(read, 16);
                build.copy(value(dst), read);
            }
            Element::Write { src, handle, bytes } => {
                let place = found(&mut build, handle);
                let low = build.extract(value(src), 0, 8 * bytes);
                build.store(place, low);
            }
            Element::Table { dst, a } => {
                let low = build.extract(value(a), 0, 4);
                let offset = build.zero_extend(low, 32);
                let place = build.binary(BinaryOp::Add, registers.table, offset);
                let read = build.load(place, 1);
                let read = build.zero_extend(read, 16);
                build.copy(value(dst), read);
            }
            Element::Draw { dst } => {
                let drawn = build.unknown(DrawId(0), 16, 0, CHANCES - 1);
                build.copy(value(dst), drawn);
            }
        }
    }
}
