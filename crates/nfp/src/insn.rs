//! Instructions: one variant for every form that the BPF compiler emits.
//!
//! Sources: the mnemonics of the public driver (`nfp_asm.h`) in the spelling of the BFD
//! disassembler.

mod queries;

use crate::operator::spelled;
use crate::{AluOp, MulStep, Operand, Shift, ShiftAmount};

spelled!(
    /// A memory command.
    MemCommand {
        /// Reads little-endian words into transfer registers.
        Read32Swap = "read32_swap",
        /// Reads bytes into transfer registers, the first into the highest byte of the first.
        Read8 = "read8",
        /// Writes bytes from transfer registers, low byte first.
        Write8Swap = "write8_swap",
        /// Writes little-endian words from transfer registers.
        Write32Swap = "write32_swap",
        /// Adds a constant to memory, atomically.
        AddImm = "add_imm",
        /// Adds transfer registers to memory, atomically: 32 bits with counts up to 4, 64 bits with
        /// larger ones.
        Add = "add",
    }
);

/// How [`MemCommand::Add`] of 64 bits is spelled.
pub(crate) const ADD_WIDE: &str = "add64";
/// The largest count of an [`MemCommand::Add`] of 32 bits.
pub(crate) const ADD_NARROW_COUNTS: u8 = 4;

impl MemCommand {
    /// The spelling in listings, which depends on the count for additions.
    pub fn text_with_count(self, count: u8) -> &'static str {
        match self {
            MemCommand::Add if count > ADD_NARROW_COUNTS => ADD_WIDE,
            _ => self.text(),
        }
    }
}

spelled!(
    /// When a branch is taken. Z, N, C and V are the condition codes; C after a subtraction means
    /// "no borrow".
    BranchCondition {
        /// Always.
        Always = "br",
        /// C is clear.
        CarryClear = "bcc",
        /// C is set.
        CarrySet = "bcs",
        /// Z is set.
        Equal = "beq",
        /// N equals V.
        GreaterOrEqual = "bge",
        /// N equals V and Z is clear.
        Greater = "bgt",
        /// N differs from V, or Z is set.
        LessOrEqual = "ble",
        /// N differs from V.
        Less = "blt",
        /// N is set.
        Minus = "bmi",
        /// Z is clear.
        NotEqual = "bne",
        /// N is clear.
        Plus = "bpl",
        /// V is clear.
        OverflowClear = "bvc",
        /// V is set.
        OverflowSet = "bvs",
    }
);

/// The address operands of a memory command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// `X, Y`: 32 bits (SRAM), the sum of both.
    Sram(Operand, Operand),
    /// `X, <<8, Y`: 40 bits (DRAM), the first shifted left by eight bits plus the second.
    Dram(Operand, Operand),
}

/// An instruction. `both` stands for the attribute `gpr_wrboth`: the result goes to the register
/// of that number in both banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Insn {
    /// `alu[dst, a, op, b]`
    Alu {
        /// Destination.
        dst: Operand,
        /// First operand.
        a: Operand,
        /// Operator.
        op: AluOp,
        /// Second operand.
        b: Operand,
        /// Whether both banks are written.
        both: bool,
    },
    /// `alu_shf[dst, a, op, b, shift]`: the second operand is shifted first.
    AluShf {
        /// Destination.
        dst: Operand,
        /// First operand.
        a: Operand,
        /// A logical operator.
        op: AluOp,
        /// Second operand.
        b: Operand,
        /// Shift of the second operand.
        shift: Option<Shift>,
        /// Whether both banks are written.
        both: bool,
    },
    /// `asr[dst, b, >>n]`: right shift; the sign of the previous ALU result comes in.
    Asr {
        /// Destination.
        dst: Operand,
        /// The operand shifted.
        b: Operand,
        /// How far to the right.
        amount: ShiftAmount,
        /// Whether both banks are written.
        both: bool,
    },
    /// `dbl_shf[dst, a, b, >>n]`: the low word of the 64-bit value a:b shifted right.
    DblShf {
        /// Destination.
        dst: Operand,
        /// High word.
        a: Operand,
        /// Low word.
        b: Operand,
        /// How far to the right.
        amount: ShiftAmount,
        /// Whether both banks are written.
        both: bool,
    },
    /// `immed[dst, value, <<shift]`: the constant rotated left.
    Immed {
        /// Destination.
        dst: Operand,
        /// The constant before the rotation; its upper half is all zeros or all ones.
        value: u32,
        /// 0, 8 or 16 bits.
        shift: u8,
        /// Whether both banks are written.
        both: bool,
    },
    /// `immed_w1[dst, value]`: replaces the upper half word.
    ImmedW1 {
        /// Destination, whose lower half word stays.
        dst: Operand,
        /// The upper half word.
        value: u16,
        /// Whether both banks are written.
        both: bool,
    },
    /// `ld_field[dst, mask, src, shift]`: replaces some bytes.
    LdField {
        /// Destination, whose other bytes stay or are cleared.
        dst: Operand,
        /// Bit n stands for byte n, the lowest first.
        mask: u8,
        /// Source.
        src: Operand,
        /// Shift of the source.
        shift: Option<Shift>,
        /// `ld_field_w_clr`: the other bytes are cleared.
        clear: bool,
        /// Whether both banks are written.
        both: bool,
    },
    /// `local_csr_wr[ActLMAddrN, src]`: sets a base register of local memory.
    LocalCsrWr {
        /// Which base register, 0 to 3.
        index: u8,
        /// The new base.
        src: Operand,
    },
    /// `local_csr_rd[register]`: reads a control register; `immed[dst, 0x0]` behind it takes the
    /// value.
    LocalCsrRd {
        /// Byte address of the control register, a multiple of 4.
        csr: u16,
    },
    /// `mem[command, $xfer_n, address, count]`
    Mem {
        /// What to do.
        command: MemCommand,
        /// The first transfer register, 0 to 31.
        xfer: u8,
        /// Where in memory.
        address: Address,
        /// Words or bytes, 1 to 32.
        count: u8,
        /// `indirect_ref`: the previous ALU result overrides the count or the data.
        indirect: bool,
        /// `ctx_swap[sigN]`: waits for this signal.
        signal: Option<u8>,
        /// `defer[n]`: how many instructions behind it run before it waits, 0 to 2; without a
        /// signal 0.
        defer: u8,
    },
    /// `mul_step[a, b], step`; for the last steps, `a` is the destination.
    MulStep {
        /// First factor or destination.
        a: Operand,
        /// Second factor.
        b: Operand,
        /// Which step.
        step: MulStep,
        /// Whether both banks are written.
        both: bool,
    },
    /// `nop`
    Nop,
    /// `br[.target]` and the conditional branches.
    Branch {
        /// When it is taken.
        condition: BranchCondition,
        /// The number of the instruction it leads to.
        target: u32,
        /// `defer[n]`: how many instructions behind it run before it takes effect, 0 to 3.
        defer: u8,
    },
    /// `br_bset[src, bit, .target]` and `br_bclr[…]`: taken when a bit has this value.
    BranchBit {
        /// The word that holds the bit.
        src: Operand,
        /// Which bit, 0 (the lowest) to 31.
        bit: u8,
        /// Taken when it is set, or else when it is clear.
        set: bool,
        /// The number of the instruction it leads to.
        target: u32,
        /// Delay slots, 0 to 3.
        defer: u8,
    },
    /// `rtn[src]`: goes to the instruction whose number is in a register.
    Return {
        /// The number of the instruction.
        src: Operand,
        /// Delay slots, 0 to 3.
        defer: u8,
    },
}
