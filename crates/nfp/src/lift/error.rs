//! Errors that occur when a listing is lifted, with their position and a hint.

use slowpath_codes as codes;
use thiserror::Error;

use crate::Listing;

/// A listing that cannot be lifted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LiftError {
    /// An instruction that cannot be lifted.
    #[error("instruction .{insn} (line {line}): {cause}{}", hint_text(.cause))]
    Instruction {
        /// Number of the instruction in the listing.
        insn: u32,
        /// Line in the listing, from 1.
        line: u32,
        /// Reason why the instruction cannot be lifted.
        cause: LiftCause,
    },
    /// A listing without instructions.
    #[error("the listing has no instructions")]
    Empty,
    /// Impossible packet lengths in the options.
    #[error(
        "packets of {min} to {max} bytes are impossible (the shortest must not exceed the \
         longest, and the longest not 16383)"
    )]
    PacketLengths {
        /// Length of the shortest packet in bytes.
        min: u16,
        /// Length of the longest packet in bytes.
        max: u16,
    },
}

impl LiftError {
    /// Returns the code of the error's cause.
    pub fn code(&self) -> codes::Code {
        match self {
            LiftError::Instruction { cause, .. } => cause.code(),
            LiftError::Empty => codes::LISTING_EMPTY,
            LiftError::PacketLengths { .. } => codes::PACKET_LENGTHS,
        }
    }
}

fn hint_text(cause: &LiftCause) -> String {
    cause.hint().map_or(String::new(), |hint| format!(" ({hint})"))
}

/// The reason why an instruction cannot be lifted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LiftCause {
    /// A branch to a number that is neither in the listing nor that of an exit.
    #[error("branch to .{target}, but the listing ends at .{last}")]
    TargetBeyondEnd {
        /// Number of the instruction to which the branch leads.
        target: u32,
        /// Number of the last instruction in the listing.
        last: u32,
    },
    /// A branch into a delay slot of another branch.
    #[error("branch to .{target}, which is a delay slot of .{delay_slot_of}")]
    TargetInDelaySlot {
        /// Number of the instruction to which the branch leads.
        target: u32,
        /// Number of the branch that owns the delay slot.
        delay_slot_of: u32,
    },
    /// A branch in a delay slot.
    #[error("branch in a delay slot of .{delay_slot_of}")]
    BranchInDelaySlot {
        /// Number of the branch that owns the delay slot.
        delay_slot_of: u32,
    },
    /// A branch with more delay slots than the listing has instructions after it.
    #[error("its {defer} delay slots do not fit before the end of the listing at .{last}")]
    DelaySlotsBeyondEnd {
        /// Number of delay slots of the branch.
        defer: u8,
        /// Number of the last instruction in the listing.
        last: u32,
    },
    /// Control continues after the last instruction of the listing.
    #[error("the program continues past the end of the listing")]
    FallsOffEnd,
    /// An instruction that uses a base register of local memory before an earlier write of it, in
    /// another block, takes effect.
    #[error(
        "ActLMAddr{index} takes its new value three cycles later, but a branch comes first, and \
         .{user} uses *l$index{index} by then"
    )]
    LocalBasePending {
        /// Index of the base register, 0 to 3.
        index: u8,
        /// Number of the instruction that uses the base register.
        user: u32,
    },
    /// An `indirect_ref` that takes its length or width from the previous ALU result, although this
    /// value is not a constant.
    #[error("the {what} of `indirect_ref` is not known: bits 8 to 12 of the previous ALU result")]
    UnknownLength {
        /// Name of the field in the ALU result, such as the length.
        what: &'static str,
    },
    /// `add_imm` without `indirect_ref`. This form takes the addend from the instruction itself.
    #[error("`add_imm` without `indirect_ref` is not supported")]
    DirectAddImm,
    /// A range of transfer registers that ends after the last one.
    #[error("{count} transfer registers from $xfer_{first} on extend beyond $xfer_31")]
    TooManyXfers {
        /// Number of the first transfer register.
        first: u8,
        /// Number of transfer registers.
        count: u8,
    },
    /// A multiplication step in the wrong order.
    #[error("`{step}` cannot follow {before}")]
    MulOrder {
        /// Name of the multiplication step, such as `16x16_step1`.
        step: &'static str,
        /// Description of the preceding step in the block, or a text that says that there is none.
        before: String,
    },
    /// A multiplication step whose factors differ from those of the step `start`.
    #[error("`{step}` names other factors than the `start` of this multiplication")]
    MulFactors {
        /// Name of the multiplication step, such as `16x16_step1`.
        step: &'static str,
    },
    /// A kind of multiplication whose result is not documented.
    #[error("`{step}`: multiplications of 24 by 8 bits are not supported")]
    MulUnsupported {
        /// Name of the multiplication step, such as `16x16_step1`.
        step: &'static str,
    },
    /// A memory command that has delay slots, or waits, in a delay slot.
    #[error("memory command in a delay slot of .{delay_slot_of}")]
    MemoryInDelaySlot {
        /// Number of the instruction that owns the delay slot.
        delay_slot_of: u32,
    },
    /// `rtn` outside a called function.
    #[error("no call leads to this `rtn`")]
    ReturnWithoutCall,
    /// A recursive call.
    #[error("the call that returns to .{return_address} can happen again before it has returned")]
    Recursion {
        /// Number of the instruction to which the repeated call returns.
        return_address: u32,
    },
    /// Too many call strings. A call string is the sequence of calls that leads to a block.
    #[error("the program has too many sequences of calls to analyse each")]
    TooManyCallStrings,
    /// A conditional call of the firmware.
    #[error("a conditional branch to the firmware's {name} is not supported")]
    ConditionalCall {
        /// Name of the firmware function.
        name: &'static str,
    },
    /// A call of the firmware without return address.
    #[error("a call of the firmware whose delay slots load no return address into gprB_0")]
    NoReturnAddress,
    /// A control register whose content is unknown.
    #[error("reading the control register {name} is not supported")]
    ControlRegister {
        /// Name of the control register, or its address in hexadecimal.
        name: String,
    },
    /// A read of a control register whose value no instruction receives.
    #[error("`local_csr_rd` is not followed by an `immed` of zero, which takes the value")]
    CsrValueUnused,
    /// `read8` of a partial word.
    #[error("`read8` of {count} bytes: only whole words are supported")]
    PartOfWord {
        /// Number of bytes that the command reads.
        count: u8,
    },
    /// `add` that is neither 32 nor 64 bits wide, or that does not wait.
    #[error("`add` is supported with counts 1 and 5 and with ctx_swap, without indirect_ref")]
    AddForm,
    /// A read of a value that an earlier instruction leaves undefined.
    #[error("it leaves {what} undefined, but later code depends on it")]
    Undefined {
        /// Description of the undefined value.
        what: &'static str,
    },
}

