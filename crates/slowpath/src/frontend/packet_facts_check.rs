//! Restricts a program to packets for which certain facts hold. The program gets a check, without
//! cost, before its first instruction. Packets without these facts fail the check, so the analysis
//! ignores them.
//!
//! Facts about bytes do not restrict packets that are too short to have these bytes.

use slowpath_ir::{
    BinaryOp, Block, BlockBuilder, BlockId, Destination, Edge, Emit, Field, InputId, InsnIdx,
    Operand, PacketFacts, Program, RegionKind, Terminator,
};

/// Adds a check at the start of a program that makes runs impossible whose packet does not satisfy
/// `facts`. Facts about the packet length are not checked, because the front end has already
/// limited it.
pub(super) fn restrict_to_facts(program: &mut Program, facts: &PacketFacts) {
    let region = program.regions.iter().find(|region| region.kind == RegionKind::Packet);
    let (Some(region), Some(length)) = (region, program.packet_length) else { return };
    if !facts.says_more_than_length() {
        return;
    }
    let packet = region.base;
    let mut ops = Vec::new();
    let cond = {
        let width = program.inputs[length.index()].width;
        let emit = BlockBuilder::new(&mut program.regs, &mut ops, InsnIdx(0));
        let mut packet = Packet { emit, base: packet.into(), length: (length, width), facts };
        let holds = packet.all();
        let cond = packet.emit.temp(1);
        packet.emit.copy(cond, holds);
        cond
    };
    let to = |target| Edge { target, costs: Vec::new() };
    program.blocks.push(Block {
        first: InsnIdx(0),
        insns: Vec::new(),
        ops,
        costs: Vec::new(),
        terminator: Terminator::Branch {
            cond,
            taken: to(Destination::Block(program.entry)),
            fallthrough: to(Destination::Never),
        },
    });
    program.entry = BlockId::from(program.blocks.len() - 1);
    debug_assert_eq!(program.validate(), Ok(()));
}

/// Generator of the code that checks facts about the packet at the start of the program.
struct Packet<'a> {
    emit: BlockBuilder<'a>,
    /// Address of the packet's first byte, as an operand in the intermediate representation.
    base: Operand,
    /// The program's input for the packet length, and its width in bits.
    length: (InputId, u8),
    facts: &'a PacketFacts,
}

impl Packet<'_> {
    /// Emits code that checks all facts about the packet. Returns a condition that is true if they
    /// hold.
    fn all(&mut self) -> Operand {
        let PacketFacts { min_length: _, max_length: _, bits, values, equal } = self.facts;
        let mut all = Operand::constant(1, 1);
        for (&offset, bits) in bits {
            let byte = self.load(offset);
            let known =
                self.emit.binary(BinaryOp::And, byte, Operand::constant(8, bits.mask.into()));
            let same =
                self.emit.binary(BinaryOp::Eq, known, Operand::constant(8, bits.value.into()));
            all = self.and_if_present(all, offset.into(), same);
        }
        for (&field, values) in values {
            let read = self.field(field);
            let mut any = Operand::constant(1, 0);
            for &value in values {
                let value = Operand::constant(8 * field.bytes, value);
                let same = self.emit.binary(BinaryOp::Eq, read, value);
                any = self.emit.binary(BinaryOp::Or, any, same);
            }
            all = self.and_if_present(all, field.end() - 1, any);
        }
        for &(first, second) in equal {
            let (one, other) = (self.field(first), self.field(second));
            let same = self.emit.binary(BinaryOp::Eq, one, other);
            all = self.and_if_present(all, first.end().max(second.end()) - 1, same);
        }
        all
    }

    /// Emits the conjunction of `all` and `condition`, where `condition` concerns the packet byte
    /// at `offset`. For packets without this byte, the result is `all`.
    fn and_if_present(&mut self, all: Operand, offset: usize, condition: Operand) -> Operand {
        let mut condition = condition;
        if offset >= usize::from(self.facts.min_length) {
            let (input, width) = self.length;
            // The length cannot express this offset, so no packet has a byte there.
            if (offset as u64).checked_shr(width.into()).unwrap_or(0) != 0 {
                return all;
            }
            let length = self.emit.input(input, width);
            let offset = Operand::constant(width, offset as u64);
            let present = self.emit.binary(BinaryOp::Ult, offset, length);
            let short = self.emit.not(present);
            condition = self.emit.binary(BinaryOp::Or, short, condition);
        }
        self.emit.binary(BinaryOp::And, all, condition)
    }

    /// Emits code that loads the value of a packet field, in network byte order.
    fn field(&mut self, field: Field) -> Operand {
        let mut value = self.load(field.offset);
        for byte in 1..field.bytes {
            let next = self.load(field.offset + u16::from(byte));
            value = self.emit.binary(BinaryOp::Concat, value, next);
        }
        value
    }

    /// Emits code that loads the packet byte at an offset.
    fn load(&mut self, offset: u16) -> Operand {
        let width = self.emit.width(self.base);
        let offset = Operand::constant(width, offset.into());
        let address = self.emit.binary(BinaryOp::Add, self.base, offset);
        self.emit.load(address, 1)
    }
}

#[cfg(test)]
mod tests;
