//! Translates the instructions of a program to blocks of micro-operations, which define the effect
//! of each instruction. This translation is called lifting.
//!
//! Functions are inlined, so a function has separate blocks for each chain of calls that leads to
//! it. Code that constant conditions exclude is skipped, as in the kernel's verifier. This module
//! names the cost class of each instruction; the target description says how much an instruction
//! of each class costs.
//!
//! Submodules in ascending order; each uses only the ones above it:
//!
//! - `frame`: the points of the lifted program
//! - `state`: the abstract state at a point
//! - `ir`: operations, registers and regions
//! - `layout`: the meaning of the regions
//! - `lifter`: the data for lifting a block
//! - `maps`, `insns`, `calls` and `helpers`: lifting of instructions
//! - `block`: lifting of one block
//! - `walk`: selection of the blocks to lift
//!
//! To add support for an instruction, extend `insns`; for a helper, the table of `helpers`; for a
//! map type, the table of `maps`.

mod block;
mod bytes;
mod calls;
mod content;
mod costs;
mod error;
mod frame;
mod helpers;
mod insns;
mod interference;
mod ir;
mod layout;
mod lifter;
mod linked_code;
mod loop_limits;
mod maps;
mod missing_runs;
mod options;
mod packet_pointers;
mod placed_program;
mod probes;
mod receive;
mod registers;
mod state;
mod support;
mod uninit;
mod visit_limits;
mod walk;

pub use content::{EntryValue, InnerContent, MAX_CONTENT_BYTES, MapContent, MapEntry};
pub use error::LiftError;
pub use layout::elements::{Bytes, Element, Interned, PartialValue};
pub use layout::memory::{FreeElements, Keying, Layout, MapFill, MapLayout};
pub use maps::class::{EntryKeys, entry_keys};
pub use maps::install::array_content;
pub use missing_runs::MissingRuns;
pub use options::{Handover, LiftOptions, Network};
pub use placed_program::PlacedProgram;
pub use probes::path_deciding_variables;
pub use receive::{
    BEHIND_LINEAR, BEHIND_LONGEST, ENVIRONMENTS, ETH_HLEN, Environment, HEAD_ROOM, MAX_METADATA,
    METADATA_SUPPORT, METADATA_WORDS, PacketEnvironment, Receive, TAIL_ROOM, TailRoom,
};
pub use registers::{Offset, RegisterValue, Registers};
pub use state::accessed::Interference;
pub use support::matrix::support_matrix;

use std::collections::BTreeSet;

use slowpath_ir::{
    BlockId, Instruction, Program, RelianceId, SourceLocation, eliminate_dead_operations,
};
use slowpath_stop::Ticker;

use crate::insn::Insn;
use crate::line_info::LineInfo;
use crate::{BpfProgram, Object};
use lifter::{Findings, Lifter};
use linked_code::LinkedCode;
use maps::{install::install, regions::distinct_maps, stated::install_stated};
use receive::LARGEST;
use walk::{explore::explore, fixpoint};

/// The result of lifting: a program in micro-operations, and data to relate it to the original
/// program.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The program in micro-operations. Its instructions are numbered by slot: first those of the
    /// given program, then those of programs that receive the packet by tail calls or handovers.
    pub program: Program,
    /// Programs of the object that contributed instructions, in the order in which `code` contains
    /// their instructions.
    pub programs: Vec<PlacedProgram>,
    /// The BPF instructions, indexed by the instruction numbers of `program`.
    pub code: Vec<Insn>,
    /// Source line of each instruction in `code`, if known.
    pub lines: Vec<Option<LineInfo>>,
    /// Meaning of the memory regions of `program`, such as the packet, the context and the maps.
    pub layout: Layout,
    /// Number of nested function calls at each block; 0 in the entry function.
    pub depths: Vec<u8>,
    /// Uncertain assumptions ([`Program::reliances`]) that can only add runs. A run under such an
    /// assumption may be impossible on the device, but no possible run is missing. A property of
    /// all runs of `program` therefore holds on the device.
    pub over_approximating: BTreeSet<RelianceId>,
    /// Uncertain assumptions ([`Program::reliances`]) that matter only if the program writes to the
    /// packet or moves its start or end.
    pub packet_reliances: BTreeSet<RelianceId>,
    /// Kinds of runs that are possible on the device but missing in the lifted program.
    pub unseen: MissingRuns,
    /// Maps that other CPUs can change between two accesses in the same run.
    pub interference: Interference,
}

/// Translates a program to micro-operations. Skips instructions that no run can reach.
///
/// # Errors
/// [`LiftError`] for unsupported helpers, map types and instructions, and for code that the
/// kernel's verifier rejects. [`LiftError::stopped`] is set when the budget is exhausted.
pub fn lift(
    object: &Object,
    program: &BpfProgram,
    options: &LiftOptions,
) -> Result<Lifted, LiftError> {
    let mut lifter = Lifter::new(object, program, options, Findings::default());
    let lifted = fixpoint::blocks(&mut lifter)?;
    let findings = lifter.findings(&lifted.blocks);
    if findings.is_empty() {
        return finish(object, program, options, lifter, lifted);
    }
    lift_with(object, program, options, findings)
}

