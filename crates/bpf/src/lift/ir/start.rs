//! Sets up the state before the first instruction: the context, the packet, and the counters that
//! helpers use.

use slowpath_ir::{BinaryOp, Emit, InputId, InputKind, Op, Operand, OriginOp, Reg};

use crate::context::{Access, Content, FirstByte, ProgramType};
use crate::lift::ir::builder::{IrBuilder, StartValue};
use crate::lift::ir::emit::word;
use crate::lift::receive::{
    BEHIND_LINEAR, BEHIND_LONGEST, LARGEST, MAX_METADATA, METADATA_SUPPORT, METADATA_WORDS, Receive,
};

/// Maximum length of metadata in bytes.
pub(in crate::lift) const METADATA: u64 = MAX_METADATA as u64;

impl IrBuilder {
    /// Returns the register with this name, and records its value at the start of a run.
    pub fn start(&mut self, name: &str, width: u8, value: StartValue) -> Reg {
        let reg = self.extra(name, width);
        self.started.insert(reg, value);
        reg
    }

    /// Returns the register with this name, which is zero at the start of a run.
    pub fn start_zero(&mut self, name: &str, width: u8) -> Reg {
        self.start(name, width, StartValue::Zero)
    }

    /// Returns the register with this name. At the start of a run, it contains an unknown value of
    /// at most `max`. Also returns the input that stands for this value.
    pub fn start_unknown(&mut self, name: &str, width: u8, max: u64) -> (Reg, InputId) {
        let input = self.input(&format!("{name} at the start"), width, 0, max, InputKind::Unknown);
        (self.start(name, width, StartValue::Unknown(input)), input)
    }

    /// Returns the length in bytes of the metadata of a received packet. The length is unknown and
    /// ranges from `words.0` to `words.1` words of 4 bytes.
    pub fn metadata(&mut self, words: (u64, u64)) -> Operand {
        let (least, most) = words;
        if least == most {
            return word(4 * most);
        }
        let words = self.input(METADATA_WORDS, 6, least, most, InputKind::Unknown);
        let words = self.emit.unknown_input(words, 6);
        let words = self.emit.zero_extend(words, 64);
        self.emit.binary(BinaryOp::Shl, words, word(2))
    }

    /// Returns the length of a packet that may be longer than packets in the model. `length` is the
    /// length in the model. If this is the maximum, the actual length can be up to [`LARGEST`]
    /// bytes.
    fn oversized(&mut self, length: Operand) -> Operand {
        let longest = u64::from(u16::MAX);
        let more = self.input(BEHIND_LONGEST, 64, 0, LARGEST - longest, InputKind::Unknown);
        let more = self.emit.unknown_input(more, 64);
        let sum = self.emit.add(word(longest), more);
        let is_longest = self.emit.eq(length, word(longest));
        self.emit.select(is_longest, sum, length)
    }

    /// Returns the size in bytes of the linear part of a packet, which programs can access
    /// directly. `length` is the length of the packet in bytes.
    fn linear(&mut self, length: Operand) -> Operand {
        let behind = self.input(BEHIND_LINEAR, 64, 0, LARGEST, InputKind::Unknown);
        let behind = self.emit.unknown_input(behind, 64);
        let some = self.emit.ult(behind, length);
        let rest = self.emit.sub(length, behind);
        self.emit.select(some, rest, word(0))
    }

    /// Returns the operations before the first instruction of a program of the type `row`, for
    /// packets with the properties `receive`. Also returns the input that stands for the packet's
    /// length.
    pub fn prologue(&mut self, row: &ProgramType, receive: Receive) -> (Vec<OriginOp>, InputId) {
        let (min, max) = (u64::from(receive.length.0), u64::from(receive.length.1));
        let words = receive.packet_environment().words();
        let length = self.input("packet length", 64, min, max, InputKind::PacketLength);
        let numbers: Vec<(u64, InputId, u8)> = row
            .fields
            .iter()
            .filter_map(|field| {
                let Content::Number(least, most) = field.content else { return None };
                if row.access(field) == Access::Never {
                    return None;
                }
                // Packets of some sockets have no device, and `ifindex` is 0.
                let least = if row.first == FirstByte::Link { least } else { 0 };
                let width = 8 * field.bytes;
                let input = self.input(field.name, width, least, most, InputKind::Unknown);
                Some((field.offset, input, width))
            })
            .collect();
        let mut ops = self.bases();
        self.emit.begin_block();
        let packet = self.base(self.packet);
        let bytes = self.emit.unknown_input(length, 64);
        let whole = match row.length() {
            Some(_) if max == u16::MAX.into() => self.oversized(bytes),
            _ => bytes,
        };
        let bytes = match row.length() {
            Some(_) if receive.fragments => self.linear(whole),
            Some(_) => whole,
            None => bytes,
        };
        let end = self.emit.add(packet, bytes);
        let context = self.base(self.context);
        let meta = match self.metadata(words) {
            Operand::Const { value: 0, .. } => packet,
            bytes => self.emit.sub(packet, bytes),
        };
        // Packets of `struct sk_buff` always support metadata.
        let meta = if receive.supports_metadata || row.length().is_some() {
            meta
        } else {
            let supported = self.input(METADATA_SUPPORT, 1, 0, 1, InputKind::Unknown);
            let supported = self.emit.unknown_input(supported, 1);
            let behind = self.emit.add(packet, word(1));
            self.emit.select(supported, meta, behind)
        };
        let pointers =
            [(Content::PacketStart, packet), (Content::PacketEnd, end), (Content::Metadata, meta)];
        for (content, pointer) in pointers {
            let low = self.emit.extract(pointer, 0, 32);
            let address = self.emit.add(context, word(row.offset(content)));
            self.emit.store(address, low);
        }
        for (offset, input, width) in numbers {
            let value = self.emit.unknown_input(input, width);
            let address = self.emit.add(context, word(offset));
            self.emit.store(address, value);
        }
        if let Some(offset) = row.length() {
            let low = self.emit.extract(whole, 0, 32);
            let address = self.emit.add(context, word(offset));
            self.emit.store(address, low);
        }
        let r1 = self.reg(1);
        self.emit.copy(r1, context);
        for (reg, value) in std::mem::take(&mut self.started) {
            let width = self.emit.width(reg.into());
            match value {
                StartValue::Packet => self.emit.copy(reg, packet),
                StartValue::Zero => self.emit.copy(reg, Operand::constant(width, 0)),
                StartValue::Constant(value) => {
                    self.emit.copy(reg, Operand::constant(width, value));
                }
                StartValue::Rest { of, without } => {
                    let without = self.emit.unknown_input(without, width);
                    let rest = self.emit.sub(Operand::constant(width, of), without);
                    self.emit.copy(reg, rest);
                }
                StartValue::Unknown(input) => self.emit.push(Op::Input { dst: reg, input }),
            }
        }
        ops.extend(self.emit.take_ops());
        (ops, length)
    }
}
