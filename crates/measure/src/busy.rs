//! A busy loop, timed between other things: it tells whether something disturbed them.

use std::sync::Arc;

use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};
use slowpath_kernel::timing::{Attached, Sample, Station, Subject};
use slowpath_kernel::{Context, Kernel, LoadError, Loaded};

use crate::error::MeasureError;
use crate::references::{PACKET, PASS, REGISTERS, set};

/// Additions of a run.
const ADDITIONS: u32 = 400;

/// The busy loop in the kernel. It stays where it is while other programs are loaded: what it takes
/// is compared with what it took before.
#[derive(Debug)]
pub struct Busy {
    program: Loaded,
    _attached: Attached,
}

impl Busy {
    /// Loads it, on the thread of a station.
    ///
    /// # Errors
    /// If the kernel does not take it.
    pub fn new(station: &Station, kernel: &Arc<Kernel>) -> Result<Busy, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), station.attachments().clone());
        station.perform(move |_| {
            let program = program(&kernel)?;
            let attached = Subject { program: &program, wrapper: None }.attach(&attachments)?;
            Ok(Busy { program, _attached: attached })
        })?
    }

    /// Times it, in one call with so many runs, on the thread of a station.
    ///
    /// # Errors
    /// If the kernel does not run it.
    pub fn sample(
        self: &Arc<Self>,
        station: &Station,
        repeat: u32,
    ) -> Result<Sample, MeasureError> {
        let busy = Arc::clone(self);
        station.perform(move |_| {
            let subject = Subject { program: &busy.program, wrapper: None };
            Ok(subject.sample(&PACKET, &Context::default(), repeat)?)
        })?
    }
}

/// A program of many independent additions. Whatever keeps the CPU from working at its full rate
/// shows here first: a lower frequency, and a neighbour on the same core, which a chain of dependent
/// instructions hardly notices.
fn program(kernel: &Kernel) -> Result<Loaded, LoadError> {
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
