//! Loads cases into the kernel and times them.

use std::sync::Arc;

use slowpath_kernel::timing::{
    Attached, Attachments, Preparation, Sample, Subject, TimingError, TimingThread, Wrapper,
};
use slowpath_kernel::{Context, Kernel, Variant};

use crate::case::{Arrangement, Case, InKernel};
use crate::cold::Cold;
use crate::error::MeasureError;
use crate::references::{PACKET, PASS, empty};

/// A reference program, whose cost is known. It is timed like the cases, for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// An empty program. Its time is the cost of the kernel's loop over the runs of a call.
    Empty,
    /// An empty program that is called through a wrapper, a program that undoes changes before each
    /// run. It is loaded only if a case has a wrapper, too.
    Wrapped,
}

impl Reference {
    /// All reference programs. Callers refer to the first one by the number -1, and to the second
    /// one by -2.
    pub const ALL: [Reference; 2] = [Reference::Empty, Reference::Wrapped];
}

/// A program that is attached in the kernel. An optional wrapper runs first and undoes changes of
/// the previous run.
#[derive(Debug)]
struct Ready {
    program: InKernel,
    wrapper: Option<Wrapper>,
    _attached: Attached,
}

/// A set of cases, loaded into the kernel. Each set has its own programs and maps.
#[derive(Debug)]
pub struct Load {
    empty: Ready,
    wrapped: Option<Ready>,
    cases: Vec<Timed>,
}

#[derive(Debug)]
struct Timed {
    case: Arc<Case>,
    ready: Arc<Ready>,
    /// Return value that each run of the program must have.
    value: u32,
}

impl Ready {
    fn new(
        attachments: &Attachments,
        program: InKernel,
        wrapper: Option<Wrapper>,
    ) -> Result<Ready, TimingError> {
        let subject = Subject { program: &program.program, wrapper: wrapper.as_ref() };
        let attached = subject.attach(attachments)?;
        Ok(Ready { program, wrapper, _attached: attached })
    }

    fn sample(&self, packet: &[u8], context: &Context, repeat: u32) -> Result<Sample, TimingError> {
        let subject = Subject { program: &self.program.program, wrapper: self.wrapper.as_ref() };
        subject.sample(packet, context, repeat)
    }
}

