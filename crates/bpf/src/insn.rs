//! Defines the instructions of the eBPF instruction set, version 4, as Rust types.
//!
//! [`decode()`] reads 8-byte words, [`encode()`] writes them back byte for byte, and `Display`
//! prints an instruction as the kernel's verifier log does. The semantics of instructions are
//! defined in [`crate::lift`].
//!
//! Positions count 8-byte *slots*, as in the kernel. A [`Insn::LoadImm64`] takes two slots; the
//! second one is [`Insn::SecondSlot`] in every list of instructions.
//!
//! Source: RFC 9669 and the kernel's `Documentation/bpf/standardization/instruction-set.rst`.
//! Unused fields must be zero, by the rules of the kernel's verifier.

mod code;
mod decode;
mod encode;
mod fields;
pub mod helper;
mod print;
#[cfg(test)]
mod tests;

pub use decode::{DecodeError, decode};
pub use encode::encode;
pub use fields::{AluOp, AtomicOp, Condition, Register, Size, Source, SwapKind, Width};
pub use helper::helper_name;
pub use print::{Names, NoNames};

/// Helper number that marks an instruction whose relocation could not be resolved; libbpf writes
/// the same number. No kernel has this helper: the verifier rejects a program that can reach the
/// call.
pub const POISON: i32 = 0x0bad_2310;

/// One eBPF instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Insn {
    /// `dst op= src`, or `dst = src` for [`AluOp::Mov`].
    Alu {
        /// Width of the operation; 32-bit operations clear the upper half of `dst`.
        width: Width,
        /// Arithmetic or bitwise operator.
        op: AluOp,
        /// Destination and left operand.
        dst: Register,
        /// Right operand.
        src: Source,
    },
    /// `dst = -dst`.
    Neg {
        /// Width of the operation.
        width: Width,
        /// Operand and destination.
        dst: Register,
    },
    /// `dst = (sN)src`: a move with sign extension to `width`.
    MoveSigned {
        /// Width of the result.
        width: Width,
        /// Width of the source; smaller than that of the result.
        from: Size,
        /// Destination.
        dst: Register,
        /// Source.
        src: Register,
    },
    /// Reordering of the low bytes of `dst`; the bits above are cleared.
    Swap {
        /// Target byte order.
        kind: SwapKind,
        /// Number of bytes to reorder: 2, 4 or 8.
        size: Size,
        /// Operand and destination.
        dst: Register,
    },
    /// `dst` = a 64-bit number or the address of a map, variable or function. Takes two slots.
    LoadImm64 {
        /// Destination.
        dst: Register,
        /// Value to load.
        value: Imm64,
    },
    /// The second slot of the preceding [`Insn::LoadImm64`]. Never executed; a jump to it is
    /// invalid.
    SecondSlot,
    /// `dst = *(size *)(base + offset)`.
    Load {
        /// Bytes read.
        size: Size,
        /// True for sign extension (never for 8 bytes), false for zero extension.
        signed: bool,
        /// Destination.
        dst: Register,
        /// Base address.
        base: Register,
        /// Offset from the base, in bytes.
        offset: i16,
    },
    /// `*(size *)(base + offset) = src`.
    Store {
        /// Bytes written.
        size: Size,
        /// Base address.
        base: Register,
        /// Offset from the base, in bytes.
        offset: i16,
        /// Value to write: the low bytes of a register, or a sign-extended immediate.
        src: Source,
    },
    /// An atomic read-modify-write of 4 or 8 bytes.
    Atomic {
        /// The operation; with `fetch`, it returns the old value.
        op: AtomicOp,
        /// Width of the access: 4 or 8 bytes.
        width: Width,
        /// Base address.
        base: Register,
        /// Offset from the base, in bytes.
        offset: i16,
        /// Operand. Receives the old value if the operation fetches it. Compare-and-exchange
        /// compares with `r0` instead, and returns the old value there.
        src: Register,
    },
    /// A load with acquire semantics (kernel 6.15).
    LoadAcquire {
        /// Bytes read.
        size: Size,
        /// Destination.
        dst: Register,
        /// Base address.
        base: Register,
        /// Offset from the base, in bytes.
        offset: i16,
    },
    /// A store with release semantics (kernel 6.15).
    StoreRelease {
        /// Bytes written.
        size: Size,
        /// Base address.
        base: Register,
        /// Offset from the base, in bytes.
        offset: i16,
        /// Register whose value is stored.
        src: Register,
    },
    /// Legacy packet access of classic BPF: `r0 = *(size *)skb[index + offset]`.
    LoadPacket {
        /// Bytes read, in network byte order; never 8.
        size: Size,
        /// Register that is added to the offset (instruction `IND`); `None` for the instruction
        /// `ABS`.
        index: Option<Register>,
        /// Offset into the packet, in bytes.
        offset: i32,
    },
    /// Unconditional jump.
    Jump {
        /// Distance of the target from the next instruction, in 8-byte slots.
        offset: i32,
        /// True for `gotol`, the form with a 32-bit offset.
        long: bool,
    },
    /// Conditional jump.
    Branch {
        /// Width of the comparison.
        width: Width,
        /// Condition under which the jump is taken.
        cond: Condition,
        /// Left operand.
        dst: Register,
        /// Right operand.
        src: Source,
        /// Distance of the target from the next instruction, in 8-byte slots.
        offset: i16,
    },
    /// The instruction `may_goto`. It jumps once the program has used up the kernel's limit on loop
    /// iterations; before that, it does nothing.
    MayGoto {
        /// Distance of the target from the next instruction, in 8-byte slots.
        offset: i16,
    },
    /// A call; arguments in `r1` to `r5`, result in `r0`.
    Call(Call),
    /// Return from a function or from the program.
    Exit,
}

