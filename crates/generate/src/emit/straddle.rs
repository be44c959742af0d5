//! Emits jumps to a position between two instructions that an optimising compiler might merge, such
//! as a load and the use of its result, or parts of a copy.

use slowpath_bpf::insn::{Insn, Size, Source};

use super::Emitter;
use crate::state::{Kind, Range};
use crate::statement::{Straddle, Test};

impl Emitter<'_> {
    /// Emits a load that a conditional jump can skip, followed by an instruction that uses the
    /// loaded register.
    pub(super) fn straddle(&mut self, test: &Test, straddle: &Straddle) -> Option<()> {
        let Straddle { size, via, from, to, count } = *straddle;
        let bytes = u16::from(size.bytes());
        let count = u16::from(count.max(1));
        let value = self.variable_scalar(via, &[])?;
        let (base, offset) = self.place(bytes * count, from.0, from.1)?;
        let copied = self.features.packet_writes && self.features.copies;
        let sink = to.filter(|_| copied).and_then(|to| self.place(bytes * count, to.0, to.1));
        let at = self.conditional(test)?;
        let skipped = self.state.clone();
        let range = Range::of_bytes(size.bytes());
        self.load_from(size, value, base, offset, Kind::Scalar(range));
        self.land(at);
        self.state = self.state.join(&skipped);
        let Some((sink, stored)) = sink else {
            return match size {
                Size::B => self.mask(value, 0xff),
                Size::H => self.mask(value, 0xffff),
                _ => self.truncate_by_shifts(value),
            };
        };
        for number in 0..count {
            let by = (number * bytes) as i16;
            if number > 0 {
                self.load_from(size, value, base, offset + by, Kind::Scalar(range));
            }
            let src = Source::Reg(value);
            self.code.push(Insn::Store { size, base: sink, offset: stored + by, src });
        }
        Some(())
    }
}