impl Load {
    /// Loads cases into the kernel. The work is done on the timing thread.
    ///
    /// # Errors
    /// If the kernel rejects one of the cases.
    pub fn new(
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
        cases: Vec<Arc<Case>>,
    ) -> Result<Load, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), timing_thread.attachments().clone());
        timing_thread.run_job(move |_| Load::new_on_thread((&kernel, &attachments), cases))?
    }

    /// Loads cases for cold caches into the kernel, on the timing thread. After each case, adds a
    /// second one for comparison: an empty program that gets the same packets.
    ///
    /// # Errors
    /// If the kernel rejects one of the programs.
    pub fn cold(
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
        cases: Vec<Arc<Cold>>,
    ) -> Result<Load, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), timing_thread.attachments().clone());
        timing_thread.run_job(move |_| Load::cold_on_thread((&kernel, &attachments), &cases))?
    }

    fn new_on_thread(
        (kernel, attachments): (&Kernel, &Attachments),
        cases: Vec<Arc<Case>>,
    ) -> Result<Load, MeasureError> {
        let mut timed: Vec<Timed> = Vec::with_capacity(cases.len());
        for case in cases {
            let value = case.expected_value();
            if let Some(other) = timed.iter().find(|other| other.case.shares_load(&case)) {
                let ready = Arc::clone(&other.ready);
                timed.push(Timed { case, ready, value });
                continue;
            }
            let loaded = case.load_spread(kernel)?;
            let wrapper = match &case.arrangement {
                Arrangement::Repeated => None,
                Arrangement::Restored(undo) => {
                    let preparation = Preparation { undo: Some(undo), rotation: None };
                    Some(Wrapper::new(kernel, &loaded.program, &preparation)?)
                }
            };
            let ready = Arc::new(Ready::new(attachments, loaded, wrapper)?);
            timed.push(Timed { case, ready, value });
        }
        Load::with_references((kernel, attachments), timed)
    }

    fn cold_on_thread(
        (kernel, attachments): (&Kernel, &Attachments),
        cases: &[Arc<Cold>],
    ) -> Result<Load, MeasureError> {
        let mut timed = Vec::with_capacity(2 * cases.len());
        for cold in cases {
            let (loaded, wrapper) = cold.load(kernel)?;
            let empty = InKernel::without_maps(empty(kernel, loaded.program.variant())?);
            let preparation = Preparation { undo: None, rotation: Some(cold.rotation()) };
            let for_empty = Wrapper::new(kernel, &empty.program, &preparation)?;
            let value = cold.case().expected_value();
            for (program, wrapper, value) in [(loaded, wrapper, value), (empty, for_empty, PASS)] {
                let ready = Arc::new(Ready::new(attachments, program, Some(wrapper))?);
                timed.push(Timed { case: Arc::clone(cold.case()), ready, value });
            }
        }
        Load::with_references((kernel, attachments), timed)
    }

    fn with_references(
        (kernel, attachments): (&Kernel, &Attachments),
        cases: Vec<Timed>,
    ) -> Result<Load, MeasureError> {
        // The kernel runs programs of one type in one loop. The empty program measures the cost of
        // this loop.
        let of_type = |is_xdp| move |timed: &&Timed| timed.ready.program.program.is_xdp() == is_xdp;
        let (xdp, tc) = (cases.iter().find(of_type(true)), cases.iter().find(of_type(false)));
        if xdp.is_some() && tc.is_some() {
            return Err(MeasureError::SeveralTypes);
        }
        let variant = tc.map_or(Variant::xdp(false), |tc| tc.ready.program.program.variant());
        let attach =
            |program, wrapper| Ready::new(attachments, InKernel::without_maps(program), wrapper);
        let wrapped = if cases.iter().any(|timed| timed.ready.wrapper.is_some()) {
            let program = empty(kernel, variant)?;
            let wrapper = Wrapper::new(kernel, &program, &Preparation::default())?;
            Some(attach(program, Some(wrapper))?)
        } else {
            None
        };
        Ok(Load { empty: attach(empty(kernel, variant)?, None)?, wrapped, cases })
    }

    /// Times the case at this index in one call with `repeat` runs, on the timing thread. If ring
    /// buffers must be emptied, makes several calls, and excludes their overhead.
    ///
    /// # Errors
    /// If the case does not exist, or the kernel does not run it.
    pub fn sample(
        self: &Arc<Self>,
        timing_thread: &TimingThread,
        case: usize,
        repeat: u32,
    ) -> Result<Sample, MeasureError> {
        let load = Arc::clone(self);
        timing_thread.run_job(move |_| load.sample_on_thread(case, repeat))?
    }

    /// Times a reference program in the same way as [`Load::sample`] times a case.
    ///
    /// # Errors
    /// If this load has no such reference, or the kernel does not run it.
    pub fn sample_reference(
        self: &Arc<Self>,
        timing_thread: &TimingThread,
        reference: Reference,
        repeat: u32,
    ) -> Result<Sample, MeasureError> {
        let load = Arc::clone(self);
        timing_thread.run_job(move |_| load.reference_on_thread(reference, repeat))?
    }

    fn sample_on_thread(&self, case: usize, repeat: u32) -> Result<Sample, MeasureError> {
        let missing = || MeasureError::NoCase { number: i64::try_from(case).unwrap_or(i64::MAX) };
        let Timed { case, ready, value } = self.cases.get(case).ok_or_else(missing)?;
        let InKernel { program, selector, drains, .. } = &ready.program;
        if let (Some(selector), Some(cut)) = (selector, &case.cut) {
            selector.select(program, cut.at)?;
        }
        let once = |repeat| ready.sample(&case.packet, &case.context, repeat);
        let sample = match drains {
            Some(drains) => drains.sample(repeat, ready.wrapper.is_some(), once)?,
            None => once(repeat)?,
        };
        let (expected, returned) = (*value, sample.return_value);
        if expected == returned {
            Ok(sample)
        } else {
            Err(MeasureError::OtherValue { expected, returned })
        }
    }

    fn reference_on_thread(
        &self,
        reference: Reference,
        repeat: u32,
    ) -> Result<Sample, MeasureError> {
        let ready = match reference {
            Reference::Empty => &self.empty,
            Reference::Wrapped => self.wrapped.as_ref().ok_or(MeasureError::NoReference)?,
        };
        Ok(ready.sample(&PACKET, &Context::default(), repeat)?)
    }
}
