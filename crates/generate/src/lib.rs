//! Generates random XDP programs for tests. The kernel's verifier accepts them, and the SmartNIC's
//! driver would offload them.
//!
//! [`programs`] is a proptest strategy; its programs shrink to smaller programs of the same kind.
//! [`from_seed`] generates the program that belongs to a seed. A program is generated as a list of
//! statements. Any such list is allowed, and its translation to instructions yields a valid
//! program. The crate does not execute programs or predict their results.
//!
//! ```
//! use slowpath_generate::{Features, from_seed};
//!
//! let program = from_seed(7, &Features { loops: false, ..Features::default() }, 10);
//! let object = slowpath_bpf::Object::parse(&program.object()).unwrap();
//! assert_eq!(object.programs[0].name, "generated");
//! ```
//!
//! Sources: the rules of the kernel's `kernel/bpf/verifier.c`, and the restrictions that the
//! driver's `src/bpf/verifier.c` adds.

pub mod c;
mod emit;
mod features;
mod generated;
mod object;
pub mod sequence;
mod state;
mod statement;
mod strategy;

pub use features::Features;
pub use generated::Generated;
pub use statement::MapShape;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Returns a proptest strategy for programs that use only these features and have about `size`
/// statements on the outermost level.
pub fn programs(features: Features, size: usize) -> impl Strategy<Value = Generated> {
    let statements = strategy::program(&features, size);
    statements.prop_map(move |program| Generated::new(program, &features))
}

/// Generates the program that belongs to a seed. Equal arguments give equal programs.
pub fn from_seed(seed: u64, features: &Features, size: usize) -> Generated {
    let programs = Programs::new(features.clone(), size);
    programs.from_seed(seed)
}

/// Generates programs from seeds, for tests that need thousands of them.
pub struct Programs {
    features: Features,
    statements: BoxedStrategy<statement::Program>,
}

impl Programs {
    /// Creates a generator of programs that use only these features and have about `size`
    /// statements on the outermost level.
    pub fn new(features: Features, size: usize) -> Self {
        let statements = strategy::program(&features, size);
        Programs { features, statements }
    }

    /// Generates the program that belongs to a seed, as [`from_seed`] does.
    pub fn from_seed(&self, seed: u64) -> Generated {
        let tree = tree_from_seed(&self.statements, seed);
        Generated::new(tree.current(), &self.features)
    }
}

/// Generates the value that belongs to a seed, as a proptest value tree, which can shrink the
/// value.
fn tree_from_seed<T: std::fmt::Debug>(
    strategy: &BoxedStrategy<T>,
    seed: u64,
) -> Box<dyn ValueTree<Value = T>> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    strategy.new_tree(&mut runner).expect("nothing is filtered")
}
