//! Appending micro-operations. Temporaries are reused from block to block: inlining makes many
//! blocks, and every new register would make each liveness set larger.

use slowpath_ir::{
    BinaryOp, Draw, Draws, Emit, InputId, InsnIdx, Op, Operand, OriginOp, Reading, Reg, RegInfo,
    Temporaries,
};

/// Collects the operations of the current block.
#[derive(Debug, Default)]
pub(in crate::lift) struct Emitter {
    /// All registers of the program.
    pub regs: Vec<RegInfo>,
    /// What the values that it draws are called.
    pub draws: Draws,
    ops: Vec<OriginOp>,
    insn: u32,
    /// What yields the values that the current instruction draws.
    call: String,
    /// Whether what is drawn follows from the program's memory, but is not computed; see [`Draw`].
    pub computed: bool,
    temporaries: Temporaries,
}

/// A constant of 64 bits.
pub(in crate::lift) fn word(value: u64) -> Operand {
    Operand::constant(64, value)
}

/// A negative error number as helpers return it.
pub(in crate::lift) fn errno(number: i64) -> Operand {
    word((-number) as u64)
}

impl Emitter {
    /// Makes the temporaries of earlier blocks available again.
    pub fn begin_block(&mut self) {
        self.ops.clear();
        self.temporaries.begin_block();
    }

    /// Operations are on behalf of this instruction from now on.
    pub fn begin_insn(&mut self, number: usize, call: String) {
        self.insn = InsnIdx::from(number).0;
        self.call = call;
        self.computed = false;
    }

    /// The operations since the block began.
    pub fn take_ops(&mut self) -> Vec<OriginOp> {
        std::mem::take(&mut self.ops)
    }

    /// A register that outlives the block.
    pub fn named(&mut self, name: impl Into<String>, width: u8) -> Reg {
        self.regs.push(RegInfo { name: name.into(), width });
        Reg::from(self.regs.len() - 1)
    }

    /// A temporary that keeps the value whatever is written to its register later.
    pub fn capture(&mut self, src: Operand) -> Operand {
        let Operand::Reg(_) = src else { return src };
        let dst = self.temp(self.width(src));
        self.copy(dst, src);
        dst.into()
    }

    /// `a + b`; nothing happens when `b` is the constant zero.
    pub fn add(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Operand {
        let (a, b) = (a.into(), b.into());
        match b {
            Operand::Const { value: 0, .. } => a,
            _ => self.binary(BinaryOp::Add, a, b),
        }
    }

    pub fn sub(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Operand {
        self.binary(BinaryOp::Sub, a, b)
    }

    pub fn eq(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Operand {
        self.binary(BinaryOp::Eq, a, b)
    }

    pub fn ult(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Operand {
        self.binary(BinaryOp::Ult, a, b)
    }

    pub fn and(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Operand {
        self.binary(BinaryOp::And, a, b)
    }

    pub fn or(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Operand {
        self.binary(BinaryOp::Or, a, b)
    }

    /// The number that stands for words, and for the map they are a key of.
    pub fn interned(&mut self, which: Option<Operand>, words: &[Operand]) -> Operand {
        let all: Vec<Operand> = which.into_iter().chain(words.iter().copied()).collect();
        let second = all.get(1).copied().unwrap_or(word(0));
        let first = all.first().copied().unwrap_or(word(0));
        let mut number = self.binary(BinaryOp::Intern, first, second);
        for &next in all.iter().skip(2) {
            let so_far = self.zero_extend(number, 64);
            number = self.binary(BinaryOp::Intern, so_far, next);
        }
        number
    }

    /// Stores `value` where `cond` is set, else what is there already.
    pub fn store_if(&mut self, cond: Operand, addr: Operand, value: Operand) {
        let old = self.load(addr, self.width(value) / 8);
        let value = self.select(cond, value, old);
        self.store(addr, value);
    }

    /// Anything from 0 to `max`, anew at every execution: the result of the current instruction that
    /// has this name, and is written so in reports.
    pub fn draw(&mut self, result: &str, reading: Reading, width: u8, max: u64) -> Operand {
        self.draw_between(result, reading, width, (0, max))
    }

    /// The same from a least value on.
    pub fn draw_between(
        &mut self,
        result: &str,
        reading: Reading,
        width: u8,
        (min, max): (u64, u64),
    ) -> Operand {
        let (call, result) = (self.call.clone(), result.to_owned());
        let computed = self.computed;
        let draw = self.draws.id(Draw { call, result, reading, computed });
        self.unknown(draw, width, min, max)
    }

    /// An unknown that is the same throughout a run.
    pub fn unknown_input(&mut self, input: InputId, width: u8) -> Operand {
        let dst = self.temp(width);
        self.push(Op::Input { dst, input });
        dst.into()
    }

    /// A single bit that can be either; the names are those of 0 and 1.
    pub fn coin(&mut self, result: &str, names: &'static [&'static str; 2]) -> Operand {
        self.draw(result, Reading::Names(names), 1, 1)
    }
}

impl Emit for Emitter {
    fn push(&mut self, op: Op) {
        self.ops.push(OriginOp { op, insn: InsnIdx(self.insn) });
    }

    fn temp(&mut self, width: u8) -> Reg {
        self.temporaries.take(&mut self.regs, width)
    }

    fn reg_width(&self, reg: Reg) -> u8 {
        self.regs[reg.index()].width
    }
}
