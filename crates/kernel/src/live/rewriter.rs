//! A program in front of another one, for packets that must not be as a run before left them.

use slowpath_bpf::insn::{Call, Imm64, Insn, Register};
use slowpath_bpf::{MapDef, MapKind};

use super::action::Action;
use super::error::LiveError;
use super::programs::{alu_move, exit, load, map, set, write};
use crate::Loaded;
use crate::sys::Cpus;

/// `bpf_tail_call`.
const TAIL_CALL: i32 = 12;

/// Writes the whole packet anew, and calls a program. What that costs, the same in front of a
/// minimal program tells.
#[derive(Debug)]
pub struct Rewriter {
    program: Loaded,
}

impl Rewriter {
    /// One for this packet and this program.
    pub fn new(packet: &[u8], behind: &Loaded, cpus: Cpus) -> Result<Rewriter, LiveError> {
        let context = Register::R6;
        let mut insns = vec![alu_move(context, Register::R1)];
        insns.extend(write(packet));
        insns.extend([
            alu_move(Register::R1, context),
            Insn::LoadImm64 { dst: Register::R2, value: Imm64::Map(0) },
            Insn::SecondSlot,
            set(Register::R3, 0),
            Insn::Call(Call::Helper(TAIL_CALL)),
        ]);
        insns.extend(exit(Action::Aborted));
        let slot: MapDef = map(MapKind::PROG_ARRAY, "behind");
        let program = load("rewriter", insns, Some((&slot, cpus)))?;
        if let Some(slot) = program.map_at(0) {
            slot.set_program(0, behind)?;
        }
        Ok(Rewriter { program })
    }

    /// The program that is run; it calls nothing once this is gone.
    pub fn program(&self) -> &Loaded {
        &self.program
    }
}
