//! A busy loop that is timed between other programs. Its times show if something disturbed the
//! times of these programs.

use std::sync::Arc;

use slowpath_bpf::insn::Source;
use slowpath_kernel::Kernel;
use slowpath_kernel::timing::{Sample, TimingThread};

use crate::error::MeasureError;
use crate::references::{AttachedProgram, REGISTERS, additions};

const ADDITIONS: usize = 400;

/// A busy loop that is loaded into the kernel. It stays at the same address while other programs
/// are loaded and unloaded, so that its times can be compared with its earlier times.
///
/// The program makes many independent additions. Anything that slows down the CPU affects them
/// first: a lower frequency, or a busy hyperthread on the same core. Such a hyperthread would
/// hardly slow down a chain of dependent instructions.
#[derive(Debug)]
pub struct Busy(AttachedProgram);

impl Busy {
    /// Loads the busy loop into the kernel. The work is done on the timing thread.
    ///
    /// # Errors
    /// If the kernel rejects the program.
    pub fn new(timing_thread: &TimingThread, kernel: &Arc<Kernel>) -> Result<Busy, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), timing_thread.attachments().clone());
        timing_thread.run_job(move |_| {
            let code = additions(ADDITIONS, &REGISTERS, Source::Imm(7));
            AttachedProgram::new((&kernel, &attachments), "slowpath_busy", &code).map(Busy)
        })?
    }

    /// Times one call with `repeat` runs of the busy loop, on the timing thread.
    ///
    /// # Errors
    /// If the kernel does not run the busy loop.
    pub fn sample(
        self: &Arc<Self>,
        timing_thread: &TimingThread,
        repeat: u32,
    ) -> Result<Sample, MeasureError> {
        let busy = Arc::clone(self);
        timing_thread.run_job(move |_| busy.0.sample(repeat))?
    }
}
