//! Emits micro-operations. The emitter tracks the known bits of results, because the meaning of
//! later instructions can depend on known lengths and shift amounts.

use std::collections::BTreeMap;

use slowpath_ir::{
    Draws, Emit, InsnIdx, Op, Operand as Value, OriginOp, Reg, RegInfo, Temporaries,
};

use super::known_bits::{self, KnownBits};

/// Collects the micro-operations of the current block.
#[derive(Debug)]
pub(super) struct Emitter {
    pub regs: Vec<RegInfo>,
    /// Descriptions of the values that no instruction computes, such as random numbers.
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

    /// Starts a new block: drops the temporaries and known bits of the previous block.
    pub fn begin_block(&mut self) {
        self.known.clear();
        self.temporaries.begin_block();
    }

    /// Records that all following operations belong to this instruction.
    pub fn begin_insn(&mut self, number: usize) {
        self.insn = InsnIdx::from(number);
    }

    /// Removes and returns the operations that were emitted since the last call of this function.
    pub fn take_ops(&mut self) -> Vec<OriginOp> {
        std::mem::take(&mut self.ops)
    }

    /// Returns a new IR register with a name. Unlike temporaries, later blocks can read it.
    pub fn named(&mut self, name: String, width: u8) -> Reg {
        self.regs.push(RegInfo { name, width });
        Reg::from(self.regs.len() - 1)
    }

    /// Returns the known bits of a value.
    pub fn known(&self, value: Value) -> KnownBits {
        match value {
            Value::Reg(reg) => self.known.get(&reg).copied().unwrap_or_default(),
            Value::Const { value, width } => KnownBits::constant(value, width),
        }
    }

    /// Copies a value to a temporary register that later writes do not change. Constants stay as
    /// they are.
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
