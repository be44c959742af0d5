//! Emits micro-operations. Blocks share temporary registers: inlining creates many blocks, and each
//! additional register would enlarge every liveness set.

use slowpath_ir::{
    BinaryOp, Draw, Draws, Emit, InputId, InsnIdx, Op, Operand, OriginOp, Reg, RegInfo,
    Temporaries, ValueFormat,
};

/// A collector of the micro-operations of the current block.
#[derive(Debug, Default)]
pub(in crate::lift) struct Emitter {
    /// Registers of the lifted program.
    pub regs: Vec<RegInfo>,
    /// Descriptions of the unknown values that the program obtains from outside, such as the time.
    pub draws: Draws,
    ops: Vec<OriginOp>,
    insn: u32,
    /// Name of the function that the current instruction calls. It describes the unknown values
    /// that the call returns.
    call: String,
    /// True while unknown values are emitted that stand for computed results, such as a checksum.
    /// They depend only on the program's memory, although the lifted program does not compute them;
    /// see [`Draw::determined`].
    pub computed: bool,
    temporaries: Temporaries,
}

/// Returns a 64-bit constant.
pub(in crate::lift) fn word(value: u64) -> Operand {
    Operand::constant(64, value)
}

/// Returns `-number`, the form in which helpers return error `number`.
pub(in crate::lift) fn errno(number: i64) -> Operand {
    word((-number) as u64)
}

impl Emitter {
    /// Starts a block of the lifted program; all temporary registers become available again.
    pub fn begin_block(&mut self) {
        self.ops.clear();
        self.temporaries.begin_block();
    }

    /// Attributes the following operations to instruction `number`, which calls the function
    /// `call`.
    pub fn begin_insn(&mut self, number: usize, call: String) {
        self.insn = InsnIdx::from(number).0;
        self.call = call;
        self.computed = false;
    }

    /// Returns the operations since the start of the block.
    pub fn take_ops(&mut self) -> Vec<OriginOp> {
        std::mem::take(&mut self.ops)
    }

    /// Creates a register that keeps its value across blocks, with a name for error messages.
    pub fn named(&mut self, name: impl Into<String>, width: u8) -> Reg {
        self.regs.push(RegInfo { name: name.into(), width });
        Reg::from(self.regs.len() - 1)
    }

    /// Copies an operand to a temporary register, so that later writes to the original register do
    /// not change the value.
    pub fn capture(&mut self, src: Operand) -> Operand {
        let Operand::Reg(_) = src else { return src };
        let dst = self.temp(self.width(src));
        self.copy(dst, src);
        dst.into()
    }

    /// Returns `a + b`; emits nothing if `b` is the constant zero.
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

    /// Returns a number that represents the words of a map key. If `map_address` is given, the
    /// number represents this address and the words together.
    pub fn interned(&mut self, map_address: Option<Operand>, words: &[Operand]) -> Operand {
        let values: Vec<Operand> = map_address.into_iter().chain(words.iter().copied()).collect();
        let second = values.get(1).copied().unwrap_or(word(0));
        let first = values.first().copied().unwrap_or(word(0));
        let mut number = self.binary(BinaryOp::Intern, first, second);
        for &next in values.iter().skip(2) {
            let so_far = self.zero_extend(number, 64);
            number = self.binary(BinaryOp::Intern, so_far, next);
        }
        number
    }

    /// Emits a store of `value` that takes effect only if `cond` is set.
    pub fn store_if(&mut self, cond: Operand, addr: Operand, value: Operand) {
        let old = self.load(addr, self.width(value) / 8);
        let value = self.select(cond, value, old);
        self.store(addr, value);
    }

    /// Emits an unknown value from 0 to `max`, which may be different each time that the operation
    /// is executed. Reports call it `result` and print it in the format `reading`.
    pub fn draw(&mut self, result: &str, reading: ValueFormat, width: u8, max: u64) -> Operand {
        self.draw_between(result, reading, width, (0, max))
    }

    /// Like [`Emitter::draw`], for a value from `min` to `max`.
    pub fn draw_between(
        &mut self,
        result: &str,
        reading: ValueFormat,
        width: u8,
        (min, max): (u64, u64),
    ) -> Operand {
        let (call, result) = (self.call.clone(), result.to_owned());
        let draw = self.draws.id(Draw { call, result, reading, determined: self.computed });
        self.unknown(draw, width, min, max)
    }

    /// Emits a read of an input, which is unknown but constant during a run.
    pub fn unknown_input(&mut self, input: InputId, width: u8) -> Operand {
        let dst = self.temp(width);
        self.push(Op::Input { dst, input });
        dst.into()
    }

    /// Emits an unknown bit; reports call it `result`, and print `names[0]` for 0 and `names[1]`
    /// for 1.
    pub fn unknown_bit(&mut self, result: &str, names: &'static [&'static str; 2]) -> Operand {
        self.draw(result, ValueFormat::Names(names), 1, 1)
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
