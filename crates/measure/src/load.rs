//! Cases in the kernel, ready to be timed.

use std::sync::Arc;

use slowpath_kernel::timing::{
    Attached, Attachments, Preparation, Sample, Station, Subject, TimingError, Wrapper,
};
use slowpath_kernel::{Context, Kernel};

use crate::case::{Arrangement, Case, InKernel};
use crate::cold::Cold;
use crate::error::MeasureError;
use crate::references::{busy, empty};

/// What is timed besides cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Many independent additions.
    Busy,
    /// An empty program: what the kernel's loop takes.
    Empty,
    /// An empty program, called as cases are that are restored between runs.
    Wrapped,
}

impl Reference {
    /// All of them, by number: -1, -2 and so on.
    pub const ALL: [Reference; 3] = [Reference::Busy, Reference::Empty, Reference::Wrapped];
}

/// The packet of references.
const PACKET: [u8; 60] = [0; 60];

/// A program in the kernel, attached.
#[derive(Debug)]
struct Ready {
    program: InKernel,
    wrapper: Option<Wrapper>,
    _attached: Attached,
}

/// Cases in the kernel, with programs and maps of their own: nothing is shared with another load.
#[derive(Debug)]
pub struct Load {
    busy: Ready,
    empty: Ready,
    wrapped: Ready,
    cases: Vec<(Arc<Case>, Arc<Ready>)>,
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
    /// Loads cases, on the thread of a station.
    ///
    /// # Errors
    /// If the kernel does not take one of them.
    pub fn new(
        station: &Station,
        kernel: &Arc<Kernel>,
        cases: Vec<Arc<Case>>,
    ) -> Result<Load, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), station.attachments().clone());
        station.perform(move |_| Load::here(&kernel, &attachments, cases))?
    }

    /// Loads cold cases, on the thread of a station: each is followed by an empty program that is
    /// given the same packets, by the same table.
    ///
    /// # Errors
    /// If the kernel does not take one of them.
    pub fn cold(
        station: &Station,
        kernel: &Arc<Kernel>,
        cases: Vec<Arc<Cold>>,
    ) -> Result<Load, MeasureError> {
        let (kernel, attachments) = (Arc::clone(kernel), station.attachments().clone());
        station.perform(move |_| Load::cold_here(&kernel, &attachments, &cases))?
    }

    fn here(
        kernel: &Kernel,
        attachments: &Attachments,
        cases: Vec<Arc<Case>>,
    ) -> Result<Load, MeasureError> {
        let mut ready: Vec<(Arc<Case>, Arc<Ready>)> = Vec::with_capacity(cases.len());
        for case in cases {
            if let Some((_, like)) = ready.iter().find(|(like, _)| like.shares_load(&case)) {
                let like = Arc::clone(like);
                ready.push((case, like));
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
            ready.push((case, Arc::new(Ready::new(attachments, loaded, wrapper)?)));
        }
        Load::of(kernel, attachments, ready)
    }

    fn cold_here(
        kernel: &Kernel,
        attachments: &Attachments,
        cases: &[Arc<Cold>],
    ) -> Result<Load, MeasureError> {
        let mut ready = Vec::with_capacity(2 * cases.len());
        for cold in cases {
            let (loaded, wrapper) = cold.load(kernel)?;
            let empty = InKernel::without_maps(empty(kernel, loaded.program.fragments())?);
            let preparation = Preparation { undo: None, rotation: Some(cold.rotation()) };
            let beside = Wrapper::new(kernel, &empty.program, &preparation)?;
            for (program, wrapper) in [(loaded, wrapper), (empty, beside)] {
                let attached = Ready::new(attachments, program, Some(wrapper))?;
                ready.push((Arc::clone(cold.case()), Arc::new(attached)));
            }
        }
        Load::of(kernel, attachments, ready)
    }

    fn of(
        kernel: &Kernel,
        attachments: &Attachments,
        cases: Vec<(Arc<Case>, Arc<Ready>)>,
    ) -> Result<Load, MeasureError> {
        let alone =
            |program, wrapper| Ready::new(attachments, InKernel::without_maps(program), wrapper);
        let behind = empty(kernel, false)?;
        let wrapper = Wrapper::new(kernel, &behind, &Preparation::default())?;
        Ok(Load {
            busy: alone(busy(kernel)?, None)?,
            empty: alone(empty(kernel, false)?, None)?,
            wrapped: alone(behind, Some(wrapper))?,
            cases,
        })
    }

    /// Times a case, by its number, in one call with so many runs, on the thread of a station. One
    /// whose ring buffers are drained in several, of which nothing but the runs counts.
    ///
    /// # Errors
    /// If there is no such case, or the kernel does not run it.
    pub fn sample(
        self: &Arc<Self>,
        station: &Station,
        case: usize,
        repeat: u32,
    ) -> Result<Sample, MeasureError> {
        let load = Arc::clone(self);
        station.perform(move |_| load.sample_case(case, repeat))?
    }

    /// Times a reference; see [`Load::sample`].
    ///
    /// # Errors
    /// If the kernel does not run it.
    pub fn sample_reference(
        self: &Arc<Self>,
        station: &Station,
        reference: Reference,
        repeat: u32,
    ) -> Result<Sample, MeasureError> {
        let load = Arc::clone(self);
        station.perform(move |_| load.sample_known(reference, repeat))?
    }

    fn sample_case(&self, case: usize, repeat: u32) -> Result<Sample, MeasureError> {
        let missing = || MeasureError::NoCase { number: i64::try_from(case).unwrap_or(i64::MAX) };
        let (case, ready) = self.cases.get(case).ok_or_else(missing)?;
        let InKernel { program, switch, drains, .. } = &ready.program;
        if let (Some(switch), Some(cut)) = (switch, &case.cut) {
            switch.turn(program, cut.at)?;
        }
        let once = |repeat| ready.sample(&case.packet, &case.context, repeat);
        Ok(match drains {
            Some(drains) => drains.sample(repeat, ready.wrapper.is_some(), once)?,
            None => once(repeat)?,
        })
    }

    fn sample_known(&self, reference: Reference, repeat: u32) -> Result<Sample, MeasureError> {
        let ready = match reference {
            Reference::Busy => &self.busy,
            Reference::Empty => &self.empty,
            Reference::Wrapped => &self.wrapped,
        };
        Ok(ready.sample(&PACKET, &Context::default(), repeat)?)
    }
}
