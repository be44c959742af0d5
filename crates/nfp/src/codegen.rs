//! From BPF programs to NFP listings: what the card's driver generates, without the card.
//!
//! Stages, each a module, of which one uses only those before it: [`analysis`] derives what the
//! kernel's verifier tells the driver, [`annotated`] keeps it beside the instructions; [`subset`] and
//! [`size`] refuse what the card cannot run; [`optimize`] rewrites; [`emit`] selects the card's
//! instructions and adds the program's start and end; [`deviation`] looks for what the card does
//! differently. Costs are not known here.
//!
//! Source: the behaviour of the public driver (`bpf/jit.c`, `bpf/verifier.c`, `bpf/main.h`,
//! `nfp_code.h` at the version that the published listings were made with) under Linux 5.4, and of
//! the patch to it that the throughput-guarantees paper publishes for its array map.

mod access;
mod analysis;
mod annotated;
mod deviation;
mod emit;
mod error;
mod helpers;
mod optimize;
mod reciprocal;
mod refusal;
mod size;
mod subset;

pub use error::CompileError;
pub use refusal::{Refusal, Refusals};

use slowpath_bpf::lift::{LiftOptions, lift, registers};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_stop::Stop;

use crate::Listing;
use crate::firmware::{MapAbi, RECEIVE};
use analysis::bounds::RangeFacts;
use annotated::AnnotatedProgram;

/// Choices of the compilation.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// How programs reach maps.
    pub map_abi: MapAbi,
    /// When to give up.
    pub stop: Stop,
}

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program for the card, as the driver's dump shows it: ways out lead to
    /// [`crate::FIRST_EXIT`], calls of the firmware behind it.
    pub listing: Listing,
    /// The slot of the BPF program that each instruction is for; `None` for what the driver puts
    /// around the program.
    pub origins: Vec<Option<usize>>,
    /// Where the card does something else than the kernel, one sentence each.
    pub deviations: Vec<String>,
}

/// Compiles a program for the card.
///
/// # Errors
/// [`CompileError`] for programs that the card cannot run, with all instructions and reasons that can
/// be told without compiling further; and when it is time to give up.
pub fn compile(
    object: &Object,
    program: &BpfProgram,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let stop = &options.stop;
    let given = LiftOptions {
        keeps_dead_operations: true,
        receive: RECEIVE,
        stop: stop.clone(),
        ..LiftOptions::default()
    };
    let lifted = lift(object, program, &given)?;
    let registers = registers(object, program, &given)?;
    let facts = RangeFacts::of(program, &lifted, &registers, stop)?;
    let room = options.map_abi.max_instructions();
    size::check(program, &facts.live, room)?;
    let least = size::least(program, &facts.live);
    let mut program = AnnotatedProgram::new(object, program, &registers, facts, stop)?;
    optimize::drop_decided_jumps(&mut program);
    let mut refused = subset::refused(&program, options.map_abi);
    refused.extend(optimize::leave_out(&mut program));
    if let Some(refusals) = Refusals::of(refused) {
        return Err(CompileError::Refused(refusals));
    }
    optimize::optimize(&mut program);
    let code = emit::emit(&program, options.map_abi)?;
    let length = code.insns.len();
    debug_assert!(least <= length, "{least} of {length} instructions");
    if length > room {
        return Err(size::too_large(&length.to_string(), room));
    }
    let deviations = deviation::deviations(&program);
    Ok(Compiled { listing: Listing::new(code.insns), origins: code.origins, deviations })
}
