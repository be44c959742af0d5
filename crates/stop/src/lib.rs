//! Stops work early on an interrupt, at a time limit, or at a memory limit.
//!
//! Callers pass one [`Stop`] to every stage of an analysis. Each stage polls it in long loops: with
//! [`Stop::reason`] if an iteration takes microseconds, with a [`Ticker`] if it takes less. This
//! crate does not end any work: the code that polls stops, and returns its results so far.

mod memory;

use memory::Watch;
use slowpath_codes as codes;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Reason for stopping work early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// Another thread or the user asked the work to stop.
    #[error("interrupted")]
    Interrupted,
    /// The deadline for the whole work has passed.
    #[error("deadline")]
    Deadline,
    /// The time limit for a part of the work has passed; [`Stop::within`] sets it.
    #[error("time limit reached")]
    TimeLimit,
    /// The process uses more memory than allowed.
    #[error("memory limit")]
    Memory,
}

impl Reason {
    /// Returns the code for work that stopped for this reason.
    pub fn code(&self) -> codes::Code {
        match self {
            Reason::Interrupted => codes::INTERRUPTED,
            Reason::Deadline | Reason::TimeLimit => codes::STOPPED_AT_DEADLINE,
            Reason::Memory => codes::STOPPED_AT_MEMORY_LIMIT,
        }
    }
}

/// Limits on the time and memory that an analysis may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Maximum time, measured from the creation of the [`Stop`]; `None` for no limit.
    pub time: Option<Duration>,
    /// Maximum resident memory of the process, in bytes; `None` for no limit. It applies only on
    /// systems that report the memory (Linux).
    pub memory: Option<u64>,
    /// Number of polls after which the work stops; `None` for no limit. The last of these polls
    /// returns [`Reason::Interrupted`]. Tests use this limit because it is reproducible.
    pub polls: Option<u64>,
}

/// A handle on which work polls whether it must end. Clones share their state, and any thread can
/// use them.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Option<Arc<Shared>>,
    /// Time at which the part of the work that uses this handle must end; `None` for no time limit.
    until: Option<Instant>,
}

/// Minimum time between two checks of the memory that the process uses.
const PERIOD: Duration = Duration::from_millis(5);

#[derive(Debug)]
struct Shared {
    /// The [`Reason`] to stop that occurred first, encoded by [`code`]; 0 for none.
    reason: AtomicU8,
    started: Instant,
    deadline: Option<Instant>,
    memory: Option<Watch>,
    /// Earliest time of the next memory check, in nanoseconds since the handle was created.
    next_poll: AtomicU64,
    /// Number of polls that remain, if polls are limited.
    polls: Option<AtomicU64>,
    /// Description of the work in progress, which [`Stop::activity`] returns.
    activity: Mutex<Activity>,
}

/// A description of the work in progress, for messages to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Subject of the activity, such as the name of a program; empty if not set.
    pub subject: String,
    /// Stage, such as `unrolling`; empty if not set.
    pub stage: &'static str,
    /// Number of units of work that are completed in this stage.
    pub done: u64,
    /// Unit in which `done` counts, such as `packets`; empty if not set.
    pub unit: &'static str,
}

/// Encodes a reason to stop that applies to the whole work, for the field `reason` of `Shared`.
/// Returns 0 for [`Reason::TimeLimit`], which applies only to a part of the work.
fn code(reason: Reason) -> u8 {
    match reason {
        Reason::Interrupted => 1,
        Reason::Deadline => 2,
        Reason::Memory => 3,
        Reason::TimeLimit => 0,
    }
}

impl Stop {
    /// Returns a handle without limits, which never stops the work.
    pub fn never() -> Stop {
        Stop::default()
    }

    /// Returns a handle that stops the work on request or at a limit.
    pub fn new(limits: Limits) -> Stop {
        let started = Instant::now();
        let shared = Shared {
            reason: AtomicU8::new(0),
            started,
            deadline: limits.time.and_then(|time| started.checked_add(time)),
            memory: limits.memory.and_then(Watch::new),
            next_poll: AtomicU64::new(0),
            polls: limits.polls.map(AtomicU64::new),
            activity: Mutex::default(),
        };
        Stop { shared: Some(Arc::new(shared)), until: None }
    }

    /// Returns a handle for a part of the work that may take at most `time`. The limits of `self`
    /// also apply to the returned handle.
    pub fn within(&self, time: Option<Duration>) -> Stop {
        let until = time.and_then(|time| Instant::now().checked_add(time));
        let until = [until, self.until].into_iter().flatten().min();
        Stop { shared: self.shared.clone(), until }
    }

    /// Asks the work to stop. Any thread can call this.
    pub fn request_stop(&self) {
        if let Some(shared) = &self.shared {
            shared.set(Reason::Interrupted);
        }
    }

