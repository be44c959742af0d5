//! Listings: instructions in order, with the lines they were read from.

use crate::Insn;

/// The lowest number of a branch target that leaves the program. A listing is shorter than this,
/// so a target between its end and this number is a listing cut off, not a way out.
pub const FIRST_EXIT: u32 = 15_000;

/// An instruction and where it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The instruction.
    pub insn: Insn,
    /// Its line in the listing, from 1.
    pub line: u32,
}

/// A program as instructions numbered from 0. [`std::fmt::Display`] prints it as the BFD
/// disassembler does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    insns: Vec<Numbered>,
}

impl Listing {
    /// A listing of these instructions, one a line.
    pub fn new(insns: impl IntoIterator<Item = Insn>) -> Self {
        let numbered = (1..).zip(insns).map(|(line, insn)| Numbered { insn, line });
        Listing { insns: numbered.collect() }
    }

    pub(crate) fn from_numbered(insns: Vec<Numbered>) -> Self {
        Listing { insns }
    }

    /// The instructions with their lines; the index is the instruction's number.
    pub fn numbered(&self) -> &[Numbered] {
        &self.insns
    }

    /// The instructions; the index is the instruction's number.
    pub fn insns(&self) -> impl ExactSizeIterator<Item = &Insn> {
        self.insns.iter().map(|numbered| &numbered.insn)
    }

    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.insns.len()
    }

    /// Whether there is no instruction.
    pub fn is_empty(&self) -> bool {
        self.insns.is_empty()
    }
}
