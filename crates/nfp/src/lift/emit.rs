//! Appending micro-operations, with the known bits of their results: of lengths and shift amounts the
//! meaning of later instructions depends.

use std::collections::BTreeMap;

use slowpath_ir::{
    Draws, Emit, InsnIdx, Op, Operand as Value, OriginOp, Reg, RegInfo, Temporaries,
};

use super::known_bits::{self, KnownBits};

/// Collects the operations of the current block.
#[derive(Debug)]
pub(super) struct Emitter {
    /// All registers of the program.
    pub regs: Vec<RegInfo>,
    /// What the values that the program draws are called.
    pub draws: Draws,
    ops: Vec<OriginOp>,
    insn: InsnIdx,
    temporaries: Temporaries,
    known: BTreeMap<Reg, KnownBits>,
}

impl Emitter {
    pub fn new() -> Self {
        Emitter {
            regs: Vec::new(),
            draws: Draws::default(),
            ops: Vec::new(),
            insn: InsnIdx(0),
            temporaries: Temporaries::default(),
            known: BTreeMap::new(),
        }
    }

    /// Forgets what holds in the current block only.
    pub fn begin_block(&mut self) {
        self.known.clear();
        self.temporaries.begin_block();
    }

    /// Operations are on behalf of this instruction from now on.
    pub fn begin_insn(&mut self, number: usize) {
        self.insn = InsnIdx::from(number);
    }

    /// The operations since the last call.
    pub fn take_ops(&mut self) -> Vec<OriginOp> {
        std::mem::take(&mut self.ops)
    }

    /// A register that outlives the block.
    pub fn named(&mut self, name: String, width: u8) -> Reg {
        self.regs.push(RegInfo { name, width });
        Reg::from(self.regs.len() - 1)
    }

    /// KnownBits bits of a value.
    pub fn known(&self, value: Value) -> KnownBits {
        match value {
            Value::Reg(reg) => self.known.get(&reg).copied().unwrap_or_default(),
            Value::Const { value, width } => KnownBits::constant(value, width),
        }
    }

    /// A temporary that keeps the value whatever is written later.
    pub fn capture(&mut self, src: Value) -> Value {
        match src {
            Value::Const { .. } => src,
            Value::Reg(_) => {
                let dst = self.temp(self.width(src));
                self.copy(dst, src);
                Value::Reg(dst)
            }
        }
    }
}

impl Emit for Emitter {
    fn push(&mut self, op: Op) {
        if let Some(dst) = op.dst() {
            let width = self.reg_width(dst);
            let known =
                known_bits::result(&op, width, |value| (self.known(value), self.width(value)));
            self.known.insert(dst, known);
        }
        self.ops.push(OriginOp { op, insn: self.insn });
    }

    fn temp(&mut self, width: u8) -> Reg {
        self.temporaries.take(&mut self.regs, width)
    }

    fn reg_width(&self, reg: Reg) -> u8 {
        self.regs[reg.index()].width
    }
}
