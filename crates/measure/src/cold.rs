//! Paths on cold data: many flows take the same path, each with map entries of its own, together
//! larger than the caches.
//!
//! From the bottom: `probe` runs changed packets in kernel and interpreter and says whether they
//! take the path; `freedom` finds bits of the packet that decide only which elements of maps it
//! touches; `flows` makes packets and elements of them, as many as it takes to fill the last-level
//! cache; here it is counted that all of these packets take the path.
//!
//! Of a packet nothing is cold: a test run has one buffer, which the CPU has just written. The code
//! of the program is not either. What differs from run to run is found in maps.

mod flows;
mod freedom;
mod probe;

use std::sync::Arc;
use std::time::Instant;

use slowpath_kernel::timing::{
    Attachments, Preparation, Rotation, Station, Subject, Undo, Wrapper,
};
use slowpath_kernel::{Kernel, Loaded, again};
use slowpath_replay::Replay;

use crate::case::{Arrangement, Case, InKernel};
use crate::error::MeasureError;
use crate::trial::LONG;
use flows::Flows;
use freedom::Freedom;
use probe::Probe;

/// Fewer flows than these are not many.
const FEWEST: usize = 16;

/// A path that many flows take, each with other elements of maps.
#[derive(Clone, Debug)]
pub struct Cold {
    case: Arc<Case>,
    undo: Undo,
    flows: Flows,
}

impl Cold {
    /// Finds packets that take the path of a case and touch more elements of maps than fit into a
    /// last-level cache of so many bytes, on the thread of a station.
    ///
    /// # Errors
    /// [`MeasureError::NotCold`], if there are none; others if kernel or interpreter fail.
    pub fn find(
        station: &Station,
        kernel: &Arc<Kernel>,
        case: &Arc<Case>,
        cache_bytes: u64,
    ) -> Result<Cold, MeasureError> {
        let (kernel, case) = (Arc::clone(kernel), Arc::clone(case));
        let attachments = station.attachments().clone();
        station.perform(move |_| Cold::here((&kernel, &attachments), case, cache_bytes))?
    }

    fn here(
        (kernel, attachments): (&Kernel, &Attachments),
        case: Arc<Case>,
        cache_bytes: u64,
    ) -> Result<Cold, MeasureError> {
        if case.is_drained() {
            let why = "it writes to a ring buffer, which is emptied between calls only";
            return Err(MeasureError::not_cold(why));
        }
        let undo = undo(kernel, &case)?;
        let mut probe = Probe::new(kernel, &case)?;
        let freedom = Freedom::find(&mut probe)?;
        let mut flows = Flows::new(&probe, &freedom, usize::MAX, cache_bytes)?;
        loop {
            if flows.count() < FEWEST {
                return Err(MeasureError::not_cold(format!(
                    "no more than {} packets are known that take the path and look for other \
                     elements of maps",
                    flows.count()
                )));
            }
            let cold = Cold { case: Arc::clone(&case), undo: undo.clone(), flows };
            if cold.takes_the_path((kernel, attachments))? {
                return Ok(cold);
            }
            // Maps that evict, for one, do not keep as many as they have room for.
            let fewer = cold.flows.count() / 4;
            flows = Flows::new(&probe, &freedom, fewer, cache_bytes)?;
        }
    }

    /// Whether the packets of all flows take the path, at least twice and as often as in a load.
    fn takes_the_path(
        &self,
        (kernel, attachments): (&Kernel, &Attachments),
    ) -> Result<bool, MeasureError> {
        let Ok(count) = u32::try_from(self.flows.count()) else { return Ok(false) };
        let (counted, _installed) = self.case.counted(kernel)?;
        self.flows.fill(counted.loaded())?;
        let wrapper = self.wrapper(kernel, counted.loaded())?;
        let subject = Subject { program: counted.loaded(), wrapper: Some(&wrapper) };
        let _attached = subject.attach(attachments)?;
        let run = |repeat: u32| {
            again(|| {
                counted.tally(|loaded| {
                    let run = wrapper.run(loaded, &self.case.packet, &self.case.context, repeat);
                    run.map_err(MeasureError::from)
                })
            })
        };
        let (value, first) = run(1)?;
        if value != Some(self.case.action) || first.instructions != self.case.instructions {
            return Ok(false);
        }
        let started = Instant::now();
        for round in 1.. {
            let (value, tally) = run(count)?;
            if value != Some(self.case.action) || !tally.is_multiple_of(&first, count) {
                return Ok(false);
            }
            if round >= 2 && started.elapsed() >= LONG {
                break;
            }
        }
        Ok(true)
    }

    /// The program in the kernel with the elements of all flows, and what gives it their packets.
    pub(crate) fn load(&self, kernel: &Kernel) -> Result<(InKernel, Wrapper), MeasureError> {
        let loaded = self.case.load_spread(kernel)?;
        self.flows.fill(&loaded.program)?;
        let wrapper = self.wrapper(kernel, &loaded.program)?;
        Ok((loaded, wrapper))
    }

    fn wrapper(&self, kernel: &Kernel, program: &Loaded) -> Result<Wrapper, MeasureError> {
        let rotation = Some(self.flows.rotation());
        let preparation = Preparation { undo: Some(&self.undo), rotation };
        Ok(Wrapper::new(kernel, program, &preparation)?)
    }

    /// The path.
    pub fn case(&self) -> &Arc<Case> {
        &self.case
    }

    /// How the packets differ.
    pub fn rotation(&self) -> &Rotation {
        self.flows.rotation()
    }

    /// How many packets there are.
    pub fn flows(&self) -> usize {
        self.flows.count()
    }

    /// Bytes of the elements of maps that they touch, with what the kernel keeps beside each.
    pub fn entry_bytes(&self) -> u64 {
        self.flows.entry_bytes()
    }

    /// Why these are not more than the last-level cache holds; `None` if they are.
    pub fn limited(&self) -> Option<&str> {
        self.flows.limited()
    }
}

/// What has to be taken back of the packet between two runs, whether or not the path needs it: what
/// differs from flow to flow would be mixed with what the program made of the flow before.
fn undo(kernel: &Kernel, case: &Case) -> Result<Undo, MeasureError> {
    if let Arrangement::Restored(undo) = &case.arrangement {
        return if undo.elements.is_empty() {
            Ok(undo.clone())
        } else {
            Err(MeasureError::not_cold(
                "the path changes which elements there are, and only one of them is put back \
                 between runs"
                    .to_owned(),
            ))
        };
    }
    let mut replay = Replay::new(kernel, &case.object, case.program)?;
    replay.install(&case.witness)?;
    match replay.run(&case.packet, &case.context) {
        Ok(step) => Ok(case.packet_undo(&step.effects)),
        // What is open does not matter; if the packet does, counting shows it.
        Err(_) => Ok(Undo::default()),
    }
}
