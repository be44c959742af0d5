//! Builds programs for tests.

use slowpath_ir::{
    BinaryOp, Block, BlockBuilder, BlockId, Destination, Draw, Edge, Emit, Input, InputId,
    InputKind, InsnIdx, Op, Operand, OriginOp, Program, Reg, RegInfo, Region, RegionId, RegionKind,
    Terminator,
};

/// A program under construction; its blocks are numbered in the order of their addition.
pub struct Builder {
    pub program: Program,
}

impl Builder {
    pub fn new() -> Self {
        Builder {
            program: Program {
                name: "test".into(),
                draws: vec![Draw::default()],
                ..Program::default()
            },
        }
    }

    pub fn reg(&mut self, width: u8) -> Reg {
        let reg = Reg::from(self.program.regs.len());
        self.program.regs.push(RegInfo { name: format!("v{}", reg.0), width });
        reg
    }

    /// Adds a register whose initial value is unknown, but lies between `min` and `max`.
    pub fn between(&mut self, width: u8, min: u64, max: u64) -> Reg {
        self.input(width, min, max, InputKind::Unknown)
    }

    /// Adds a register with an unknown initial value.
    pub fn any(&mut self, width: u8) -> Reg {
        let max = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        self.between(width, 0, max)
    }

    /// Adds a memory region and returns the register that holds its address.
    pub fn region(&mut self, kind: RegionKind) -> Reg {
        let region = RegionId::from(self.program.regions.len());
        let base = self.input(64, 1 << 16, (1 << 31) - 1, InputKind::BaseAddress(region));
        self.program.regions.push(Region { name: format!("{kind:?}"), kind, base, content: None });
        base
    }

    fn input(&mut self, width: u8, min: u64, max: u64, kind: InputKind) -> Reg {
        let reg = self.reg(width);
        let input = InputId::from(self.program.inputs.len());
        self.program.inputs.push(Input { name: format!("i{}", input.0), width, min, max, kind });
        let op = Op::Input { dst: reg, input };
        self.program.prologue.push(OriginOp { op, insn: InsnIdx(0) });
        reg
    }

    fn block(
        &mut self,
        of: impl FnOnce(&mut BlockBuilder<'_>) -> Option<Operand>,
        targets: [Option<u32>; 2],
    ) {
        let insn = InsnIdx::from(self.program.blocks.len());
        let mut ops = Vec::new();
        let mut builder = BlockBuilder::new(&mut self.program.regs, &mut ops, insn);
        let cond = of(&mut builder);
        let target =
            |to: Option<u32>| to.map_or(Destination::Exit(0), |to| Destination::Block(BlockId(to)));
        let [taken, fallthrough] = targets.map(|to| Edge { target: target(to), costs: Vec::new() });
        let terminator = match cond {
            Some(Operand::Reg(cond)) => Terminator::Branch { cond, taken, fallthrough },
            _ => Terminator::Jump(taken),
        };
        let (insns, costs) = (vec![insn], Vec::new());
        self.program.blocks.push(Block { first: insn, insns, ops, costs, terminator });
    }

    /// Adds a block that jumps to another block, or exits if `to` is `None`.
    pub fn jump(&mut self, of: impl FnOnce(&mut BlockBuilder<'_>), to: Option<u32>) {
        self.block(
            |b| {
                of(b);
                None
            },
            [to, None],
        );
    }

    /// Adds a block that computes `counter = counter op by` and jumps to the block `to`.
    pub fn advance(&mut self, counter: Reg, op: BinaryOp, by: Operand, to: u32) {
        let step = |b: &mut BlockBuilder<'_>| {
            let next = b.binary(op, counter, by);
            b.copy(counter, next);
        };
        self.jump(step, Some(to));
    }

    /// Adds a block that branches on the bit that `of` computes. A target of `None` is the exit of
    /// the program.
    pub fn branch(
        &mut self,
        of: impl FnOnce(&mut BlockBuilder<'_>) -> Operand,
        yes: Option<u32>,
        no: Option<u32>,
    ) {
        self.block(|b| Some(of(b)), [yes, no]);
    }

    /// Adds a final block that reads these registers.
    pub fn end(&mut self, reads: &[Reg]) {
        self.jump(
            |b| {
                for &reg in reads {
                    b.not(reg);
                }
            },
            None,
        );
    }
}

/// Returns a 64-bit constant.
pub fn k(value: u64) -> Operand {
    Operand::constant(64, value)
}
