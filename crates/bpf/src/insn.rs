//! The eBPF instruction set, version 4: typed instructions.
//!
//! [`decode()`] reads 8-byte words, [`encode()`] writes them back byte for byte, and `Display` prints an
//! instruction as the kernel's verifier log does. What an instruction means is not known here.
//!
//! Positions count 8-byte *slots*, as the kernel does: a [`Insn::LoadImm64`] takes two, and the
//! second is [`Insn::SecondSlot`] in every list of instructions.
//!
//! Source: RFC 9669 and the kernel's `Documentation/bpf/standardization/instruction-set.rst`; which
//! unused fields must be zero is as the kernel's verifier demands.

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

/// Number of the helper that stands for an instruction that could not be resolved. No kernel has
/// it: a program that can reach such a call is refused, one that cannot is not. The number is
/// libbpf's.
pub const POISON: i32 = 0x0bad_2310;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Insn {
    /// `dst op= src`, or `dst = src` for [`AluOp::Mov`].
    Alu {
        /// 32-bit operations clear the upper half of `dst`.
        width: Width,
        /// The operator.
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
        /// Towards which order.
        kind: SwapKind,
        /// How much: 2, 4 or 8 bytes.
        size: Size,
        /// Operand and destination.
        dst: Register,
    },
    /// `dst` = a 64-bit value or the address of something. Takes two slots.
    LoadImm64 {
        /// Destination.
        dst: Register,
        /// What is loaded.
        value: Imm64,
    },
    /// The second slot of the [`Insn::LoadImm64`] before it. Never executed; a jump here is invalid.
    SecondSlot,
    /// `dst = *(size *)(base + offset)`.
    Load {
        /// Bytes read.
        size: Size,
        /// Whether the value is sign-extended (never for 8 bytes); else it is zero-extended.
        signed: bool,
        /// Destination.
        dst: Register,
        /// Base address.
        base: Register,
        /// Added to the base, in bytes.
        offset: i16,
    },
    /// `*(size *)(base + offset) = src`.
    Store {
        /// Bytes written.
        size: Size,
        /// Base address.
        base: Register,
        /// Added to the base, in bytes.
        offset: i16,
        /// What is written: the low bytes of a register, or a sign-extended immediate.
        src: Source,
    },
    /// An atomic read-modify-write of 4 or 8 bytes.
    Atomic {
        /// The operation and whether it returns the old value.
        op: AtomicOp,
        /// 4 or 8 bytes.
        width: Width,
        /// Base address.
        base: Register,
        /// Added to the base, in bytes.
        offset: i16,
        /// Operand, and destination of the old value for all but compare-and-exchange, which
        /// compares with `r0` and returns there.
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
        /// Added to the base, in bytes.
        offset: i16,
    },
    /// A store with release semantics (kernel 6.15).
    StoreRelease {
        /// Bytes written.
        size: Size,
        /// Base address.
        base: Register,
        /// Added to the base, in bytes.
        offset: i16,
        /// What is written.
        src: Register,
    },
    /// Legacy packet access of classic BPF: `r0 = *(size *)skb[index + offset]`.
    LoadPacket {
        /// Bytes read, in network byte order; never 8.
        size: Size,
        /// Added to the offset (`IND`), or nothing (`ABS`).
        index: Option<Register>,
        /// Offset into the packet, in bytes.
        offset: i32,
    },
    /// Unconditional jump.
    Jump {
        /// In slots, from the next instruction.
        offset: i32,
        /// Whether it is the form with a 32-bit offset, `gotol`.
        long: bool,
    },
    /// Conditional jump.
    Branch {
        /// Width of the comparison.
        width: Width,
        /// When it is taken.
        cond: Condition,
        /// Left operand.
        dst: Register,
        /// Right operand.
        src: Source,
        /// In slots, from the next instruction.
        offset: i16,
    },
    /// A jump that the kernel takes when its loop budget is used up.
    MayGoto {
        /// In slots, from the next instruction.
        offset: i16,
    },
    /// A call; arguments in `r1` to `r5`, result in `r0`.
    Call(Call),
    /// Return from a function or from the program.
    Exit,
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// A helper function, by its number.
    Helper(i32),
    /// A function of the same program.
    Subprogram {
        /// In slots, from the next instruction.
        offset: i32,
    },
    /// A kernel function.
    Kfunc {
        /// Its BTF type number; in a [`crate::BpfProgram`] an index into its `kfuncs`.
        id: i32,
        /// Which module's BTF: 0 for the kernel itself.
        module: i16,
    },
}

/// What a 64-bit immediate load loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Imm64 {
    /// A number.
    Value(u64),
    /// A map, by file descriptor.
    MapFd(i32),
    /// An address inside the value of a map of one element.
    MapFdValue {
        /// File descriptor.
        fd: i32,
        /// Offset into the value, in bytes.
        offset: u32,
    },
    /// A kernel variable.
    Variable {
        /// BTF type number.
        id: i32,
        /// File descriptor of a module's BTF; 0 for the kernel itself.
        module: i32,
    },
    /// A function of the same program, for helpers that call back.
    Function {
        /// In slots, from the next slot (as for calls: target = this slot + 1 + offset).
        offset: i32,
    },
    /// A map, by its index; in a [`crate::BpfProgram`] into [`crate::Object::maps`].
    Map(u32),
    /// An address inside the value of a map of one element.
    MapValue {
        /// Index of the map, as in [`Imm64::Map`].
        map: u32,
        /// Offset into the value, in bytes.
        offset: u32,
    },
}

impl Insn {
    /// How many 8-byte slots the instruction takes: 2 for a 64-bit immediate, 0 for the second slot
    /// itself, else 1.
    pub fn slots(&self) -> usize {
        match self {
            Insn::LoadImm64 { .. } => 2,
            Insn::SecondSlot => 0,
            _ => 1,
        }
    }

    /// The offset of a jump of any kind, in slots from the next instruction; calls have none.
    pub fn jump_offset(&self) -> Option<i64> {
        match *self {
            Insn::Jump { offset, .. } => Some(offset.into()),
            Insn::Branch { offset, .. } | Insn::MayGoto { offset } => Some(offset.into()),
            _ => None,
        }
    }

    /// Where a jump of any kind leads, for an instruction at slot `at`; `None` if it is none, or
    /// leads before the program.
    pub fn jump_target(&self, at: usize) -> Option<usize> {
        relative(at, self.jump_offset()?)
    }

    /// The function of the same program that is called or whose address is taken, for an
    /// instruction at slot `at`; `None` if there is none, or it lies before the program.
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

/// `at + 1 + offset`.
fn relative(at: usize, offset: i64) -> Option<usize> {
    usize::try_from(i64::try_from(at).ok()?.checked_add(1)?.checked_add(offset)?).ok()
}
