//! Lifts the packet loads of classic BPF (`BPF_ABS`, `BPF_IND`). They read bytes in network byte
//! order, and end the function with the result 0 if the packet lacks the bytes.
//!
//! The kernel replaces each load by a call of `bpf_skb_load_helper_8`, `_16` or `_32` and an exit
//! (`bpf_gen_ld_abs` of `net/core/filter.c`). A packet load counts as one instruction.

use slowpath_codes as codes;
use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use crate::context::Content;
use crate::insn::{Register, Size};
use crate::lift::error::{Cause, VERIFIER};
use crate::lift::frame::{Phase, ProgramPoint};
use crate::lift::insns::alu::swap_bytes;
use crate::lift::ir::emit::word;
use crate::lift::lifter::{Lifter, Next};
use crate::lift::state::value::AbstractValue;

impl Lifter<'_> {
    /// Lifts a load of `size` bytes from an offset into the packet, which is the sum of `index` and
    /// `offset`.
    ///
    /// # Errors
    /// If the verifier rejects such loads in programs of this type, or `r6` is not the context.
    pub(in crate::lift) fn packet_load(
        &mut self,
        at: ProgramPoint,
        size: Size,
        index: Option<Register>,
        offset: i32,
    ) -> Result<Next, Cause> {
        if !self.program_type.loads_packets {
            let hint = "XDP and cgroup_skb programs read packets through `data` and `data_end`";
            let text = "packet access of classic BPF";
            return Err(Cause::new(codes::UNSUPPORTED_INSTRUCTION, text, hint));
        }
        if !matches!(
            self.state.regs[6],
            AbstractValue::Context { offset: 0 } | AbstractValue::Unknown | AbstractValue::NotStack
        ) {
            let text = "r6 is not the context at a packet access of classic BPF";
            return Err(Cause::new(codes::REJECTED_BY_VERIFIER, text, VERIFIER));
        }
        self.cost(at, "load");
        // The kernel adds 64-bit numbers and uses the low 32 bits of the sum.
        let constant = Operand::constant(32, u64::from(offset.cast_unsigned()));
        let place = match index {
            Some(index) => {
                let low = self.low(index, 32);
                self.ir.emit.add(low, constant)
            }
            None => constant,
        };
        let (value, ok) = self.packet_bytes(place, size);
        let (value, ok) = match index {
            None if offset >= 0 => (value, ok),
            _ => self.relative_to_header(place, size, (value, ok)),
        };
        self.result(value, AbstractValue::NotStack);
        self.state.regs[1..6].fill(AbstractValue::NotStack);
        Ok(Next::Branch(ok, at.behind(), at.with(Phase::OutsidePacket)))
    }

    /// Loads bytes of the packet at an offset of at most 31 bits. Returns their value, and a 1-bit
    /// operand that is set if the packet contains these bytes. If it does not, the value is zero.
    fn packet_bytes(&mut self, place: Operand, size: Size) -> (Operand, Operand) {
        let length = self.packet_length();
        let data = self.context_pointer(Content::PacketStart);
        let end = self.context_pointer(Content::PacketEnd);
        let unreadable =
            self.ir.emit.unknown_bit("bytes behind the linear part", &["readable", "unreadable"]);
        let emit = &mut self.ir.emit;
        let place = emit.zero_extend(place, 64);
        let behind = emit.add(place, word(size.bytes().into()));
        let outside = emit.ult(length, behind);
        let from = emit.binary(BinaryOp::Add, data, place);
        let last = emit.add(from, word(size.bytes().into()));
        let beyond = emit.ult(end, last);
        let unreadable = emit.and(unreadable, beyond);
        let failed = emit.or(outside, unreadable);
        let ok = emit.not(failed);
        let value = emit.load(from, size.bytes());
        let value = if size == Size::B { value } else { swap_bytes(emit, value, size) };
        let value = emit.select(ok, value, Operand::constant(size.bits(), 0));
        (emit.zero_extend(value, 64), ok)
    }

    /// Corrects the result of a load for negative offsets. They count from the network header or
    /// the link layer header (`bpf_skb_load_helper_convert_offset`), whose position is unknown.
    fn relative_to_header(
        &mut self,
        place: Operand,
        size: Size,
        (value, ok): (Operand, Operand),
    ) -> (Operand, Operand) {
        let emit = &mut self.ir.emit;
        let negative = emit.extract(place, 31, 1);
        emit.computed = true;
        let most = u64::MAX >> (64 - size.bits());
        let any = emit.draw("bytes after a header", ValueFormat::Bytes, size.bits(), most);
        let there = emit.draw("packet has the bytes after a header", ValueFormat::Number, 1, 1);
        emit.computed = false;
        let any = emit.zero_extend(any, 64);
        let value = emit.select(negative, any, value);
        let ok = emit.select(negative, there, ok);
        self.rely_on_equal("a packet access of classic BPF");
        (value, ok)
    }
}
