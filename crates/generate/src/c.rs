//! Random XDP programs in C, in the style of hand-written ones: headers parsed with bounds checks,
//! loops over options, state in maps, packets that shrink and grow. They serve tests that have a
//! compiler.
//!
//! The programs need no header files. Before they return, they store a number that identifies the
//! path, and their variables, in the map `out`.

mod print;
mod statement;
mod strategy;

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::sequence::SequenceFeatures;
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

/// Random C programs, each identified by a seed.
pub struct CPrograms(BoxedStrategy<CProgram>);

impl CPrograms {
    /// Returns a generator of programs with these abilities. Abilities that do not apply to C
    /// programs are ignored.
    pub fn new(abilities: &SequenceFeatures) -> Self {
        CPrograms(strategy::source(abilities).prop_map(CProgram).boxed())
    }

    /// Returns the program of a seed, with all programs that it shrinks to.
    pub fn tree_from_seed(&self, seed: u64) -> Box<dyn ValueTree<Value = CProgram>> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        self.0.new_tree(&mut runner).expect("nothing is filtered")
    }

    /// Returns the program of a seed.
    pub fn from_seed(&self, seed: u64) -> CProgram {
        self.tree_from_seed(seed).current()
    }
}
