//! Live cases in the kernel, ready to be timed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use slowpath_kernel::live::{Action, Held, Live, LiveRun, Receiver, ReceiverRun};
use slowpath_kernel::timing::Station;
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Kernel, Loaded, again};

use super::prepare::LiveCase;
use crate::error::MeasureError;

/// What is timed of a live case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveSubject {
    /// The program, on packets that the kernel makes.
    Program,
    /// The minimal program of the same action, on the same packets in the same way.
    Baseline,
    /// A device that receives the packets, with the program in its driver.
    Receiver,
    /// A device that receives as many packets of this length, with a program that drops all.
    ReceiverDrop,
}

impl LiveSubject {
    /// All of them, by number.
    pub const ALL: [LiveSubject; 4] = [
        LiveSubject::Program,
        LiveSubject::Baseline,
        LiveSubject::Receiver,
        LiveSubject::ReceiverDrop,
    ];
}

/// One timed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSample {
    /// Nanoseconds until all packets were sent: wall time by a monotonic raw clock.
    pub nanoseconds: u64,
    /// How many packets these were.
    pub frames: u32,
    /// How many of them arrived: what the program sent, at the device's other end, or what a
    /// receiver got.
    pub arrived: u64,
    /// How many found no room.
    pub lost: u64,
}

/// Live cases in the kernel, with programs and devices of their own: nothing is shared with another
/// load.
#[derive(Debug)]
pub struct LiveLoad {
    cases: Vec<Ready>,
    /// Receivers that drop all, by the length of their packets.
    drops: BTreeMap<usize, Mutex<Receiver>>,
    live: Live,
}

#[derive(Debug)]
struct Ready {
    case: Arc<LiveCase>,
    program: Held,
    /// If it is not the one that [`Live`] has.
    baseline: Option<Held>,
    /// Packets that the program had until now.
    ran: AtomicU64,
    receiver: Option<Mutex<Receiver>>,
    received: AtomicU64,
    _kept: Vec<Kept>,
}

/// What a program that is held or attached needs to stay.
#[derive(Debug)]
struct Kept {
    _program: Loaded,
    _installed: Installed,
}

impl LiveLoad {
    /// Loads cases, on the thread of a station.
    ///
    /// # Errors
    /// If the kernel does not take one of them, or there is no room for devices.
    pub fn new(
        station: &Station,
        kernel: &Arc<Kernel>,
        cases: Vec<Arc<LiveCase>>,
    ) -> Result<LiveLoad, MeasureError> {
        let kernel = Arc::clone(kernel);
        station.perform(move |_| LiveLoad::here(&kernel, cases))?
    }

    fn here(kernel: &Kernel, cases: Vec<Arc<LiveCase>>) -> Result<LiveLoad, MeasureError> {
        let live = Live::new(kernel)?;
        let mut drops = BTreeMap::new();
        let mut ready = Vec::with_capacity(cases.len());
        for case in cases {
            let length = case.case.packet.len();
            if case.unreceived.is_none() && !drops.contains_key(&length) {
                let dropping = live.receiver(live.minimal(Action::Drop), &vec![0; length])?;
                drops.insert(length, Mutex::new(dropping));
            }
            ready.push(Ready::new(kernel, &live, case)?);
        }
        Ok(LiveLoad { cases: ready, drops, live })
    }

    /// Times a case by its number, or what it is held against, on so many packets, so many at a time;
    /// on the thread of a station.
    ///
    /// # Errors
    /// If there is no such case or nothing receives its packets, or a program would have had more of
    /// them in this load than were seen to take the path.
    pub fn sample(
        self: &Arc<Self>,
        station: &Station,
        case: usize,
        subject: LiveSubject,
        frames: u32,
        batch: u32,
    ) -> Result<LiveSample, MeasureError> {
        let load = Arc::clone(self);
        station.perform(move |_| again(|| load.sample_here(case, subject, frames, batch)))?
    }

    fn sample_here(
        &self,
        number: usize,
        subject: LiveSubject,
        frames: u32,
        batch: u32,
    ) -> Result<LiveSample, MeasureError> {
        let missing = || MeasureError::NoCase { number: i64::try_from(number).unwrap_or(i64::MAX) };
        let ready = self.cases.get(number).ok_or_else(missing)?;
        let case = &ready.case.case;
        let run = |held| self.live.run(held, &case.packet, &case.context, frames, batch);
        let receive = |receiver: Option<&Mutex<Receiver>>| {
            let receiver = receiver.ok_or_else(missing)?;
            let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            let run = receiver.run(frames, batch);
            run.map(LiveSample::from).map_err(MeasureError::from)
        };
        let minimal = || self.live.baseline(ready.case.action);
        match subject {
            LiveSubject::Program => {
                ready.charge(&ready.ran, frames)?;
                Ok(run(&ready.program)?.into())
            }
            LiveSubject::Baseline => {
                Ok(run(ready.baseline.as_ref().unwrap_or_else(minimal))?.into())
            }
            LiveSubject::Receiver => {
                ready.charge(&ready.received, frames)?;
                receive(ready.receiver.as_ref())
            }
            LiveSubject::ReceiverDrop => receive(self.drops.get(&case.packet.len())),
        }
    }
}

impl Drop for LiveLoad {
    fn drop(&mut self) {
        self.live.close();
    }
}

impl Ready {
    fn new(kernel: &Kernel, live: &Live, live_case: Arc<LiveCase>) -> Result<Ready, MeasureError> {
        let case = &live_case.case;
        let load = || kernel.load_with_answers(&case.object, case.program, &case.answers);
        let loaded = load()?;
        let installed = case.install_live(live, &loaded, live.device())?;
        let hold = |program: &Loaded| {
            if live_case.rewritten {
                live.hold_rewritten(program, &case.packet)
            } else {
                live.hold(program)
            }
        };
        let program = hold(&loaded)?;
        let minimal = || hold(live.minimal(live_case.action));
        let baseline = live_case.rewritten.then(minimal).transpose()?;
        let mut kept = vec![Kept { _program: loaded, _installed: installed }];
        let mut receiver = None;
        if live_case.unreceived.is_none() {
            let loaded = load()?;
            let made = live.receiver(&loaded, &case.packet)?;
            let installed = case.install_live(live, &loaded, made.device())?;
            kept.push(Kept { _program: loaded, _installed: installed });
            receiver = Some(Mutex::new(made));
        }
        let (ran, received) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Ready { case: live_case, program, baseline, ran, receiver, received, _kept: kept })
    }

    /// Takes so many packets from those that a program can have.
    fn charge(&self, had: &AtomicU64, frames: u32) -> Result<(), MeasureError> {
        let most = self.case.counted;
        let frames = u64::from(frames.max(1));
        let after = had.fetch_add(frames, Ordering::Relaxed).saturating_add(frames);
        if after <= most.into() { Ok(()) } else { Err(MeasureError::NotCounted { frames: most }) }
    }
}

impl From<LiveRun> for LiveSample {
    fn from(run: LiveRun) -> LiveSample {
        let LiveRun { frames, elapsed, delivered: arrived, lost, .. } = run;
        LiveSample { nanoseconds: whole(elapsed.as_nanos()), frames, arrived, lost }
    }
}

impl From<ReceiverRun> for LiveSample {
    fn from(run: ReceiverRun) -> LiveSample {
        let ReceiverRun { frames, elapsed, received: arrived, lost, .. } = run;
        LiveSample { nanoseconds: whole(elapsed.as_nanos()), frames, arrived, lost }
    }
}

fn whole(nanoseconds: u128) -> u64 {
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}
