//! Compiler from BPF programs to listings for the NFP, the Netronome flow processor. It generates
//! the same code as the card's driver, without the card.
//!
//! The stages are modules, and each uses only those before it. [`analysis`] derives the facts that
//! the kernel's verifier passes to the driver, and [`annotated`] stores them with the instructions.
//! [`subset`] and [`size`] reject programs that the card cannot run. [`optimize`] rewrites the
//! instructions. [`emit`] selects the card's instructions and adds the program's start and end.
//! [`deviation`] finds differences between the card and the kernel. No stage computes execution
//! times.
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
pub use subset::POINTER_OF_SEVERAL_KINDS;

use slowpath_bpf::lift::{LiftOptions, lift, registers};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_stop::Stop;

use crate::Listing;
use crate::firmware::{MapAbi, RECEIVE};
use analysis::bounds::RangeFacts;
use annotated::AnnotatedProgram;

/// Options of the compiler from BPF programs to NFP listings.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// Interface of the card's firmware through which the program accesses maps.
    pub map_abi: MapAbi,
    /// Condition that ends the compilation early.
    pub stop: Stop,
}

/// The result of compiling a BPF program for the card: a listing, and remarks on it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program for the card, as the driver's dump shows it. A branch to instruction number
    /// [`crate::FIRST_EXIT`] ends the program. A branch to a higher number calls the firmware.
    pub listing: Listing,
    /// For each instruction of the listing, the index of the BPF instruction that it implements.
    /// `None` for the code that the driver adds around the program.
    pub origins: Vec<Option<usize>>,
    /// Descriptions, one sentence each, of instructions that behave differently on the card than in
    /// the kernel.
    pub deviations: Vec<String>,
}

/// Compiles a BPF program for the card.
///
/// # Errors
/// [`CompileError`] if the card cannot run the program; it has all reasons and instructions that
/// the failing stage finds. Also [`CompileError`] if `options.stop` ends the compilation.
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
        return Err(CompileError::Refused(Box::new(refusals)));
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
