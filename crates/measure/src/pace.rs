//! Speed of the CPU, measured by two times. An addition that waits for the one before it takes one
//! clock cycle; an independent addition takes less.

use std::sync::Arc;

use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};
use slowpath_kernel::timing::{Attached, Attachments, Subject, TimingThread};
use slowpath_kernel::{Context, Kernel, LoadedProgram};

use crate::error::MeasureError;
use crate::references::{PACKET, PASS, REGISTERS, set};

/// Numbers of additions of the shorter and the longer program. The programs differ in nothing else,
/// so the overhead of a call and of the kernel's loop cancels out. The longer one fits into the
/// caches of decoded instructions.
const ADDITIONS: [u32; 2] = [400, 1000];

/// Programs of additions in the kernel.
#[derive(Debug)]
pub struct Pace {
    dependent: [Ready; 2],
    independent: [Ready; 2],
}

/// A program in the kernel, attached.
#[derive(Debug)]
struct Ready {
    program: LoadedProgram,
    _attached: Attached,
}

/// Times of additions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paced {
    /// Nanoseconds of an addition that waits for the one before it. As a difference of two times,
    /// it may be negative if the CPU was disturbed.
    pub dependent: f64,
    /// Nanoseconds of an independent addition.
    pub independent: f64,
}

impl Pace {
    /// Loads the programs, on a timing thread.
    ///
    /// # Errors
    /// If the kernel rejects one of them.
    pub fn new(timing_thread: &TimingThread, kernel: &Arc<Kernel>) -> Result<Pace, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), timing_thread.attachments().clone());
        timing_thread.run_job(move |_| Pace::here(&kernel, &attachments))?
    }

    fn here(kernel: &Kernel, attachments: &Attachments) -> Result<Pace, MeasureError> {
        let load = |registers| load(kernel, attachments, registers);
        Ok(Pace { dependent: load(1)?, independent: load(WIDTH)? })
    }

    /// Times both kinds, in calls with `repeat` runs each, on a timing thread.
    ///
    /// # Errors
    /// If the kernel does not run them.
    pub fn sample(
        self: &Arc<Self>,
        timing_thread: &TimingThread,
        repeat: u32,
    ) -> Result<Paced, MeasureError> {
        let pace = Arc::clone(self);
        timing_thread.run_job(move |_| {
            // The first call after a pause finds cold caches, which would distort a difference.
            pace.dependent[0].run(repeat)?;
            let dependent = addition(&pace.dependent, repeat)?;
            let independent = addition(&pace.independent, repeat)?;
            Ok(Paced { dependent, independent })
        })?
    }
}

impl Ready {
    #[allow(clippy::cast_precision_loss, reason = "times and runs of one call are small numbers")]
    fn run(&self, repeat: u32) -> Result<f64, MeasureError> {
        let subject = Subject { program: &self.program, wrapper: None };
        let sample = subject.sample(&PACKET, &Context::default(), repeat)?;
        Ok(sample.nanoseconds as f64 / sample.runs.max(1) as f64)
    }
}

/// Returns the nanoseconds of one addition: the time difference of the two programs, divided by the
/// difference of their additions.
fn addition(programs: &[Ready; 2], repeat: u32) -> Result<f64, MeasureError> {
    let [short, long] = programs;
    let more = f64::from(ADDITIONS[1] - ADDITIONS[0]);
    let less = short.run(repeat)?;
    Ok((long.run(repeat)? - less) / more)
}

/// Number of registers that independent additions write to in turn: all but the one that is added.
const WIDTH: usize = REGISTERS.len() - 1;

/// Builds a program of `count` additions to `registers` registers in turn. The operand is a
/// register. Some CPUs add small constants before an instruction is executed, and the JIT compiler
/// may split constants to blind them.
fn additions(count: u32, registers: usize) -> Vec<Insn> {
    let [added, targets @ ..] = REGISTERS;
    let mut insns: Vec<Insn> = REGISTERS.iter().map(|&register| set(register, 3)).collect();
    let targets = targets.into_iter().take(registers).cycle();
    insns.extend(targets.take(count as usize).map(|dst| Insn::Alu {
        width: Width::W64,
        op: AluOp::Add,
        dst,
        src: Source::Reg(added),
    }));
    insns.extend([set(Register::R0, PASS.cast_signed()), Insn::Exit]);
    insns
}

fn load(
    kernel: &Kernel,
    attachments: &Attachments,
    registers: usize,
) -> Result<[Ready; 2], MeasureError> {
    let ready = |count| -> Result<Ready, MeasureError> {
        let code = additions(count, registers);
        let program = kernel.load_generated("slowpath_pace", &code, false)?;
        let attached = Subject { program: &program, wrapper: None }.attach(attachments)?;
        Ok(Ready { program, _attached: attached })
    };
    let [short, long] = ADDITIONS;
    Ok([ready(short)?, ready(long)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns for each addition the distance to the addition that it waits for.
    fn distances(registers: usize) -> Vec<usize> {
        let code = additions(60, registers);
        let target = |insn: &Insn| match insn {
            Insn::Alu { op: AluOp::Add, dst, src: Source::Reg(src), .. } if src != dst => {
                Some(*dst)
            }
            _ => None,
        };
        let targets: Vec<Register> = code.iter().filter_map(target).collect();
        assert_eq!(targets.len(), 60);
        (WIDTH..60)
            .map(|at| 1 + targets[..at].iter().rev().position(|dst| *dst == targets[at]).unwrap())
            .collect()
    }

    #[test]
    fn dependent_additions_wait_for_the_one_before() {
        assert!(distances(1).iter().all(|&distance| distance == 1));
    }

    #[test]
    fn independent_additions_wait_for_none_of_those_beside_them() {
        assert!(distances(WIDTH).iter().all(|&distance| distance == WIDTH));
    }
}
