//! From BPF programs to NFP listings: what the card's driver generates, without the card.
//!
//! Stages, each a module: [`subset`] refuses what the card cannot run; [`step`], [`bounds`] and
//! [`zero_extension`] derive what the kernel's verifier tells the driver; [`optimize`] rewrites;
//! [`translate`] emits instruction by instruction; [`frame`] adds the program's start and end. Costs
//! are not known here.
//!
//! Source: the behaviour of the public driver (`bpf/jit.c`, `bpf/verifier.c`, `bpf/main.h`,
//! `nfp_asm.h` at the version that the published listings were made with) under Linux 5.4, and of
//! the patch to it that the throughput-guarantees paper publishes for its array map.

mod alu;
mod assembler;
mod bounds;
mod call;
mod context;
mod copy;
mod deviation;
mod divide;
mod error;
mod frame;
mod helper;
mod jump;
mod liveness;
mod multiply;
mod optimize;
mod packet;
mod refusal;
mod shift;
mod size;
mod stack;
mod step;
mod subset;
mod translate;
mod zero_extension;

pub use error::CompileError;
pub use helper::ROOM;
pub use refusal::{Refusal, Refusals};

use slowpath_bpf::lift::{LiftOptions, lift, registers};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_stop::Stop;

use crate::Listing;

/// How programs reach maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapAbi {
    /// The paper's firmware: one array in the card's memory, whose address is in a register. The
    /// only one with published costs.
    #[default]
    ArrayPointer,
    /// The stock firmware: programs call it.
    Call,
}

/// What the firmware has room for.
struct Firmware {
    /// Instructions of a program.
    instructions: usize,
}

impl MapAbi {
    fn firmware(self) -> Firmware {
        match self {
            // `NFD_BPF_MAX_LEN` of the public firmware that the paper's is made from.
            MapAbi::ArrayPointer => Firmware { instructions: 2560 },
            // All of a core's instruction store.
            MapAbi::Call => Firmware { instructions: 8192 },
        }
    }
}

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
        room: ROOM,
        stop: stop.clone(),
        ..LiftOptions::default()
    };
    let lifted = lift(object, program, &given)?;
    let registers = registers(object, program, &given)?;
    let facts = bounds::Facts::of(program, &lifted, &registers, stop)?;
    let room = options.map_abi.firmware().instructions;
    size::check(program, &facts.live, room)?;
    let least = size::least(program, &facts.live);
    let mut plan = step::Plan::new(object, program, &registers, facts, stop)?;
    let mut refused = subset::refused(&plan, options.map_abi);
    refused.extend(optimize::leave_out(&mut plan));
    if let Some(refusals) = Refusals::of(refused) {
        return Err(CompileError::Refused(refusals));
    }
    optimize::optimize(&mut plan);
    let asm = translate::translate(&plan, options.map_abi)?;
    let length = asm.insns.len();
    debug_assert!(least <= length, "{least} of {length} instructions");
    if length > room {
        return Err(size::too_large(&length.to_string(), room));
    }
    let deviations = deviation::deviations(&plan);
    Ok(Compiled { listing: Listing::new(asm.insns), origins: asm.origins, deviations })
}