impl LiftCause {
    /// Returns the code of the error's cause.
    pub fn code(&self) -> codes::Code {
        match self {
            LiftCause::TargetBeyondEnd { .. }
            | LiftCause::TargetInDelaySlot { .. }
            | LiftCause::BranchInDelaySlot { .. }
            | LiftCause::DelaySlotsBeyondEnd { .. }
            | LiftCause::MemoryInDelaySlot { .. }
            | LiftCause::FallsOffEnd => codes::LISTING_CONTROL_FLOW,
            LiftCause::LocalBasePending { .. }
            | LiftCause::UnknownLength { .. }
            | LiftCause::CsrValueUnused
            | LiftCause::Undefined { .. } => codes::LISTING_UNDEFINED_VALUE,
            LiftCause::DirectAddImm
            | LiftCause::TooManyXfers { .. }
            | LiftCause::MulUnsupported { .. }
            | LiftCause::ConditionalCall { .. }
            | LiftCause::ControlRegister { .. }
            | LiftCause::PartOfWord { .. }
            | LiftCause::AddForm => codes::LISTING_UNSUPPORTED,
            LiftCause::MulOrder { .. } | LiftCause::MulFactors { .. } => {
                codes::LISTING_MULTIPLICATION
            }
            LiftCause::ReturnWithoutCall
            | LiftCause::Recursion { .. }
            | LiftCause::TooManyCallStrings
            | LiftCause::NoReturnAddress => codes::LISTING_CALLS,
        }
    }
}

impl LiftCause {
    /// Returns a hint for the user; `None` if there is none for this cause.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            LiftCause::TargetBeyondEnd { .. } => {
                "ways out of the program are numbered .15000 and up; is the listing cut off?"
            }
            LiftCause::FallsOffEnd => {
                "programs end with a branch such as br[.15000]; is the listing cut off?"
            }
            LiftCause::DelaySlotsBeyondEnd { .. } => "is the listing cut off?",
            LiftCause::BranchInDelaySlot { .. } | LiftCause::TargetInDelaySlot { .. } => {
                "no known compiler emits this instruction"
            }
            LiftCause::LocalBasePending { .. } => {
                "let three instructions that do not use it follow in the same block"
            }
            LiftCause::UnknownLength { .. } => {
                "set the value with immed, immed_w1 or ld_field in the same block"
            }
            LiftCause::ReturnWithoutCall => {
                "calls load the address to return to into gprA_21 in a delay slot of `br`"
            }
            LiftCause::Recursion { .. } => "recursive functions are not supported",
            LiftCause::DirectAddImm => "the compiler emits add_imm with indirect_ref only",
            LiftCause::MulOrder { .. } => {
                "write a multiplication in one block, as start, step1, step2 and so on, and last"
            }
            _ => return None,
        })
    }
}

impl LiftError {
    /// Returns an error that names instruction `number` and its line.
    pub(super) fn at(listing: &Listing, number: usize, cause: LiftCause) -> Self {
        let line = listing.numbered().get(number).map_or(0, |numbered| numbered.line);
        LiftError::Instruction { insn: number as u32, line, cause }
    }
}
