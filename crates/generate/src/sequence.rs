//! Generates XDP programs that make sequences of helper calls on the same maps and packet. The
//! arguments of calls often coincide: they are constants, bytes of the packet, and boundary values.
//! Every effect of a call is observable. Results, and values that are read back, decide branches of
//! different lengths and are stored in the map `out`.
//!
//! The first word of `out` records the direction of every branch. From this word,
//! [`Sequence::executed_instructions`] computes how many instructions a run executed, without an
//! interpreter, even for runs in the kernel.

mod abilities;
mod emit;
mod layout;
mod object;
mod statement;
mod strategy;

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use slowpath_bpf::insn::Insn;

use crate::tree_from_seed;

pub use abilities::SequenceFeatures;
use emit::{Emitted, emit};
pub use layout::ARGUMENT_BYTES;
use statement::Calls;
pub use statement::Shape;

/// An XDP program that makes a sequence of helper calls.
#[derive(Clone)]
pub struct Sequence {
    calls: Calls,
    code: Vec<Insn>,
    marks: Vec<(usize, u8)>,
}

impl Sequence {
    fn new(calls: Calls, abilities: &SequenceFeatures) -> Sequence {
        let Emitted { code, marks } = emit(&calls, abilities);
        Sequence { calls, code, marks }
    }

    /// Returns the instructions of the program, indexed by slot.
    pub fn code(&self) -> &[Insn] {
        &self.code
    }

    /// Returns the instructions as text, one per line.
    pub fn listing(&self) -> String {
        let lines = self.code.iter().enumerate().filter(|(_, insn)| **insn != Insn::SecondSlot);
        lines.map(|(slot, insn)| format!("{slot:4}: {insn}\n")).collect()
    }

    /// Returns the names and shapes of the maps that the calls use. The map `out`, which receives
    /// the results, is left out. For a map of maps `NAME`, the object also has the maps `NAMEa` and
    /// `NAMEb`, which can be inserted into it.
    pub fn maps(&self) -> impl Iterator<Item = (String, Shape)> + '_ {
        self.calls.maps.iter().enumerate().map(|(n, shape)| (object::name(n + 1), *shape))
    }

    /// Returns an ELF object with the single program `sequence` in section `xdp`.
    pub fn object(&self) -> Vec<u8> {
        object::write(&self.code, &self.calls.maps)
    }

    /// Returns the number of instructions that a run executed. `directions` is the word that the
    /// run stored at the start of the map `out`, or 0 if it stored none.
    pub fn executed_instructions(&self, directions: u64) -> u64 {
        let mut executed = 0;
        let mut slot = 0;
        while let Some(insn) = self.code.get(slot) {
            executed += 1;
            let bit = self.marks.iter().find(|(at, _)| *at == slot).map(|(_, bit)| *bit);
            slot = match (insn, bit) {
                (Insn::Exit, _) => break,
                (Insn::LoadImm64 { .. }, _) => slot + 2,
                (_, Some(bit)) if directions >> bit & 1 == 0 => {
                    insn.jump_target(slot).unwrap_or(self.code.len())
                }
                _ => slot + 1,
            };
        }
        executed
    }
}

/// Generator of random sequences of helper calls.
pub struct Sequences(BoxedStrategy<Sequence>);

impl Sequences {
    /// Creates a generator of sequences that use these optional features.
    pub fn new(abilities: SequenceFeatures) -> Sequences {
        let calls = strategy::calls(&abilities);
        Sequences(calls.prop_map(move |calls| Sequence::new(calls, &abilities)).boxed())
    }

    /// Generates the sequence that belongs to a seed, as a proptest value tree, which can shrink
    /// the sequence.
    pub fn tree_from_seed(&self, seed: u64) -> Box<dyn ValueTree<Value = Sequence>> {
        tree_from_seed(&self.0, seed)
    }

    /// Generates the sequence that belongs to a seed. Equal seeds give equal sequences.
    pub fn from_seed(&self, seed: u64) -> Sequence {
        self.tree_from_seed(seed).current()
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
    /// Prints the maps and calls of the sequence, and its instructions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}{}", self.listing())
    }
}
