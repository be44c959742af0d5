//! Emits micro-operations: arithmetic of addresses, byte order, checksums.

use slowpath_ir::{BinaryOp, Emit, InsnIdx, Op as MicroOp, Operand, OriginOp, Reg, RegInfo};

/// Collects the micro-operations of a block.
pub struct Emitter {
    pub regs: Vec<RegInfo>,
    ops: Vec<OriginOp>,
    pub insn: InsnIdx,
}

impl Emitter {
    pub fn new(regs: Vec<RegInfo>) -> Emitter {
        Emitter { regs, ops: Vec::new(), insn: InsnIdx(0) }
    }

    /// Returns the operations emitted since the last call.
    pub fn take_ops(&mut self) -> Vec<OriginOp> {
        std::mem::take(&mut self.ops)
    }

    pub fn into_parts(self) -> (Vec<RegInfo>, Vec<OriginOp>) {
        (self.regs, self.ops)
    }

    /// Emits code that adds a constant to an address, and returns the sum.
    pub fn offset(&mut self, address: Operand, offset: u64) -> Operand {
        match offset {
            0 => address,
            _ => self.binary(BinaryOp::Add, address, Operand::constant(64, offset)),
        }
    }

    /// Emits code that reverses the bytes of a value, and returns the result.
    pub fn swap(&mut self, value: Operand) -> Operand {
        let bytes = self.width(value) / 8;
        let mut swapped = self.extract(value, 0, 8);
        for byte in 1..bytes {
            let next = self.extract(value, 8 * byte, 8);
            swapped = self.binary(BinaryOp::Concat, swapped, next);
        }
        swapped
    }

    /// Emits a truncation or zero extension of a value to `width` bits.
    pub fn resize(&mut self, value: Operand, width: u8) -> Operand {
        if self.width(value) > width {
            self.extract(value, 0, width)
        } else {
            self.zero_extend(value, width)
        }
    }

    /// Returns a 1-bit register that contains the value. If the value is a constant, emits code
    /// that copies it to a register.
    pub fn condition(&mut self, value: Operand) -> Reg {
        match value {
            Operand::Reg(reg) => reg,
            Operand::Const { .. } => {
                let reg = self.temp(1);
                self.copy(reg, value);
                reg
            }
        }
    }

    /// Emits a copy of bytes in the chunks that DPDK uses: 8 bytes, then 4, 2 and 1.
    pub fn copy_bytes(&mut self, to: Operand, from: Operand, bytes: u32) {
        let mut at = 0;
        while at < bytes {
            let rest = bytes - at;
            let chunk = if rest >= 8 { 8 } else { 1 << rest.ilog2() };
            let source = self.offset(from, at.into());
            let value = self.load(source, chunk as u8);
            let target = self.offset(to, at.into());
            self.store(target, value);
            at += chunk;
        }
    }

    /// Emits code that adds 64-bit words to a checksum of 16 bits in memory order, or subtracts
    /// them, as DPDK does. Returns the new checksum.
    pub fn checksum(&mut self, add: bool, checksum: Operand, words: &[Operand]) -> Operand {
        let wide = |value| Operand::constant(64, value);
        let inverse = self.not(checksum);
        let mut sum = self.zero_extend(inverse, 64);
        if !add {
            sum = self.binary(BinaryOp::Add, sum, wide(0xf_fff0_0000));
        }
        let op = if add { BinaryOp::Add } else { BinaryOp::Sub };
        for &word in words {
            sum = self.binary(op, sum, word);
        }
        for _ in 0..3 {
            let low = self.binary(BinaryOp::And, sum, wide(0xffff));
            let high = self.binary(BinaryOp::Lshr, sum, wide(16));
            sum = self.binary(BinaryOp::Add, low, high);
        }
        let low = self.extract(sum, 0, 16);
        let result = self.not(low);
        let zero = self.binary(BinaryOp::Eq, result, Operand::constant(16, 0));
        self.select(zero, Operand::constant(16, 0xffff), result)
    }
}

impl Emit for Emitter {
    fn push(&mut self, op: MicroOp) {
        self.ops.push(OriginOp { op, insn: self.insn });
    }

    fn temp(&mut self, width: u8) -> Reg {
        let reg = Reg::from(self.regs.len());
        self.regs.push(RegInfo { name: format!("t{}", reg.0), width });
        reg
    }

    fn reg_width(&self, reg: Reg) -> u8 {
        self.regs[reg.index()].width
    }
}
