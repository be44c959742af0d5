//! Builds programs of known cost. Their times serve as references for the times of other programs.

use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};
use slowpath_kernel::timing::{Attached, Attachments, Sample, Subject};
use slowpath_kernel::{Context, Kernel, LoadError, LoadedProgram, Variant};

use crate::error::MeasureError;

/// Registers to which additions write in turn. Each addition depends only on the sixth addition
/// before it. Therefore the number of instructions that the CPU can issue limits their rate.
pub const REGISTERS: [Register; 6] =
    [Register::R0, Register::R1, Register::R2, Register::R3, Register::R4, Register::R5];
/// Packet for timed programs that do not read it.
pub const PACKET: [u8; 60] = [0; 60];
/// The return value `XDP_PASS` of `enum xdp_action`. For tc programs, this number means
/// `TC_ACT_SHOT`, which a test run does not carry out.
pub const PASS: u32 = 2;

fn alu(op: AluOp, dst: Register, src: Source) -> Insn {
    Insn::Alu { width: Width::W64, op, dst, src }
}

fn pass() -> [Insn; 2] {
    [alu(AluOp::Mov, Register::R0, Source::Imm(PASS.cast_signed())), Insn::Exit]
}

/// Loads a program that only returns [`PASS`].
pub fn empty(kernel: &Kernel, variant: Variant) -> Result<LoadedProgram, LoadError> {
    kernel.load_generated("slowpath_empty", &pass(), variant)
}

/// Builds a program of `count` additions. They add `addend` to the registers `targets` in turn.
pub fn additions(count: usize, targets: &[Register], addend: Source) -> Vec<Insn> {
    let set = |&register: &Register| alu(AluOp::Mov, register, Source::Imm(3));
    let mut insns: Vec<Insn> = REGISTERS.iter().map(set).collect();
    let targets = targets.iter().copied().cycle().take(count);
    insns.extend(targets.map(|dst| alu(AluOp::Add, dst, addend)));
    insns.extend(pass());
    insns
}

/// A program that is attached in the kernel and does not read its packet.
#[derive(Debug)]
pub struct AttachedProgram {
    program: LoadedProgram,
    _attached: Attached,
}

impl AttachedProgram {
    pub fn new(
        (kernel, attachments): (&Kernel, &Attachments),
        name: &str,
        insns: &[Insn],
    ) -> Result<AttachedProgram, MeasureError> {
        let program = kernel.load_generated(name, insns, Variant::xdp(false))?;
        let attached = Subject { program: &program, wrapper: None }.attach(attachments)?;
        Ok(AttachedProgram { program, _attached: attached })
    }

    /// Times one test-run call of the kernel with `repeat` runs.
    pub fn sample(&self, repeat: u32) -> Result<Sample, MeasureError> {
        let subject = Subject { program: &self.program, wrapper: None };
        Ok(subject.sample(&PACKET, &Context::default(), repeat)?)
    }
}
