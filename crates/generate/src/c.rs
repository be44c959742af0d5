//! Generates random XDP programs in C in the style of hand-written ones. They parse headers with
//! bounds checks, loop over options, keep state in maps, and shrink and grow packets. Tests that
//! can run a compiler use them.
//!
//! The programs include no header files. Before a program returns, it stores a number that
//! identifies the executed path, and its variables, in the map `out`.

mod print;
mod statement;
mod strategy;

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};

use crate::sequence::SequenceFeatures;
use crate::tree_from_seed;
use statement::Source;

/// A generated program in C.
#[derive(Clone)]
pub struct CProgram(Source);

impl CProgram {
    /// Returns the C source, which consists of the program `generated` in section `xdp`, and its
    /// maps.
    pub fn text(&self) -> String {
        print::text(&self.0)
    }
}

impl fmt::Debug for CProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Generates random C programs from seeds.
pub struct CPrograms(BoxedStrategy<CProgram>);

impl CPrograms {
    /// Creates a generator of programs that use these optional features. Features that do not apply
    /// to C programs are ignored.
    pub fn new(abilities: &SequenceFeatures) -> Self {
        CPrograms(strategy::source(abilities).prop_map(CProgram).boxed())
    }

    /// Generates the program that belongs to a seed, as a proptest value tree, which can shrink the
    /// program.
    pub fn tree_from_seed(&self, seed: u64) -> Box<dyn ValueTree<Value = CProgram>> {
        tree_from_seed(&self.0, seed)
    }

    /// Generates the program that belongs to a seed. Equal seeds give equal programs.
    pub fn from_seed(&self, seed: u64) -> CProgram {
        self.tree_from_seed(seed).current()
    }
}
