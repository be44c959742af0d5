//! Sequences of helper calls on the same maps and packet, with arguments that meet: constants, bytes
//! of the packet, boundaries. Everything that a call does shows: results and what is read back go
//! into branches of different lengths, and into the map `out` at the end.
//!
//! The first word of `out` says which way every branch went, so that [`Sequence::executed`] knows how
//! many instructions a run executed: without an interpreter, and for runs in the kernel.

mod abilities;
mod emit;
mod layout;
mod object;
mod statement;
mod strategy;

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use slowpath_bpf::insn::Insn;

pub use abilities::Abilities;
use emit::{Emitted, emit};
pub use layout::ARGUMENT_BYTES;
use statement::Calls;
pub use statement::Shape;

/// A program that makes a sequence of calls.
#[derive(Clone)]
pub struct Sequence {
    calls: Calls,
    code: Vec<Insn>,
    marks: Vec<(usize, u8)>,
}

impl Sequence {
    fn new(calls: Calls, abilities: &Abilities) -> Sequence {
        let Emitted { code, marks } = emit(&calls, abilities);
        Sequence { calls, code, marks }
    }

    /// The instructions, by slot.
    pub fn code(&self) -> &[Insn] {
        &self.code
    }

    /// The instructions, one a line.
    pub fn listing(&self) -> String {
        let lines = self.code.iter().enumerate().filter(|(_, insn)| **insn != Insn::SecondSlot);
        lines.map(|(slot, insn)| format!("{slot:4}: {insn}\n")).collect()
    }

    /// The maps that its calls are with, by name; not the one for results. Maps `NAMEa` and
    /// `NAMEb` fit into a map of maps with this name.
    pub fn maps(&self) -> impl Iterator<Item = (String, Shape)> + '_ {
        self.calls.maps.iter().enumerate().map(|(n, shape)| (object::name(n + 1), *shape))
    }

    /// The bytes of an ELF object with the one program `sequence` in section `xdp`.
    pub fn object(&self) -> Vec<u8> {
        object::write(&self.code, &self.calls.maps)
    }

    /// How many instructions a run executed that left this word at the start of `out`, or 0 if it
    /// wrote nothing there.
    pub fn executed(&self, ways: u64) -> u64 {
        let mut executed = 0;
        let mut slot = 0;
        while let Some(insn) = self.code.get(slot) {
            executed += 1;
            let bit = self.marks.iter().find(|(at, _)| *at == slot).map(|(_, bit)| *bit);
            slot = match (insn, bit) {
                (Insn::Exit, _) => break,
                (Insn::LoadImm64 { .. }, _) => slot + 2,
                (_, Some(bit)) if ways >> bit & 1 == 0 => {
                    insn.jump_target(slot).unwrap_or(self.code.len())
                }
                _ => slot + 1,
            };
        }
        executed
    }
}

/// Sequences with these abilities.
pub struct Sequences(BoxedStrategy<Sequence>);

impl Sequences {
    /// Sequences with these abilities.
    pub fn new(abilities: Abilities) -> Sequences {
        let calls = strategy::calls(&abilities);
        Sequences(calls.prop_map(move |calls| Sequence::new(calls, &abilities)).boxed())
    }

    /// The sequence of a number, and everything that it shrinks to.
    pub fn tree_of_seed(&self, seed: u64) -> Box<dyn ValueTree<Value = Sequence>> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        self.0.new_tree(&mut runner).expect("nothing is filtered")
    }

    /// The sequence of a number.
    pub fn of_seed(&self, seed: u64) -> Sequence {
        self.tree_of_seed(seed).current()
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, shape) in self.maps() {
            writeln!(f, "{name}: {} of {}, {shape:?}", shape.kind, shape.entries)?;
        }
        for step in &self.calls.steps {
            writeln!(f, "    {step:?}")?;
        }
        for test in &self.calls.tests {
            writeln!(f, "    {test:?}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Sequence {
    /// Instructions as well.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}{}", self.listing())
    }
}