/// The function that a call instruction calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// A helper function, by its number.
    Helper(i32),
    /// A function of the same program.
    Subprogram {
        /// Distance of the function's first instruction from the next instruction, in 8-byte slots.
        offset: i32,
    },
    /// A kernel function.
    Kfunc {
        /// BTF type number of the function; in a [`crate::BpfProgram`], index into its `kfuncs`.
        id: i32,
        /// Index of the module's BTF among the file descriptors that the loader passes to the
        /// kernel (`fd_array`); 0 for a function of the kernel itself.
        module: i16,
    },
}

/// The value that a 64-bit immediate load puts into its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Imm64 {
    /// A number.
    Value(u64),
    /// The address of the map with this file descriptor.
    MapFd(i32),
    /// An address inside the value of the only element of the map with this file descriptor.
    MapFdValue {
        /// File descriptor.
        fd: i32,
        /// Offset into the value, in bytes.
        offset: u32,
    },
    /// The address of a kernel variable.
    Variable {
        /// BTF type number of the variable.
        id: i32,
        /// File descriptor of a module's BTF; 0 for the kernel itself.
        module: i32,
    },
    /// The address of a function of the same program, which a helper calls back.
    Function {
        /// Distance, in 8-byte slots, of the function's first instruction from the slot after the
        /// first slot of this instruction.
        offset: i32,
    },
    /// The address of the map with this index; in a [`crate::BpfProgram`], an index in
    /// [`crate::Object::maps`].
    Map(u32),
    /// An address inside the value of the only element of a map.
    MapValue {
        /// Index of the map, as in [`Imm64::Map`].
        map: u32,
        /// Offset into the value, in bytes.
        offset: u32,
    },
}

impl Insn {
    /// Returns the number of 8-byte slots of the instruction: 2 for a 64-bit immediate, 0 for its
    /// second slot, otherwise 1.
    pub fn slots(&self) -> usize {
        match self {
            Insn::LoadImm64 { .. } => 2,
            Insn::SecondSlot => 0,
            _ => 1,
        }
    }

    /// Returns the distance of a jump of any form, in slots from the next instruction; `None` for
    /// instructions that are not jumps.
    pub fn jump_offset(&self) -> Option<i64> {
        match *self {
            Insn::Jump { offset, .. } => Some(offset.into()),
            Insn::Branch { offset, .. } | Insn::MayGoto { offset } => Some(offset.into()),
            _ => None,
        }
    }

    /// Returns the target slot of a jump of any form that is at slot `at`. `None` for other
    /// instructions, and for targets before the start of the program.
    pub fn jump_target(&self, at: usize) -> Option<usize> {
        relative(at, self.jump_offset()?)
    }

    /// Returns the first slot of the function that this instruction, which is at slot `at`, calls
    /// or takes the address of. `None` for other instructions, and for functions before the start
    /// of the program.
    pub fn function_target(&self, at: usize) -> Option<usize> {
        match *self {
            Insn::Call(Call::Subprogram { offset })
            | Insn::LoadImm64 { value: Imm64::Function { offset }, .. } => {
                relative(at, offset.into())
            }
            _ => None,
        }
    }
}

/// Computes `at + 1 + offset`, the target of a jump at slot `at`; `None` if it is negative.
fn relative(at: usize, offset: i64) -> Option<usize> {
    usize::try_from(i64::try_from(at).ok()?.checked_add(1)?.checked_add(offset)?).ok()
}
