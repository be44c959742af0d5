//! The instructions of the card. There is one variant for every form that the BPF compiler emits.
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
        /// Reads bytes into transfer registers. The first byte becomes the highest byte of the
        /// first register.
        Read8 = "read8",
        /// Writes bytes from transfer registers, low byte first.
        Write8Swap = "write8_swap",
        /// Writes little-endian words from transfer registers.
        Write32Swap = "write32_swap",
        /// Adds a constant to memory, atomically.
        AddImm = "add_imm",
        /// Adds transfer registers to memory, atomically: 32 bits with counts up to 4, 64 bits with
        /// larger counts.
        Add = "add",
    }
);

/// Spelling of a 64-bit [`MemCommand::Add`].
pub(crate) const ADD_WIDE: &str = "add64";
/// Largest count of a 32-bit [`MemCommand::Add`].
pub(crate) const ADD_NARROW_COUNTS: u8 = 4;

impl MemCommand {
    /// Returns the spelling in listings, which for additions depends on the count.
    pub fn text_with_count(self, count: u8) -> &'static str {
        match self {
            MemCommand::Add if count > ADD_NARROW_COUNTS => ADD_WIDE,
            _ => self.text(),
        }
    }
}

spelled!(
    /// The condition of a branch. Z, N, C and V are the condition codes; C after a subtraction
    /// means "no borrow".
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
    /// `X, <<8, Y`: 40 bits (DRAM), the first operand shifted left by eight bits plus the second.
    Dram(Operand, Operand),
}

/// An instruction. `both_banks` is the attribute `gpr_wrboth`: the result goes to the register with
/// this number in both banks.
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
        /// True if the result goes to both banks.
        both_banks: bool,
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
        /// True if the result goes to both banks.
        both_banks: bool,
    },
    /// `asr[dst, b, >>n]`: right shift that fills with the sign of the previous ALU result.
    Asr {
        /// Destination.
        dst: Operand,
        /// Operand to shift.
        b: Operand,
        /// Distance of the shift.
        amount: ShiftAmount,
        /// True if the result goes to both banks.
        both_banks: bool,
    },
    /// `dbl_shf[dst, a, b, >>n]`: the low word of the 64-bit value a:b shifted right.
    DblShf {
        /// Destination.
        dst: Operand,
        /// High word.
        a: Operand,
        /// Low word.
        b: Operand,
        /// Distance of the shift.
        amount: ShiftAmount,
        /// True if the result goes to both banks.
        both_banks: bool,
    },
    /// `immed[dst, value, <<shift]`: loads a constant, rotated left.
    Immed {
        /// Destination.
        dst: Operand,
        /// The constant before the rotation. Its upper half word is all zeros or all ones.
        value: u32,
        /// Rotation to the left: 0, 8 or 16 bits.
        shift: u8,
        /// True if the result goes to both banks.
        both_banks: bool,
    },
    /// `immed_w1[dst, value]`: replaces the upper half word of a register.
    ImmedW1 {
        /// Destination, whose lower half word is kept.
        dst: Operand,
        /// New upper half word.
        value: u16,
        /// True if the result goes to both banks.
        both_banks: bool,
    },
    /// `ld_field[dst, mask, src, shift]`: replaces the bytes of a register that a mask selects.
    LdField {
        /// Destination. Its other bytes are kept or cleared.
        dst: Operand,
        /// Byte mask: bit n selects byte n, the lowest byte first.
        mask: u8,
        /// Source.
        src: Operand,
        /// Shift of the source.
        shift: Option<Shift>,
        /// True for `ld_field_w_clr`, which clears the other bytes.
        clear: bool,
        /// True if the result goes to both banks.
        both_banks: bool,
    },
    /// `local_csr_wr[ActLMAddrN, src]`: sets a base register of local memory.
    LocalCsrWr {
        /// Index of the base register, 0 to 3.
        index: u8,
        /// New value of the base register.
        src: Operand,
    },
    /// `local_csr_rd[register]`: reads a control register. The `immed[dst, 0x0]` that follows
    /// receives the value.
    LocalCsrRd {
        /// Byte address of the control register, a multiple of 4.
        csr: u16,
    },
    /// `mem[command, $xfer_n, address, count]`
    Mem {
        /// Command.
        command: MemCommand,
        /// First transfer register, 0 to 31.
        xfer: u8,
        /// Address in memory.
        address: Address,
        /// Count in words or bytes, 1 to 32.
        count: u8,
        /// True for `indirect_ref`: the previous ALU result overrides the count or the data.
        indirect: bool,
        /// `ctx_swap[sigN]`: signal that the thread waits for.
        signal: Option<u8>,
        /// `defer[n]`: number of delay slots that run before the thread waits, 0 to 2; 0 without a
        /// signal.
        defer: u8,
    },
    /// `mul_step[a, b], step`: one step of a multiplication. In a last step, `a` is the
    /// destination.
    MulStep {
        /// First factor, or the destination.
        a: Operand,
        /// Second factor.
        b: Operand,
        /// Step of the multiplication.
        step: MulStep,
        /// True if the result goes to both banks.
        both_banks: bool,
    },
    /// `nop`
    Nop,
    /// `br[.target]` and the conditional branches.
    Branch {
        /// Condition under which the branch is taken.
        condition: BranchCondition,
        /// Number of the target instruction.
        target: u32,
        /// `defer[n]`: number of delay slots that run before the branch takes effect, 0 to 3.
        defer: u8,
    },
    /// `br_bset[src, bit, .target]` and `br_bclr[…]`: branches that test one bit.
    BranchBit {
        /// Word to test.
        src: Operand,
        /// Number of the bit, 0 (the lowest) to 31.
        bit: u8,
        /// True if the branch is taken when the bit is set, false if when it is clear.
        set: bool,
        /// Number of the target instruction.
        target: u32,
        /// Number of delay slots, 0 to 3.
        defer: u8,
    },
    /// `rtn[src]`: jumps to the instruction whose number is in a register.
    Return {
        /// Register with the number of the target instruction.
        src: Operand,
        /// Number of delay slots, 0 to 3.
        defer: u8,
    },
}
