//! Measures the speed of the CPU by timing programs that consist of additions. An addition that
//! waits for the previous one takes one clock cycle, and an independent addition takes less.

use std::sync::Arc;

use slowpath_bpf::insn::{Insn, Source};
use slowpath_kernel::Kernel;
use slowpath_kernel::timing::{Attachments, TimingThread};

use crate::error::MeasureError;
use crate::references::{self, AttachedProgram, REGISTERS};

/// Number of additions in the shorter and in the longer of two programs that are otherwise equal.
/// Therefore the overhead of a call and of the kernel's loop cancels out in the difference of their
/// times. The longer program fits into the CPU's caches of decoded instructions.
const ADDITIONS: [u16; 2] = [400, 1000];

/// Programs that consist of additions, loaded into the kernel to measure the speed of the CPU.
#[derive(Debug)]
pub struct Pace {
    dependent: [AttachedProgram; 2],
    independent: [AttachedProgram; 2],
}

/// Times of single additions, which show the speed of the CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paced {
    /// Time in nanoseconds of an addition that waits for the previous one. It is computed as the
    /// difference of two measured times, so it can be negative if the CPU was disturbed.
    pub dependent: f64,
    /// Time in nanoseconds of an addition that does not wait for the previous one.
    pub independent: f64,
}

impl Pace {
    /// Loads the programs into the kernel. The work is done on the timing thread.
    ///
    /// # Errors
    /// If the kernel rejects one of the programs.
    pub fn new(timing_thread: &TimingThread, kernel: &Arc<Kernel>) -> Result<Pace, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), timing_thread.attachments().clone());
        timing_thread.run_job(move |_| {
            let load = |registers| load((&kernel, &attachments), registers);
            Ok(Pace { dependent: load(1)?, independent: load(WIDTH)? })
        })?
    }

    /// Times dependent and independent additions, in calls with `repeat` runs each. The work is
    /// done on the timing thread.
    ///
    /// # Errors
    /// If the kernel does not run the programs.
    pub fn sample(
        self: &Arc<Self>,
        timing_thread: &TimingThread,
        repeat: u32,
    ) -> Result<Paced, MeasureError> {
        let pace = Arc::clone(self);
        timing_thread.run_job(move |_| {
            // The first call after a pause finds cold caches, which would distort a difference.
            pace.dependent[0].sample(repeat)?;
            let dependent = addition(&pace.dependent, repeat)?;
            let independent = addition(&pace.independent, repeat)?;
            Ok(Paced { dependent, independent })
        })?
    }
}

/// Returns the time in nanoseconds of one addition: the time difference between the two programs,
/// divided by the difference between their numbers of additions.
#[allow(clippy::cast_precision_loss, reason = "times and runs of one call are small numbers")]
fn addition([short, long]: &[AttachedProgram; 2], repeat: u32) -> Result<f64, MeasureError> {
    let run = |program: &AttachedProgram| -> Result<f64, MeasureError> {
        let sample = program.sample(repeat)?;
        Ok(sample.nanoseconds as f64 / sample.runs.max(1) as f64)
    };
    let short = run(short)?;
    Ok((run(long)? - short) / f64::from(ADDITIONS[1] - ADDITIONS[0]))
}

/// Number of registers that independent additions write to in turn. One more register contains the
/// number to add.
const WIDTH: usize = REGISTERS.len() - 1;

/// Builds a program that adds one register to `registers` other registers in turn. It does not add
/// a constant, because some CPUs add small constants before an instruction is executed. Also, the
/// JIT compiler may split constants to blind them.
fn additions(count: u16, registers: usize) -> Vec<Insn> {
    let [addend, targets @ ..] = REGISTERS;
    references::additions(count.into(), &targets[..registers], Source::Reg(addend))
}

fn load(
    kernel: (&Kernel, &Attachments),
    registers: usize,
) -> Result<[AttachedProgram; 2], MeasureError> {
    let load = |count| AttachedProgram::new(kernel, "slowpath_pace", &additions(count, registers));
    let [short, long] = ADDITIONS;
    Ok([load(short)?, load(long)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_bpf::insn::{AluOp, Register};

    /// Returns, for each addition except the first few, the number of additions since its
    /// destination register was last written.
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
    fn additions_wait_for_the_last_one_to_their_register() {
        for registers in [1, WIDTH] {
            assert!(distances(registers).iter().all(|&distance| distance == registers));
        }
    }
}
