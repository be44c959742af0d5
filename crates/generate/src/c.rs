//! Random XDP programs in C, in the style of hand-written ones: headers parsed with bounds checks,
//! loops over options, state in maps, packets that shrink and grow. They serve tests that can run a
//! compiler.
//!
//! The programs include no header files. Before they return, they store a number that identifies
//! the path, and their variables, in the map `out`.

mod print;
mod statement;
mod strategy;

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};

use crate::sequence::SequenceFeatures;
use crate::tree_from_seed;
use statement::Source;

/// A program in C.
#[derive(Clone)]
pub struct CProgram(Source);

impl CProgram {
    /// Returns the C source: the program `generated` in section `xdp`, and its maps.
    pub fn text(&self) -> String {
        print::text(&self.0)
    }
}

impl fmt::Debug for CProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Generator of random C programs by seed.
pub struct CPrograms(BoxedStrategy<CProgram>);

impl CPrograms {
    /// Returns a generator of programs with these abilities; abilities that do not apply to C
    /// programs are ignored.
    pub fn new(abilities: &SequenceFeatures) -> Self {
        CPrograms(strategy::source(abilities).prop_map(CProgram).boxed())
    }

    /// Returns the program of a seed, with all programs that it shrinks to.
    pub fn tree_from_seed(&self, seed: u64) -> Box<dyn ValueTree<Value = CProgram>> {
        tree_from_seed(&self.0, seed)
    }

    /// Returns the program of a seed.
    pub fn from_seed(&self, seed: u64) -> CProgram {
        self.tree_from_seed(seed).current()
    }
}
