//! Translates ("lifts") a pipeline to blocks of micro-operations.
//!
//! The memory of a run consists of the packet, the metadata, and space for headers outside of the
//! packet. As in DPDK, each header has a pointer, which `extract` moves into the packet. Metadata
//! and headers keep their content from earlier packets, so they can contain anything at the start.
//! A register array is a region of 64-bit numbers.
//!
//! The result of a table lookup is a free choice: a hit with any action of the table, or a miss.
//! Each lookup has its own copy of the actions. Packets contain all bytes that a run extracts: DPDK
//! does not check the length, so a run with a shorter packet reads bytes that a longer packet could
//! also contain.
//!
//! After `recirculate`, a packet takes another pass. Each pass has its own blocks, so that
//! comparisons with its number have a known result.

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

/// A pipeline in the intermediate representation.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// Program in the intermediate representation.
    pub program: Program,
    /// Line in the `.spec` file of each instruction.
    pub lines: Vec<u32>,
    /// Line of the source program that each instruction was compiled from; `None` if the pipeline
    /// does not state it.
    pub origins: Vec<Option<Arc<SourceLine>>>,
    /// Index of the first instruction of each function, with its name: the actions, then `apply`.
    pub functions: Vec<(u32, String)>,
    /// Tables and selectors that a run may look up more than once. The analysis treats the results
    /// as independent, so they may contradict each other.
    pub repeated: Vec<String>,
    /// Learners that a run looks up. The analysis allows entries with data that no packet could
    /// have written.
    pub learners: Vec<String>,
    /// Names of the register arrays that a run reads.
    pub shared: Vec<String>,
    /// Meaning of the program's regions, inputs and instructions in terms of the pipeline.
    pub layout: Layout,
}

/// Lifts a pipeline. `name` is the name of the program.
///
/// # Errors
/// Returns [`SpecError`] for a pipeline that DPDK rejects, and for instructions whose effects are
/// unknown.
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