    /// Returns true if this handle can ever stop the work. A handle without limits cannot.
    pub fn is_possible(&self) -> bool {
        self.shared.is_some() || self.until.is_some()
    }

    /// Returns the reason to stop, or `None` if the work may continue. A call takes tens of
    /// nanoseconds.
    pub fn reason(&self) -> Option<Reason> {
        if self.shared.is_none() && self.until.is_none() {
            return None;
        }
        let stored = self.shared.as_deref().and_then(Shared::stored);
        if stored.is_some() {
            return stored;
        }
        let now = Instant::now();
        let polled = self.shared.as_deref().and_then(|shared| shared.poll(now));
        polled.or_else(|| self.until.is_some_and(|until| now >= until).then_some(Reason::TimeLimit))
    }

    /// Returns the reason to stop as an error, so that callers can use `?`.
    ///
    /// # Errors
    /// The reason to stop.
    pub fn check(&self) -> Result<(), Reason> {
        self.reason().map_or(Ok(()), Err)
    }

    /// Returns the time that remains until the nearest time limit, or `None` without a time limit.
    pub fn remaining(&self) -> Option<Duration> {
        let deadline = self.shared.as_ref().and_then(|shared| shared.deadline);
        let end = [deadline, self.until].into_iter().flatten().min()?;
        Some(end.saturating_duration_since(Instant::now()))
    }

    /// Sets the current stage, such as `unrolling`, and resets the number of completed units.
    pub fn enter(&self, stage: &'static str) {
        self.change(|activity| {
            (activity.stage, activity.done, activity.unit) = (stage, 0, "");
        });
    }

    /// Sets the subject of the current activity, such as the name of a program.
    pub fn about(&self, subject: &str) {
        self.change(|activity| subject.clone_into(&mut activity.subject));
    }

    /// Sets the number of units of work that are completed in this stage, and the unit, such as
    /// `packets`.
    pub fn count(&self, done: u64, unit: &'static str) {
        self.change(|activity| (activity.done, activity.unit) = (done, unit));
    }

    fn change(&self, update: impl FnOnce(&mut Activity)) {
        if let Some(shared) = &self.shared {
            update(&mut shared.activity.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Returns a description of the work in progress; empty for a handle without limits.
    pub fn activity(&self) -> Activity {
        let lock = self.shared.as_ref().map(|shared| shared.activity.lock());
        lock.map_or_else(Activity::default, |activity| {
            activity.unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    /// Returns the name of the stage in progress; empty if none was entered.
    pub fn stage(&self) -> &'static str {
        let lock = self.shared.as_ref().map(|shared| shared.activity.lock());
        lock.map_or("", |activity| activity.unwrap_or_else(PoisonError::into_inner).stage)
    }
}

impl Shared {
    fn stored(&self) -> Option<Reason> {
        match self.reason.load(Ordering::Relaxed) {
            1 => Some(Reason::Interrupted),
            2 => Some(Reason::Deadline),
            3 => Some(Reason::Memory),
            _ => None,
        }
    }

    /// Stores the reason to stop, unless another reason is stored already.
    fn set(&self, reason: Reason) {
        let new = code(reason);
        let _ = self.reason.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Counts the poll, and checks all limits. Checks the memory at most once per [`PERIOD`].
    /// Returns the stored reason to stop, or `None` if no limit is reached.
    fn poll(&self, now: Instant) -> Option<Reason> {
        if let Some(polls) = &self.polls
            && polls.fetch_sub(1, Ordering::Relaxed) <= 1
        {
            self.set(Reason::Interrupted);
        } else if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.set(Reason::Deadline);
        } else if let Some(memory) = &self.memory {
            let elapsed = now.saturating_duration_since(self.started).as_nanos() as u64;
            if elapsed >= self.next_poll.load(Ordering::Relaxed) {
                let next = elapsed.saturating_add(PERIOD.as_nanos() as u64);
                self.next_poll.store(next, Ordering::Relaxed);
                if memory.is_exceeded() {
                    self.set(Reason::Memory);
                }
            }
        }
        self.stored()
    }
}

/// A counter for short loops that polls a [`Stop`] only in every n-th iteration.
#[derive(Clone, Copy, Debug)]
pub struct Ticker {
    every: u32,
    left: u32,
}

impl Ticker {
    /// Creates a counter that polls in every n-th iteration, where n is `every`.
    pub const fn new(every: u32) -> Self {
        Ticker { every, left: every }
    }

    /// Counts an iteration of the loop, and polls `stop` in every n-th iteration.
    ///
    /// # Errors
    /// The reason to stop, if the poll returns one.
    #[inline]
    pub fn tick(&mut self, stop: &Stop) -> Result<(), Reason> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return Ok(());
        }
        self.left = self.every;
        stop.check()
    }
}

#[cfg(test)]
mod tests;
