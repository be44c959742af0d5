//! Random XDP programs in C, as people write them: headers parsed with bounds checks, loops over
//! options, state in maps, packets that get shorter and longer. For tests that have a compiler.
//!
//! The programs need no header files. At their end they store in the map `out` a number that tells
//! paths apart, and what they have computed.

mod print;
mod statement;
mod strategy;

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::sequence::Abilities;
use statement::Source;

/// A program in C.
#[derive(Clone)]
pub struct CProgram(Source);

impl CProgram {
    /// Its text: the program `generated` in section `xdp`, and the maps that it uses.
    pub fn text(&self) -> String {
        print::text(&self.0)
    }
}

impl fmt::Debug for CProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Programs in C by number.
pub struct CPrograms(BoxedStrategy<CProgram>);

impl CPrograms {
    /// Programs with these abilities, as far as they are about what such programs do.
    pub fn new(abilities: &Abilities) -> Self {
        CPrograms(strategy::source(abilities).prop_map(CProgram).boxed())
    }

    /// The program of a number, and everything that it shrinks to.
    pub fn tree_of_seed(&self, seed: u64) -> Box<dyn ValueTree<Value = CProgram>> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        self.0.new_tree(&mut runner).expect("nothing is filtered")
    }

    /// The program of a number.
    pub fn of_seed(&self, seed: u64) -> CProgram {
        self.tree_of_seed(seed).current()
    }
}
