//! Translates ("lifts") a listing into blocks of micro-operations.
//!
//! Condition codes, the carry between two halves of a 64-bit operation, both register banks and the
//! transfer registers become registers of the IR. The lifter computes all condition codes where an
//! instruction writes them, and removes unused operations at the end. Instructions get cost classes
//! here; the target assigns costs to the classes.
//!
//! Some results of the device are not documented, such as the previous ALU result after an
//! unfinished multiplication. The lifter marks them undefined and rejects programs that read them.

mod alu;
mod blocks;
mod control;
mod core_state;
mod cost;
mod delayed_effects;
mod dispatch;
mod emit;
mod error;
mod field;
mod firmware_call;
mod flow;
mod known_bits;
mod local;
mod memory;
mod multiply;
mod options;
mod result;
mod shift;
mod start;

pub use error::{LiftCause, LiftError};
pub use options::LiftOptions;

use slowpath_ir::{
    BlockId, Input, InputId, InputKind, Instruction, Op, Program, eliminate_dead_operations,
};

use crate::Listing;
use crate::firmware::MAX_PACKET;
use blocks::Lifter;
use core_state::CoreState;

/// Lifts a listing. Instructions that are unreachable from its first instruction, `.0`, are left
/// out.
///
/// # Errors
/// [`LiftError`] for control flow that the device does not support, for instructions whose meaning
/// is not known, and for packet lengths that are impossible.
pub fn lift(listing: &Listing, name: &str, options: &LiftOptions) -> Result<Program, LiftError> {
    if options.min_packet > options.max_packet || options.max_packet > MAX_PACKET {
        let LiftOptions { min_packet: min, max_packet: max, .. } = *options;
        return Err(LiftError::PacketLengths { min, max });
    }
    let basic_blocks = flow::basic_blocks(listing)?;
    let mut lifter = Lifter::new(listing, &basic_blocks);
    let mut blocks = lifter.blocks()?;
    let Lifter { mut core, classes, assumptions, .. } = lifter;
    let result = options.stores_result.then(|| result::store_result(&mut core, &mut blocks));
    let start = start::Start::new(&mut core, options);
    let mut inputs = start.inputs;
    inputs.extend(core.undefined.iter().map(|undefined| Input {
        name: undefined.what.into(),
        width: undefined.width,
        min: 0,
        max: known_bits::mask(undefined.width),
        kind: InputKind::Unknown,
    }));
    let mut program = Program {
        name: name.to_owned(),
        insns: listing
            .insns()
            .map(|insn| Instruction { text: insn.to_string(), source: None })
            .collect(),
        regs: std::mem::take(&mut core.emit.regs),
        inputs,
        draws: std::mem::take(&mut core.emit.draws).into_table(),
        regions: start.regions,
        cost_classes: classes.into_names(),
        prologue: Vec::new(),
        blocks,
        entry: BlockId(0),
        packet_length: Some(start::PACKET_LENGTH),
        assumptions,
        reliances: Vec::new(),
        visit_limits: Vec::new(),
    };
    eliminate_dead_operations(&mut program);
    refuse_undefined(listing, &program, &core)?;
    program.inputs.truncate(start::FIXED_INPUTS);
    start::prologue(&mut program, core, &start.base_regs);
    if let Some(base) = result {
        result::add_region(&mut program, base);
    }
    debug_assert_eq!(program.validate(), Ok(()));
    Ok(program)
}

/// Rejects a program if it may read a value that an earlier instruction leaves undefined.
fn refuse_undefined(
    listing: &Listing,
    program: &Program,
    core: &CoreState,
) -> Result<(), LiftError> {
    for origin in program.blocks.iter().flat_map(|block| &block.ops) {
        if let Op::Input { input: InputId(id), .. } = origin.op {
            let index = (id as usize).saturating_sub(start::FIXED_INPUTS);
            let what = core.undefined[index].what;
            let cause = LiftCause::Undefined { what };
            return Err(LiftError::at(listing, origin.insn.index(), cause));
        }
    }
    Ok(())
}
