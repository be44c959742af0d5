//! Why a listing has no meaning that can be analysed, where, and what to do about it.

use thiserror::Error;

use crate::Listing;

/// A listing that cannot be lifted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LiftError {
    /// An instruction that cannot be lifted.
    #[error("instruction .{insn} (line {line}): {cause}{}", hint_text(.cause))]
    Instruction {
        /// Its number.
        insn: u32,
        /// Its line in the listing, from 1.
        line: u32,
        /// What is wrong.
        cause: LiftCause,
    },
    /// A listing without instructions.
    #[error("the listing has no instruction")]
    Empty,
    /// Options that no packet fits.
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

fn hint_text(cause: &LiftCause) -> String {
    cause.hint().map_or(String::new(), |hint| format!(" ({hint})"))
}

/// Why an instruction cannot be lifted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LiftCause {
    /// A branch to a number that neither is in the listing nor leaves the program.
    #[error("branch to .{target}, but the listing ends at .{last}")]
    TargetBeyondEnd {
        /// Where it leads.
        target: u32,
        /// The last instruction.
        last: u32,
    },
    /// A branch into the delay slots of another.
    #[error("branch to .{target}, which is a delay slot of .{owner}")]
    TargetInDelaySlot {
        /// Where it leads.
        target: u32,
        /// The branch that the delay slot belongs to.
        owner: u32,
    },
    /// A branch in a delay slot.
    #[error("branch in a delay slot of .{owner}")]
    BranchInDelaySlot {
        /// The branch that the delay slot belongs to.
        owner: u32,
    },
    /// A branch with more delay slots than instructions follow.
    #[error("its {defer} delay slots do not fit before the end of the listing at .{last}")]
    DelaySlotsBeyondEnd {
        /// How many there are.
        defer: u8,
        /// The last instruction.
        last: u32,
    },
    /// Control runs past the last instruction.
    #[error("the program runs on past the end of the listing")]
    FallsOffEnd,
    /// A local-memory base is used in another block while a write of it is on its way.
    #[error(
        "ActLMAddr{index} takes its new value three cycles later, but a branch comes before, and \
         .{user} uses *l$index{index} by then"
    )]
    LocalBaseOnItsWay {
        /// Which base register.
        index: u8,
        /// The instruction that uses it.
        user: u32,
    },
    /// A length from the previous ALU result that is not a constant.
    #[error("the {what} of `indirect_ref` is not known: bits 8 to 12 of the previous ALU result")]
    UnknownLength {
        /// What cannot be told.
        what: &'static str,
    },
    /// `add_imm` that takes its operand from the instruction.
    #[error("`add_imm` without `indirect_ref` is not supported")]
    DirectAddImm,
    /// More transfer registers than there are.
    #[error("{count} transfer registers from $xfer_{first} on end behind $xfer_31")]
    TooManyXfers {
        /// The first.
        first: u8,
        /// How many.
        count: u8,
    },
    /// A multiplication step that does not continue what came before it in the block.
    #[error("`{step}` cannot follow {before}")]
    MulOrder {
        /// The step.
        step: &'static str,
        /// What came before it.
        before: String,
    },
    /// A multiplication step that names other factors than its start.
    #[error("`{step}` names other factors than the `start` of this multiplication")]
    MulFactors {
        /// The step.
        step: &'static str,
    },
    /// A multiplication of a kind whose result is not documented.
    #[error("`{step}`: multiplications of 24 by 8 bits are not supported")]
    MulUnsupported {
        /// The step.
        step: &'static str,
    },
    /// A memory command that has delay slots, or waits, in a delay slot.
    #[error("memory command in a delay slot of .{owner}")]
    MemoryInDelaySlot {
        /// The instruction that the delay slot belongs to.
        owner: u32,
    },
    /// `rtn` that no call leads to.
    #[error("no call leads to this `rtn`")]
    ReturnWithoutCall,
    /// A call inside itself.
    #[error("the call that returns to .{back} can happen again before it has returned")]
    Recursion {
        /// Where it returns to.
        back: u32,
    },
    /// Too many chains of calls.
    #[error("functions are called in too many ways for each to be looked at by itself")]
    TooManyCopies,
    /// A call of the firmware that depends on something.
    #[error("a conditional branch to the firmware's {name} is not supported")]
    ConditionalCall {
        /// The function.
        name: &'static str,
    },
    /// A call of the firmware that does not say where to return to.
    #[error("a call of the firmware whose delay slots load no return address into gprB_0")]
    NoReturnAddress,
    /// A control register whose content is not known.
    #[error("reading the control register {name} is not supported")]
    ControlRegister {
        /// Its name or address.
        name: String,
    },
    /// The value of a control register goes nowhere.
    #[error("`local_csr_rd` is not followed by an `immed` of zero, which takes the value")]
    ValueNotTaken,
    /// `read8` of a part of a word.
    #[error("`read8` of {count} bytes: only whole words are supported")]
    PartOfWord {
        /// How many bytes.
        count: u8,
    },
    /// `add` that is not 32 or 64 bits, or that nothing waits for.
    #[error("`add` is supported with counts 1 and 5 and with ctx_swap, without indirect_ref")]
    AddForm,
    /// An instruction leaves something undefined that is read later.
    #[error("it leaves {what} undefined, and something behind it depends on that")]
    Undefined {
        /// What is undefined.
        what: &'static str,
    },
}

impl LiftCause {
    /// What to do about it, if anything is likely to help.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            LiftCause::TargetBeyondEnd { .. } => {
                "ways out of the program are numbered .15000 and up; is the listing cut off?"
            }
            LiftCause::FallsOffEnd => {
                "programs end by a branch such as br[.15000]; is the listing cut off?"
            }
            LiftCause::DelaySlotsBeyondEnd { .. } => "is the listing cut off?",
            LiftCause::BranchInDelaySlot { .. } | LiftCause::TargetInDelaySlot { .. } => {
                "no compiler emits this"
            }
            LiftCause::LocalBaseOnItsWay { .. } => {
                "let three instructions that do not use it follow in the same block"
            }
            LiftCause::UnknownLength { .. } => {
                "set it by immed, immed_w1 or ld_field in the same block"
            }
            LiftCause::ReturnWithoutCall => {
                "calls load the address to return to into gprA_21 in a delay slot of `br`"
            }
            LiftCause::Recursion { .. } => "recursive functions are not supported",
            LiftCause::DirectAddImm => "the compiler emits add_imm with indirect_ref only",
            LiftCause::MulOrder { .. } => {
                "a multiplication is start, step1, step2 and so on, last, in one block"
            }
            _ => return None,
        })
    }
}

impl LiftError {
    /// An error of instruction `number`.
    pub(super) fn at(listing: &Listing, number: usize, cause: LiftCause) -> Self {
        let line = listing.numbered().get(number).map_or(0, |numbered| numbered.line);
        LiftError::Instruction { insn: number as u32, line, cause }
    }
}
