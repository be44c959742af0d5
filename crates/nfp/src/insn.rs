//! The instructions of the SmartNIC's network flow processor. There is one variant for every form
//! that the BPF compiler emits.
//!
//! Sources: the mnemonics of the public driver (`nfp_asm.h`) in the spelling of the BFD
//! disassembler.

mod queries;

use crate::operator::spelled;
use crate::{AluOp, MulStep, Operand, Shift, ShiftAmount};

spelled!(
    /// A command that a core sends to a memory.
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
        /// Adds a number of at most 16 bits to memory, atomically. The command contains the number.
        AddImm = "add_imm",
        /// Adds transfer registers to memory, atomically: 32 bits if the `count` field is at most
        /// 4, 64 bits if it is larger.
        Add = "add",
    }
);

/// Spelling of a 64-bit [`MemCommand::Add`].
pub(crate) const ADD_WIDE: &str = "add64";
/// Largest `count` field with which [`MemCommand::Add`] adds 32 bits; with larger ones, it adds 64.
pub(crate) const ADD_NARROW_COUNTS: u8 = 4;

impl MemCommand {
    /// Returns the spelling in listings. For additions, it depends on the `count` field.
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
        /// Unconditional: the branch is always taken.
        Always = "br",
        /// Taken if the carry flag C is clear.
        CarryClear = "bcc",
        /// Taken if the carry flag C is set.
        CarrySet = "bcs",
        /// Taken if the zero flag Z is set.
        Equal = "beq",
        /// Taken if the negative flag N equals the overflow flag V.
        GreaterOrEqual = "bge",
        /// Taken if the negative flag N equals the overflow flag V, and the zero flag Z is clear.
        Greater = "bgt",
        /// Taken if the negative flag N differs from the overflow flag V, or the zero flag Z is
        /// set.
        LessOrEqual = "ble",
        /// Taken if the negative flag N differs from the overflow flag V.
        Less = "blt",
        /// Taken if the negative flag N is set.
        Minus = "bmi",
        /// Taken if the zero flag Z is clear.
        NotEqual = "bne",
        /// Taken if the negative flag N is clear.
        Plus = "bpl",
        /// Taken if the overflow flag V is clear.
        OverflowClear = "bvc",
        /// Taken if the overflow flag V is set.
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
    /// `alu[dst, a, op, b]`: computes a result from two operands.
    Alu {
        /// Operand that receives the result.
        dst: Operand,
        /// First source operand.
        a: Operand,
        /// Operation that computes the result.
        op: AluOp,
        /// Second source operand.
        b: Operand,
        /// True if the result is written to both register banks (`gpr_wrboth`).
        both_banks: bool,
    },
    /// `alu_shf[dst, a, op, b, shift]`: the second operand is shifted first.
    AluShf {
        /// Operand that receives the result.
        dst: Operand,
        /// First source operand.
        a: Operand,
        /// Bitwise operation that computes the result.
        op: AluOp,
        /// Second source operand.
        b: Operand,
        /// Shift of the second operand before the operation; `None` for no shift.
        shift: Option<Shift>,
        /// True if the result is written to both register banks (`gpr_wrboth`).
        both_banks: bool,
    },
    /// `asr[dst, b, >>n]`: right shift that fills with the sign of the previous ALU result.
    Asr {
        /// Operand that receives the result.
        dst: Operand,
        /// Source operand, whose value is shifted.
        b: Operand,
        /// Number of bits by which the value is shifted.
        amount: ShiftAmount,
        /// True if the result is written to both register banks (`gpr_wrboth`).
        both_banks: bool,
    },
    /// `dbl_shf[dst, a, b, >>n]`: the low word of the 64-bit value a:b shifted right.
    DblShf {
        /// Operand that receives the result.
        dst: Operand,
        /// Source operand with the high word of the 64-bit value.
        a: Operand,
        /// Source operand with the low word of the 64-bit value.
        b: Operand,
        /// Number of bits by which the value is shifted.
        amount: ShiftAmount,
        /// True if the result is written to both register banks (`gpr_wrboth`).
        both_banks: bool,
    },
    /// `immed[dst, value, <<shift]`: loads a constant, rotated left.
    Immed {
        /// Operand that receives the result.
        dst: Operand,
        /// The constant before the rotation. Its upper half word is all zeros or all ones.
        value: u32,
        /// Rotation to the left: 0, 8 or 16 bits.
        shift: u8,
        /// True if the result is written to both register banks (`gpr_wrboth`).
        both_banks: bool,
    },
    /// `immed_w1[dst, value]`: replaces the upper half word of a register.
    ImmedW1 {
        /// Operand that receives the result; its lower half word is kept.
        dst: Operand,
        /// New value of the upper half word.
        value: u16,
        /// True if the result is written to both register banks (`gpr_wrboth`).
        both_banks: bool,
    },
    /// `ld_field[dst, mask, src, shift]`: replaces the bytes of a register that a mask selects.
    LdField {
        /// Operand that receives the bytes. Its other bytes are kept or cleared.
        dst: Operand,
        /// Byte mask: bit n selects byte n, the lowest byte first.
        mask: u8,
        /// Source operand, from which the bytes are taken.
        src: Operand,
        /// Shift of the source operand; `None` for no shift.
        shift: Option<Shift>,
        /// True for `ld_field_w_clr`, which clears the other bytes.
        clear: bool,
        /// True if the result is written to both register banks (`gpr_wrboth`).
        both_banks: bool,
    },
    /// `local_csr_wr[ActLMAddrN, src]`: sets a base register of local memory.
    LocalCsrWr {
        /// Index of the base register, 0 to 3.
        index: u8,
        /// Source operand with the new value of the base register.
        src: Operand,
    },
    /// `local_csr_rd[register]`: reads a control register. The `immed[dst, 0x0]` that follows
    /// receives the value.
    LocalCsrRd {
        /// Byte address of the control register, a multiple of 4.
        csr: u16,
    },
    /// `mem[command, $xfer_n, address, count]`: accesses memory outside the core.
    Mem {
        /// Command that the memory executes.
        command: MemCommand,
        /// Number of the first transfer register with the command's data, 0 to 31.
        xfer: u8,
        /// Memory address that the command accesses.
        address: Address,
        /// Number of words or bytes that the command transfers, 1 to 32.
        count: u8,
        /// True for `indirect_ref`: the previous ALU result overrides the number of words or bytes,
        /// or the data.
        indirect: bool,
        /// `ctx_swap[sigN]`: number of the signal that the thread waits for; `None` for no wait.
        signal: Option<u8>,
        /// `defer[n]`: number of delay slots that run before the thread waits, 0 to 2; 0 without a
        /// signal.
        defer: u8,
    },
    /// `mul_step[a, b], step`: one step of a multiplication. In a last step, `a` is the
    /// destination.
    MulStep {
        /// First factor; in the last step, the operand that receives the result.
        a: Operand,
        /// Second factor; `--` in the last step.
        b: Operand,
        /// Kind of multiplication, and the step in it.
        step: MulStep,
        /// True if the result is written to both register banks (`gpr_wrboth`).
        both_banks: bool,
    },
    /// `nop`: does nothing.
    Nop,
    /// `br[.target]` and conditional branches, such as `beq[.target]`.
    Branch {
        /// Condition under which the branch is taken.
        condition: BranchCondition,
        /// Number of the instruction to which the branch leads.
        target: u32,
        /// `defer[n]`: number of delay slots that run before the branch takes effect, 0 to 3.
        defer: u8,
    },
    /// `br_bset[src, bit, .target]` and `br_bclr[…]`: branches that test one bit.
    BranchBit {
        /// Source operand with the bit to test.
        src: Operand,
        /// Number of the tested bit, 0 (the lowest) to 31.
        bit: u8,
        /// True if the branch is taken when the bit is set; false if it is taken when the bit is
        /// clear.
        set: bool,
        /// Number of the instruction to which the branch leads.
        target: u32,
        /// `defer[n]`: number of delay slots that run before the branch takes effect, 0 to 3.
        defer: u8,
    },
    /// `rtn[src]`: jumps to the instruction whose number is in a register.
    Return {
        /// Register that contains the number of the next instruction.
        src: Operand,
        /// `defer[n]`: number of delay slots that run before the branch takes effect, 0 to 3.
        defer: u8,
    },
}