/// Lifts two programs that use the same maps, so that their effects on memory can be compared. Both
/// results track the same properties of the maps.
///
/// # Errors
/// [`LiftError`] if one of the programs cannot be lifted, as for [`lift`].
pub fn lift_alike(
    object: &Object,
    programs: [&BpfProgram; 2],
    options: &LiftOptions,
) -> Result<[Lifted; 2], LiftError> {
    let findings = |program| {
        let mut lifter = Lifter::new(object, program, options, Findings::default());
        let lifted = fixpoint::blocks(&mut lifter)?;
        Ok(lifter.findings(&lifted.blocks))
    };
    let [first, second] = programs;
    let (findings_of_first, findings_of_second) = (findings(first)?, findings(second)?);
    let shared = findings_of_first.clone().shared(&findings_of_second);
    let lifted = lift_with(object, first, options, shared)?;
    Ok([lifted, lift_with(object, second, options, findings_of_second.shared(&findings_of_first))?])
}

fn lift_with(
    object: &Object,
    program: &BpfProgram,
    options: &LiftOptions,
    findings: Findings,
) -> Result<Lifted, LiftError> {
    let mut lifter = Lifter::new(object, program, options, findings);
    let lifted = fixpoint::blocks(&mut lifter)?;
    finish(object, program, options, lifter, lifted)
}

/// Assembles the lifted program from its blocks. Adds the operations that set up the packet and the
/// context before the first instruction.
fn finish(
    object: &Object,
    program: &BpfProgram,
    options: &LiftOptions,
    lifter: Lifter<'_>,
    lifted: fixpoint::Blocks,
) -> Result<Lifted, LiftError> {
    let receive = options.receive.with_packet_environment(lifter.packet_environment());
    let visit_limits = lifter.visit_limits.resolved(&lifted.ids);
    let Lifter {
        mut ir,
        code,
        layouts,
        costs,
        mut assumptions,
        missing_runs,
        reliances,
        over_approximating,
        packet_reliances,
        interference,
        program_type,
        ..
    } = lifter;
    assumptions.extend(distinct_maps(&layouts, &object.maps)?);
    let changes = |map: &crate::MapDef| !map.read_only && layouts.contains_key(&map.name);
    if program_type.interruptible && object.maps.iter().any(changes) {
        let sentence = "interrupts of the same CPU change no maps during a run";
        assumptions.insert(sentence.to_owned());
    }
    if program_type.length().is_some() {
        if receive.length.1 == u16::MAX {
            assumptions.insert(format!("packets have at most {LARGEST} bytes before segmentation"));
        }
        let structure = program_type.structure;
        assumptions.insert(format!(
            "every combination of a packet and the fields of struct {structure} can occur"
        ));
    }
    let (mut prologue, packet_length) = ir.prologue(program_type, receive);
    install(&mut ir, &object.maps, &layouts, &options.contents)?;
    install_stated(&mut ir, &object.maps, &layouts);
    prologue.extend(ir.emit.take_ops());
    let layout = Layout {
        program_type,
        result: ir.result,
        packet: ir.packet,
        context: ir.context,
        calls: ir.calls,
        maps: layouts.into_values().collect(),
    };
    let (insns, lines) = instructions(object, &code, options)?;
    let programs = code.placed_programs().collect();
    let code = code.programs().flat_map(|linked| linked.insns.iter().copied()).collect();
    let mut program = Program {
        name: program.name.clone(),
        insns,
        regs: ir.emit.regs,
        inputs: ir.inputs,
        draws: ir.emit.draws.into_table(),
        regions: ir.regions,
        cost_classes: costs.into_classes(),
        prologue,
        blocks: lifted.blocks,
        entry: BlockId(0),
        packet_length: Some(packet_length),
        assumptions: assumptions.into_iter().collect(),
        reliances,
        visit_limits,
    };
    if !options.keeps_dead_operations {
        eliminate_dead_operations(&mut program);
    }
    debug_assert_eq!(program.validate(), Ok(()));
    Ok(Lifted {
        program,
        programs,
        code,
        lines,
        layout,
        depths: lifted.depths,
        over_approximating,
        packet_reliances,
        unseen: missing_runs,
        interference,
    })
}

/// Returns each instruction of the lifted programs with its text, and its source line if known.
fn instructions(
    object: &Object,
    code: &LinkedCode,
    options: &LiftOptions,
) -> Result<(Vec<Instruction>, Vec<Option<LineInfo>>), LiftError> {
    let (mut insns, mut lines) = (Vec::new(), Vec::new());
    let mut ticker = Ticker::new(lifter::INSTRUCTIONS);
    for linked in code.programs() {
        for slot in 0..linked.insns.len() {
            ticker.tick(&options.stop).map_err(LiftError::stop)?;
            let line = linked.lines.get(slot).cloned().flatten();
            let source = line
                .as_ref()
                .map(|line| SourceLocation { file: line.file.to_string(), line: line.line });
            insns.push(Instruction { text: linked.disassemble(object, slot), source });
            lines.push(line);
        }
    }
    Ok((insns, lines))
}

/// Computes the kinds of values (constants, pointers, maps) that each register can have before each
/// instruction of a program.
///
/// # Errors
/// [`LiftError`], as for [`lift`].
pub fn registers(
    object: &Object,
    program: &BpfProgram,
    options: &LiftOptions,
) -> Result<Registers, LiftError> {
    explore(object, program, options)
}
