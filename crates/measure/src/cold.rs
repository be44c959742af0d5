//! Times paths on cold data: packets of many flows take the same path. Each flow has its own map
//! elements, and all elements together exceed the caches.
//!
//! - `probe` runs changed packets in kernel and interpreter, and tests if they take the path.
//! - `free_bits` finds bits of the packet that only decide which map elements the path touches.
//! - `flows` uses these bits to make packets and map elements, enough to exceed the last-level
//!   cache.
//! - This module verifies by counting that all of these packets take the path.
//!
//! Only map elements are cold. The packet is always warm, because a test run has one buffer, which
//! the CPU has just written. The program's code is warm, too.

mod flows;
mod free_bits;
mod probe;

use std::sync::Arc;
use std::time::Instant;

use slowpath_kernel::timing::{
    Attachments, Preparation, Rotation, Subject, TimingThread, Undo, Wrapper,
};
use slowpath_kernel::{Kernel, LoadedProgram, retry};
use slowpath_replay::Replay;

use crate::case::{Arrangement, Case, InKernel};
use crate::error::MeasureError;
use crate::trial::COUNTING_TIME;
use flows::Flows;
use free_bits::FreeBits;
use probe::Probe;

/// Minimum number of flows for a measurement with cold caches.
const MIN_FLOWS: usize = 16;

/// A path that packets of many flows take, where each flow has its own map elements.
#[derive(Clone, Debug)]
pub struct Cold {
    case: Arc<Case>,
    undo: Undo,
    flows: Flows,
}

impl Cold {
    /// Finds packets that take the same path as `case`, and that together touch more map elements
    /// than fit into a last-level cache of `cache_bytes` bytes. The work is done on the timing
    /// thread.
    ///
    /// # Errors
    /// [`MeasureError::NotCold`] if there are no packets with these properties. Other errors if the
    /// kernel or the interpreter fails.
    pub fn find(
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
        case: &Arc<Case>,
        cache_bytes: u64,
    ) -> Result<Cold, MeasureError> {
        let (kernel, case) = (Arc::clone(kernel), Arc::clone(case));
        let attachments = timing_thread.attachments().clone();
        timing_thread
            .run_job(move |_| Cold::find_on_thread((&kernel, &attachments), case, cache_bytes))?
    }

    fn find_on_thread(
        (kernel, attachments): (&Kernel, &Attachments),
        case: Arc<Case>,
        cache_bytes: u64,
    ) -> Result<Cold, MeasureError> {
        if case.skb.is_some() {
            return Err(MeasureError::not_cold("flows are written only for XDP programs"));
        }
        if case.is_drained() {
            let reason = "the path writes to a ring buffer, which is emptied only between calls";
            return Err(MeasureError::not_cold(reason));
        }
        let undo = undo(kernel, &case)?;
        let mut probe = Probe::new(kernel, &case)?;
        let free_bits = FreeBits::find(&mut probe)?;
        let mut flows = Flows::new(&probe, &free_bits, usize::MAX, cache_bytes)?;
        loop {
            if flows.count() < MIN_FLOWS {
                return Err(MeasureError::not_cold(format!(
                    "only {} packets are known that take the path and use other map elements",
                    flows.count()
                )));
            }
            let cold = Cold { case: Arc::clone(&case), undo: undo.clone(), flows };
            if cold.takes_the_path((kernel, attachments))? {
                return Ok(cold);
            }
            // Some maps keep fewer elements than they have room for, such as evicting maps.
            let fewer = cold.flows.count() / 4;
            flows = Flows::new(&probe, &free_bits, fewer, cache_bytes)?;
        }
    }

    /// Returns true if the packets of all flows take the path. To test this, runs each packet at
    /// least twice, and all of them together for at least [`COUNTING_TIME`].
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
            retry(|| {
                counted.tally(|loaded| {
                    let run = wrapper.run(loaded, &self.case.packet, &self.case.context, repeat);
                    run.map(|run| run.map(|run| run.return_value)).map_err(MeasureError::from)
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
            if round >= 2 && started.elapsed() >= COUNTING_TIME {
                break;
            }
        }
        Ok(true)
    }

    /// Loads the program and adds the map elements of all flows. Also creates the wrapper, a
    /// program that runs first and writes the next flow's packet.
    pub(crate) fn load(&self, kernel: &Kernel) -> Result<(InKernel, Wrapper), MeasureError> {
        let loaded = self.case.load_spread(kernel)?;
        self.flows.fill(&loaded.program)?;
        let wrapper = self.wrapper(kernel, &loaded.program)?;
        Ok((loaded, wrapper))
    }

    fn wrapper(&self, kernel: &Kernel, program: &LoadedProgram) -> Result<Wrapper, MeasureError> {
        let rotation = Some(self.flows.rotation());
        let preparation = Preparation { undo: Some(&self.undo), rotation };
        Ok(Wrapper::new(kernel, program, &preparation)?)
    }

    /// Returns the case whose path the packets of all flows take.
    pub fn case(&self) -> &Arc<Case> {
        &self.case
    }

    /// Returns the rotation over the packets of all flows. Each run gets the next packet.
    pub fn rotation(&self) -> &Rotation {
        self.flows.rotation()
    }

    /// Returns the number of flows. Each flow has one packet.
    pub fn flows(&self) -> usize {
        self.flows.count()
    }

    /// Returns the total size in bytes of the map elements that the packets of all flows touch. It
    /// includes the memory that the kernel needs to manage each element.
    pub fn entry_bytes(&self) -> u64 {
        self.flows.entry_bytes()
    }

    /// Returns the reason why the map elements of all flows together are not larger than the
    /// last-level cache. Returns `None` if they are larger.
    pub fn limited(&self) -> Option<&str> {
        self.flows.limited()
    }
}

/// Returns the program's changes to the packet that must be undone between two runs. These are all
/// of its changes, even if the path does not depend on them, because the packet of the next flow
/// differs in these bytes.
fn undo(kernel: &Kernel, case: &Case) -> Result<Undo, MeasureError> {
    if let Arrangement::Restored(undo) = &case.arrangement {
        return if undo.elements.is_empty() {
            Ok(undo.clone())
        } else {
            Err(MeasureError::not_cold(
                "the path inserts or deletes elements, and only one of these changes is undone \
                 between runs",
            ))
        };
    }
    let mut replay = Replay::new(kernel, &case.object, case.program)?;
    replay.install(&case.witness)?;
    match replay.run(&case.packet, &case.context) {
        Ok(step) => case.packet_undo(&step.effects).map_err(MeasureError::not_cold),
        // The run may depend on unpredictable values. Counting detects changes to the packet that
        // matter.
        Err(_) => Ok(Undo::default()),
    }
}
