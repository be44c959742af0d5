//! Compiler from BPF programs to NFP listings. It generates the same code as the card's driver,
//! without the card.
//!
//! The stages are modules, and each uses only those before it. [`analysis`] derives the facts that
//! the kernel's verifier passes to the driver, and [`annotated`] stores them with the instructions.
//! [`subset`] and [`size`] reject programs that the card cannot run. [`optimize`] rewrites the
//! instructions. [`emit`] selects the card's instructions and adds the program's start and end.
//! [`deviation`] finds differences between the card and the kernel. Costs are not known here.
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
mod facts;
mod helpers;
mod optimize;
mod reciprocal;
mod refusal;
mod size;
mod subset;
pub mod tokens;

pub use error::CompileError;
pub use refusal::{Refusal, Refusals};

use slowpath_bpf::lift::{LiftOptions, lift, registers};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_stop::Stop;

use crate::Listing;
use crate::firmware::{MapAbi, RECEIVE};
use analysis::bounds::RangeFacts;
use annotated::AnnotatedProgram;

/// Options of the compiler.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// The interface through which the program accesses maps.
    pub map_abi: MapAbi,
    /// Ends the compilation early.
    pub stop: Stop,
}

/// A program that was compiled for the card.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program for the card, as the driver's dump shows it. Exits branch to
    /// [`crate::FIRST_EXIT`], calls of the firmware to higher numbers.
    pub listing: Listing,
    /// For each instruction, the slot of the BPF program that it implements. `None` for the code
    /// that the driver adds around the program.
    pub origins: Vec<Option<usize>>,
    /// Places where the program behaves differently on the card than in the kernel, one sentence
    /// each.
    pub deviations: Vec<String>,
}

/// Compiles a BPF program for the card.
///
/// # Errors
/// [`CompileError`] if the card cannot run the program, with all reasons and instructions that the
/// failing stage finds. Also if `options.stop` ends the compilation.
pub fn compile(
    object: &Object,
    program: &BpfProgram,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let stop = &options.stop;
    let lift_options = LiftOptions {
        keeps_dead_operations: true,
        receive: RECEIVE,
        stop: stop.clone(),
        ..LiftOptions::default()
    };
    let lifted = lift(object, program, &lift_options)?;
    let registers = registers(object, program, &lift_options)?;
    let facts = RangeFacts::of(program, &lifted, &registers, stop)?;
    let room = options.map_abi.max_instructions();
    size::check(program, &facts.live, room)?;
    let least = size::lower_bound(program, &facts.live);
    let mut program = AnnotatedProgram::new(object, program, &registers, facts, stop)?;
    optimize::drop_decided_jumps(&mut program);
    let mut refused = subset::unsupported(&program, options.map_abi);
    refused.extend(optimize::skip_and_check_jumps(&mut program));
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
