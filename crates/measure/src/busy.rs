//! A busy loop, timed between other programs to detect disturbances of their times.

use std::sync::Arc;

use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};
use slowpath_kernel::timing::{Attached, Sample, Subject, TimingThread};
use slowpath_kernel::{Context, Kernel, LoadError, LoadedProgram};

use crate::error::MeasureError;
use crate::references::{PACKET, PASS, REGISTERS, set};

/// Number of additions in one run.
const ADDITIONS: u32 = 400;

/// The busy loop in the kernel. It stays loaded at the same address while other programs come and
/// go, so that its times can be compared with its earlier times.
#[derive(Debug)]
pub struct Busy {
    program: LoadedProgram,
    _attached: Attached,
}

impl Busy {
    /// Loads the busy loop, on a timing thread.
    ///
    /// # Errors
    /// If the kernel rejects the program.
    pub fn new(timing_thread: &TimingThread, kernel: &Arc<Kernel>) -> Result<Busy, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), timing_thread.attachments().clone());
        timing_thread.run_job(move |_| {
            let program = program(&kernel)?;
            let attached = Subject { program: &program, wrapper: None }.attach(&attachments)?;
            Ok(Busy { program, _attached: attached })
        })?
    }

    /// Times one call of `repeat` runs, on a timing thread.
    ///
    /// # Errors
    /// If the kernel does not run the program.
    pub fn sample(
        self: &Arc<Self>,
        timing_thread: &TimingThread,
        repeat: u32,
    ) -> Result<Sample, MeasureError> {
        let busy = Arc::clone(self);
        timing_thread.run_job(move |_| {
            let subject = Subject { program: &busy.program, wrapper: None };
            Ok(subject.sample(&PACKET, &Context::default(), repeat)?)
        })?
    }
}

/// Builds a program of many independent additions. They are the first to suffer from anything that
/// slows down the CPU: a lower frequency, or a busy sibling on the same core. A chain of dependent
/// instructions would hardly notice the sibling.
fn program(kernel: &Kernel) -> Result<LoadedProgram, LoadError> {
    let mut insns: Vec<Insn> = REGISTERS.iter().map(|&register| set(register, 3)).collect();
    let registers = REGISTERS.iter().copied().cycle();
    insns.extend(registers.take(ADDITIONS as usize).map(|dst| Insn::Alu {
        width: Width::W64,
        op: AluOp::Add,
        dst,
        src: Source::Imm(7),
    }));
    insns.extend([set(Register::R0, PASS.cast_signed()), Insn::Exit]);
    kernel.load_generated("slowpath_busy", &insns, false)
}
