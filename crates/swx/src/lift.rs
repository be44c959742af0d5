//! Translates ("lifts") a pipeline into blocks of micro-operations.
//!
//! The memory of a run has the packet, the metadata, and room for headers outside the packet. As in
//! DPDK, each header has a pointer, which `extract` moves into the packet. Metadata and headers
//! keep their content from earlier packets, so it can be anything at the start. A register array is
//! a region of 64-bit numbers.
//!
//! The outcome of a lookup is a free choice: a hit with any action of the table, or a miss. Actions
//! are copied to their lookups. Packets have all bytes that a run extracts: DPDK does not check the
//! length, so a run with a shorter packet reads bytes that a longer packet also could have.
//!
//! A packet that `recirculate` returns to the start takes a further pass. Each pass has its own blocks,
//! so that comparisons with its number are decided.

mod emit;
mod flow;
mod layout;
mod options;
mod passes;
mod start;

use std::sync::Arc;

pub use layout::{COLOUR, ENTRY, HASH, Layout, MEMBER, OUTCOME, Work};
pub use options::LiftOptions;

use slowpath_ir::{Instruction as Text, Program, SourceLocation, eliminate_dead_operations};

use crate::error::SpecError;
use crate::resolve::resolve;
use crate::spec::{Instruction, SourceLine, Spec};

/// A translated pipeline.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The program.
    pub program: Program,
    /// Line of each instruction.
    pub lines: Vec<u32>,
    /// Line of the program that each instruction was translated from, if the pipeline names it.
    pub origins: Vec<Option<Arc<SourceLine>>>,
    /// Number of the first instruction of each action, then of `apply`, with the name.
    pub functions: Vec<(u32, String)>,
    /// Tables and selectors that a run may look up more than once. Their outcomes then may
    /// contradict each other.
    pub repeated: Vec<String>,
    /// Learners that a run looks up. Their entries then may have data that no packet teaches.
    pub learners: Vec<String>,
    /// Register arrays that a run reads.
    pub shared: Vec<String>,
    /// Memory and inputs of the program, by their meaning.
    pub layout: Layout,
}

/// Lifts a pipeline.
///
/// # Errors
/// [`SpecError`] for a pipeline that DPDK refuses, and for instructions whose meaning is not known.
pub fn lift(spec: &Spec, name: &str, options: &LiftOptions) -> Result<Lifted, SpecError> {
    let resolved = resolve(spec)?;
    let bodies = spec.actions.iter().map(|action| (&action.name[..], &action.instructions[..]));
    let bodies: Vec<(&str, &[Instruction])> = bodies.chain([("apply", &spec.apply[..])]).collect();
    let mut functions = Vec::new();
    let mut insns = Vec::new();
    let (mut lines, mut origins) = (Vec::new(), Vec::new());
    for (name, instructions) in bodies {
        functions.push((lines.len() as u32, name.to_owned()));
        for instruction in instructions {
            let line = instruction.line.0;
            lines.push(line);
            let origin = instruction.origin.0.clone();
            let source = Some(match &origin {
                Some(one) => SourceLocation { file: one.file.to_string(), line: one.line },
                None => SourceLocation { file: options.file.clone(), line },
            });
            origins.push(origin);
            insns.push(Text { text: instruction.to_string(), source });
        }
    }
    let firsts: Vec<u32> = functions.iter().map(|&(first, _)| first).collect();
    let start = start::Start::new(spec, &resolved, passes::before_packet(&resolved));
    let mut lifter = flow::Lifter::new(spec, &resolved, start, &firsts)?;
    let blocks = lifter.blocks(&lines)?;
    let (repeated, learners) = (lifter.repeated(), lifter.learners());
    let shared = lifter.read_arrays();
    let layout = lifter.layout();
    let mut program = Program { name: name.to_owned(), insns, blocks, ..Program::default() };
    lifter.finish(&mut program, options);
    eliminate_dead_operations(&mut program);
    debug_assert_eq!(program.validate(), Ok(()));
    Ok(Lifted { program, lines, origins, functions, repeated, learners, shared, layout })
}
