//! A listing: instructions in order, each with its line in the source text.

use crate::Insn;

/// Branch targets from this number on leave the program. Listings are shorter than this. A target
/// between the end of a listing and this number means that the listing is truncated.
pub const FIRST_EXIT: u32 = 15_000;

/// An instruction with its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The instruction.
    pub insn: Insn,
    /// Line in the listing, from 1.
    pub line: u32,
}

/// A program as instructions numbered from 0. [`std::fmt::Display`] prints it as the BFD
/// disassembler does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    insns: Vec<Numbered>,
}

impl Listing {
    /// Returns a listing of these instructions, one per line.
    pub fn new(insns: impl IntoIterator<Item = Insn>) -> Self {
        let numbered = (1..).zip(insns).map(|(line, insn)| Numbered { insn, line });
        Listing { insns: numbered.collect() }
    }

    pub(crate) fn from_numbered(insns: Vec<Numbered>) -> Self {
        Listing { insns }
    }

    /// Returns the instructions with their lines. The number of an instruction is its index.
    pub fn numbered(&self) -> &[Numbered] {
        &self.insns
    }

    /// Returns the instructions. The number of an instruction is its index.
    pub fn insns(&self) -> impl ExactSizeIterator<Item = &Insn> {
        self.insns.iter().map(|numbered| &numbered.insn)
    }

    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.insns.len()
    }

    /// Returns true if the listing has no instructions.
    pub fn is_empty(&self) -> bool {
        self.insns.is_empty()
    }
}
