//! Cases in the kernel, ready to be timed.

use std::sync::Arc;

use slowpath_kernel::timing::{
    Attached, Preparation, Sample, Station, Subject, TimingError, Trampoline, Wrapper,
};
use slowpath_kernel::{Context, Kernel, Loaded, Namespace};

use crate::case::{Arrangement, Case, InKernel};
use crate::cold::Cold;
use crate::error::MeasureError;
use crate::references::{busy, empty};

/// What is timed besides cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Many independent additions.
    Busy,
    /// An empty program, by itself: what the kernel's loop takes.
    Direct,
    /// An empty program, called as cases are whose runs follow each other.
    Empty,
    /// An empty program, called as cases are that are restored between runs.
    Wrapped,
}

impl Reference {
    /// All of them, by number: -1, -2 and so on.
    pub const ALL: [Reference; 4] =
        [Reference::Busy, Reference::Direct, Reference::Empty, Reference::Wrapped];
}

/// The packet of references.
const PACKET: [u8; 60] = [0; 60];

/// A case in the kernel.
#[derive(Debug)]
struct Ready {
    case: Arc<Case>,
    loaded: Arc<(InKernel, Option<Wrapper>)>,
}

/// What cases of a kind are called through, and what empty programs cost there.
#[derive(Debug)]
struct Way {
    trampoline: Trampoline,
    wrapper: Wrapper,
    empty: Loaded,
    _namespace: Namespace,
}

/// Cases in the kernel, with programs and maps of their own: nothing is shared with another load.
#[derive(Debug)]
pub struct Load {
    direct: Attached,
    busy: Loaded,
    plain: Way,
    /// For programs that take packets in fragments, if there are any.
    fragments: Option<Way>,
    cases: Vec<Ready>,
    _namespace: Namespace,
}

impl Way {
    fn new(kernel: &Kernel, fragments: bool) -> Result<Way, MeasureError> {
        let namespace = Namespace::new().map_err(TimingError::from)?;
        let empty = empty(kernel, fragments)?;
        Ok(Way {
            trampoline: Trampoline::new(kernel, &namespace, fragments)?,
            wrapper: Wrapper::new(kernel, &empty, &Preparation::default())?,
            empty,
            _namespace: namespace,
        })
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
        let kernel = Arc::clone(kernel);
        station.perform(move |_| Load::here(&kernel, cases))?
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
        let kernel = Arc::clone(kernel);
        station.perform(move |_| Load::cold_here(&kernel, &cases))?
    }

    fn here(kernel: &Kernel, cases: Vec<Arc<Case>>) -> Result<Load, MeasureError> {
        let mut ready: Vec<Ready> = Vec::with_capacity(cases.len());
        for case in cases {
            if let Some(like) = ready.iter().find(|like| like.case.shares_load(&case)) {
                let loaded = Arc::clone(&like.loaded);
                ready.push(Ready { case, loaded });
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
            ready.push(Ready { case, loaded: Arc::new((loaded, wrapper)) });
        }
        Load::of(kernel, ready)
    }

    fn cold_here(kernel: &Kernel, cases: &[Arc<Cold>]) -> Result<Load, MeasureError> {
        let mut ready = Vec::with_capacity(2 * cases.len());
        for cold in cases {
            let case = Arc::clone(cold.case());
            let (loaded, wrapper) = cold.load(kernel)?;
            let empty = empty(kernel, loaded.program.fragments())?;
            let preparation = Preparation { undo: None, rotation: Some(cold.rotation()) };
            let beside = Wrapper::new(kernel, &empty, &preparation)?;
            let loaded = Arc::new((loaded, Some(wrapper)));
            ready.push(Ready { case: Arc::clone(&case), loaded });
            let loaded = Arc::new((InKernel::without_maps(empty), Some(beside)));
            ready.push(Ready { case, loaded });
        }
        Load::of(kernel, ready)
    }

    fn of(kernel: &Kernel, ready: Vec<Ready>) -> Result<Load, MeasureError> {
        let namespace = Namespace::new().map_err(TimingError::from)?;
        let fragments = ready.iter().any(|ready| ready.loaded.0.program.fragments());
        Ok(Load {
            direct: Attached::new(&namespace, empty(kernel, false)?)?,
            busy: busy(kernel)?,
            plain: Way::new(kernel, false)?,
            fragments: fragments.then(|| Way::new(kernel, true)).transpose()?,
            cases: ready,
            _namespace: namespace,
        })
    }

    /// Times a case, by its number, in one call with so many runs, on the thread of a station.
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
        let Ready { case, loaded } = self.cases.get(case).ok_or_else(missing)?;
        let (InKernel { program, switch, .. }, wrapper) = &**loaded;
        if let (Some(switch), Some(cut)) = (switch, &case.cut) {
            switch.turn(program, cut.at)?;
        }
        let way = match (&self.fragments, program.fragments()) {
            (Some(way), true) => way,
            _ => &self.plain,
        };
        let subject = Subject { program, wrapper: wrapper.as_ref() };
        Ok(way.trampoline.sample(subject, &case.packet, &case.context, repeat)?)
    }

    fn sample_known(&self, reference: Reference, repeat: u32) -> Result<Sample, MeasureError> {
        let context = Context::default();
        let Way { trampoline, wrapper, empty, .. } = &self.plain;
        let subject = |program, wrapper| Subject { program, wrapper };
        let subject = match reference {
            Reference::Direct => return Ok(self.direct.sample(&PACKET, &context, repeat)?),
            Reference::Busy => subject(&self.busy, None),
            Reference::Empty => subject(empty, None),
            Reference::Wrapped => subject(empty, Some(wrapper)),
        };
        Ok(trampoline.sample(subject, &PACKET, &context, repeat)?)
    }
}
