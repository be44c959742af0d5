//! When work has to end before it is done: somebody asks, the time is over, the memory is used up.
//!
//! One [`Stop`] is handed down to every stage of an analysis, and each polls it in all that can take
//! long: by [`Stop::reason`] where a turn of a loop takes microseconds, by a [`Ticker`] where it
//! takes less. Nothing here ends anything: whoever polls returns what there is by then.

mod memory;
mod ticker;

pub use ticker::Ticker;

use memory::Watch;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why work has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// Somebody asked for it.
    #[error("interrupted")]
    Interrupted,
    /// The time for all of the work is over.
    #[error("deadline")]
    Deadline,
    /// The time for a part of it is over; see [`Stop::within`].
    #[error("time limit reached")]
    TimeLimit,
    /// The process takes more memory than it may.
    #[error("memory limit")]
    Memory,
}

/// How much the work may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Time from now on.
    pub time: Option<Duration>,
    /// Resident memory of the process, in bytes. Heeded where the system says how much that is
    /// (Linux).
    pub memory: Option<u64>,
    /// Looks at whether to stop, the last of which is answered [`Reason::Interrupted`]: a limit that
    /// is the same every time, for tests.
    pub looks: Option<u64>,
}

/// Says when work has to end. Clones say the same; any thread can ask.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Option<Arc<Shared>>,
    /// When the part of the work ends that this is for.
    until: Option<Instant>,
}

/// How often the memory is looked at.
const PERIOD: Duration = Duration::from_millis(5);

#[derive(Debug)]
struct Shared {
    /// A [`Reason`] as [`code`], or 0: once there is one, it stays.
    reason: AtomicU8,
    started: Instant,
    deadline: Option<Instant>,
    memory: Option<Watch>,
    /// When to look at the memory next, in nanoseconds from the start.
    next_look: AtomicU64,
    /// Looks that are left, if they are limited.
    looks: Option<AtomicU64>,
    /// What is being done.
    doing: Mutex<Doing>,
}

/// What is being done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    /// What it is done to, such as the name of a program; empty when nobody said so.
    pub subject: String,
    /// What it is, such as `unrolling`; empty when nobody said so.
    pub stage: &'static str,
    /// How much of it is done.
    pub done: u64,
    /// What that counts, such as `packets`; empty when nobody said so.
    pub unit: &'static str,
}

/// A reason that lasts, as a number.
fn code(reason: Reason) -> u8 {
    match reason {
        Reason::Interrupted => 1,
        Reason::Deadline => 2,
        Reason::Memory => 3,
        Reason::TimeLimit => 0,
    }
}

impl Stop {
    /// Work that nothing ends.
    pub fn never() -> Stop {
        Stop::default()
    }

    /// Work that ends when asked to, or at a limit.
    pub fn new(limits: Limits) -> Stop {
        let started = Instant::now();
        let shared = Shared {
            reason: AtomicU8::new(0),
            started,
            deadline: limits.time.and_then(|time| started.checked_add(time)),
            memory: limits.memory.and_then(Watch::new),
            next_look: AtomicU64::new(0),
            looks: limits.looks.map(AtomicU64::new),
            doing: Mutex::default(),
        };
        Stop { shared: Some(Arc::new(shared)), until: None }
    }

    /// The same for a part of the work, which ends after `time` at the latest.
    pub fn within(&self, time: Option<Duration>) -> Stop {
        let until = time.and_then(|time| Instant::now().checked_add(time));
        let until = [until, self.until].into_iter().flatten().min();
        Stop { shared: self.shared.clone(), until }
    }

    /// Asks for an end, from any thread.
    pub fn ask(&self) {
        if let Some(shared) = &self.shared {
            shared.set(Reason::Interrupted);
        }
    }

    /// Whether anything can ever end the work.
    pub fn is_possible(&self) -> bool {
        self.shared.is_some() || self.until.is_some()
    }

    /// Why to stop now, if at all. Takes tens of nanoseconds.
    pub fn reason(&self) -> Option<Reason> {
        if self.shared.is_none() && self.until.is_none() {
            return None;
        }
        let lasting = self.shared.as_deref().and_then(Shared::known);
        if lasting.is_some() {
            return lasting;
        }
        let now = Instant::now();
        let lasting = self.shared.as_deref().and_then(|shared| shared.look(now));
        lasting
            .or_else(|| self.until.is_some_and(|until| now >= until).then_some(Reason::TimeLimit))
    }

    /// Goes on, unless it is time to stop.
    ///
    /// # Errors
    /// The reason to stop.
    pub fn check(&self) -> Result<(), Reason> {
        self.reason().map_or(Ok(()), Err)
    }

    /// Time that is left, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        let deadline = self.shared.as_ref().and_then(|shared| shared.deadline);
        let end = [deadline, self.until].into_iter().flatten().min()?;
        Some(end.saturating_duration_since(Instant::now()))
    }

    /// Says what is being done from now on, such as `unrolling`.
    pub fn enter(&self, stage: &'static str) {
        self.change(|doing| {
            (doing.stage, doing.done, doing.unit) = (stage, 0, "");
        });
    }

    /// Says what the work is about from now on, such as the name of a program.
    pub fn about(&self, subject: &str) {
        self.change(|doing| subject.clone_into(&mut doing.subject));
    }

    /// Says how much of the stage is done, in a unit.
    pub fn count(&self, done: u64, unit: &'static str) {
        self.change(|doing| (doing.done, doing.unit) = (done, unit));
    }

    fn change(&self, how: impl FnOnce(&mut Doing)) {
        if let Some(shared) = &self.shared {
            how(&mut shared.doing.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// What is being done.
    pub fn doing(&self) -> Doing {
        let doing = self.shared.as_ref().map(|shared| shared.doing.lock());
        doing.map_or_else(Doing::default, |doing| {
            doing.unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    /// The stage of what is being done; empty when nobody said so.
    pub fn stage(&self) -> &'static str {
        let doing = self.shared.as_ref().map(|shared| shared.doing.lock());
        doing.map_or("", |doing| doing.unwrap_or_else(PoisonError::into_inner).stage)
    }
}

impl Shared {
    fn known(&self) -> Option<Reason> {
        match self.reason.load(Ordering::Relaxed) {
            1 => Some(Reason::Interrupted),
            2 => Some(Reason::Deadline),
            3 => Some(Reason::Memory),
            _ => None,
        }
    }

    /// Keeps a reason; the first one counts.
    fn set(&self, reason: Reason) {
        let code = code(reason);
        // One that came before stays.
        let _ = self.reason.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Looks at the clock, and every now and then at the memory.
    fn look(&self, now: Instant) -> Option<Reason> {
        if let Some(looks) = &self.looks
            && looks.fetch_sub(1, Ordering::Relaxed) <= 1
        {
            self.set(Reason::Interrupted);
        } else if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.set(Reason::Deadline);
        } else if let Some(memory) = &self.memory {
            let elapsed = now.saturating_duration_since(self.started).as_nanos() as u64;
            if elapsed >= self.next_look.load(Ordering::Relaxed) {
                let next = elapsed.saturating_add(PERIOD.as_nanos() as u64);
                self.next_look.store(next, Ordering::Relaxed);
                if memory.is_exceeded() {
                    self.set(Reason::Memory);
                }
            }
        }
        self.known()
    }
}

#[cfg(test)]
mod tests;
