//! Emits the ends of generated functions: exits, and stores of computed values for tests.

use slowpath_bpf::insn::{AluOp, Insn, Register, Size, Source, Width};

use super::{Emitted, Emitter};
use crate::state::Kind;
use crate::statement::Code;

/// Number of packet bytes for each scalar that a program stores to the packet before it ends.
const OBSERVED: u16 = 8;

impl Emitter<'_> {
    pub(super) fn exit(&mut self, code: Code) -> Option<()> {
        match code {
            Code::Constant(value) => self.set(Register::R0, value),
            Code::Scalar(choice) | Code::Masked(choice) => {
                let scalar = self.scalar(choice)?;
                self.copy_register(Register::R0, scalar);
                if matches!(code, Code::Masked(_)) || !self.features.any_result {
                    self.alu(AluOp::And, self.width(Width::W64), Register::R0, Source::Imm(3));
                }
            }
        }
        self.code.push(Insn::Exit);
        self.ended = self.ended.saturating_add(self.state.paths);
        self.state.paths = 0;
        Some(())
    }

    /// Completes the function: stores up to `observed` scalars to the packet, emits an exit for
    /// every path that has not ended, and returns all instructions.
    pub(super) fn finish(mut self, end: Code, observed: u8) -> Emitted {
        if self.state.paths > 0 {
            self.observe(observed);
            if self.exit(end).is_none() {
                // If no register holds a scalar, the function returns a constant.
                let _: Option<()> = self.exit(Code::Constant(2));
            }
        }
        let leaving = std::mem::take(&mut self.pending_exits);
        let mut codes: Vec<i32> = leaving.iter().map(|(_, code)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        for code in codes {
            for (at, _) in leaving.iter().filter(|(_, own)| *own == code) {
                self.land(*at);
            }
            self.set(Register::R0, code);
            self.code.push(Insn::Exit);
        }
        Emitted { code: self.code, paths: self.ended }
    }

    /// Emits stores of up to `observed` scalars to the packet, so that tests that compare packets
    /// detect different register values.
    fn observe(&mut self, observed: u8) {
        if !self.features.packet_writes {
            return;
        }
        let pointers = self.state.registers(|kind| matches!(kind, Kind::Packet(_)));
        let reach = |register: &Register| match self.state.get(*register) {
            Kind::Packet(pointer) => pointer.range,
            _ => 0,
        };
        let Some(base) = pointers.into_iter().max_by_key(reach) else { return };
        let Kind::Packet(pointer) = self.state.get(base) else { return };
        let scalars = self.state.registers(|kind| matches!(kind, Kind::Scalar(_)));
        let places = (0..pointer.range / OBSERVED).map(|number| number * OBSERVED);
        for (scalar, place) in scalars.into_iter().zip(places).take(observed.into()) {
            let offset = place as i16 - pointer.offset as i16;
            let src = Source::Reg(scalar);
            self.code.push(Insn::Store { size: Size::DW, base, offset, src });
        }
    }
}
