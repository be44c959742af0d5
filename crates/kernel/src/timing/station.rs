//! The thread that programs are timed on.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::attachments::Attachments;
use super::error::TimingError;
use crate::Namespace;
use crate::sys::{block_signals, number, pin, real_time};

type Job = Box<dyn FnOnce(&Namespace) + Send>;

/// How long to wait for a job before asking whether to go on.
const SLICE: Duration = Duration::from_millis(50);

/// Says whether to go on waiting for a job.
struct Patience(Box<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Patience")
    }
}

/// How the thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// The CPU that it is pinned to; `None` where that is not allowed.
    pub cpu: Option<usize>,
    /// Whether other programs wait for it (`SCHED_FIFO`).
    pub real_time: bool,
    /// Its number in the system.
    pub thread: i32,
}

/// A thread of its own in a private network namespace: what it runs finds no devices but its own.
#[derive(Debug)]
pub struct Station {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    scheduling: Scheduling,
    attachments: Attachments,
    patience: Patience,
    /// Whether a job was not waited for, which may be still under way.
    left: AtomicBool,
}

impl Station {
    /// Starts the thread, on this CPU if that is possible, and ahead of other programs if that is
    /// allowed.
    ///
    /// # Errors
    /// If there is no namespace or no thread.
    pub fn start(cpu: Option<usize>) -> Result<Station, TimingError> {
        let namespace = Namespace::new()?;
        let (jobs, received) = mpsc::channel::<Job>();
        let (tell, told) = mpsc::channel();
        let work = move || {
            let starting = tell.clone();
            let entered = namespace.enter(|| {
                // Signals are for whoever waits for results.
                block_signals();
                let pinned = cpu.filter(|&cpu| pin(cpu).is_ok());
                let real_time = real_time().is_ok();
                let _ = starting.send(Ok(Scheduling { cpu: pinned, real_time, thread: number() }));
                for job in received {
                    job(&namespace);
                }
            });
            // Who waits for the answer of a job gets none.
            if let Err(cause) = entered {
                let _ = tell.send(Err(cause));
            }
        };
        let started = thread::Builder::new().name("measurement".to_owned()).spawn(work);
        let thread = started.map_err(|cause| TimingError::Thread { cause })?;
        let scheduling = told.recv().map_err(|_| TimingError::Gone)??;
        Ok(Station {
            jobs: Some(jobs),
            thread: Some(thread),
            scheduling,
            attachments: Attachments::default(),
            patience: Patience(Box::new(|| true)),
            left: AtomicBool::new(false),
        })
    }

    /// The same, and whoever waits for a job asks again and again whether to go on waiting.
    #[must_use]
    pub fn with_patience(mut self, patience: impl Fn() -> bool + Send + Sync + 'static) -> Station {
        self.patience = Patience(Box::new(patience));
        self
    }

    /// How the thread is scheduled.
    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    /// Where programs are attached that are timed here.
    pub fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    /// Does a job on the thread, and waits for its result.
    ///
    /// A job that is not waited for goes on, with all that it needs, until it ends or the process
    /// does. Its result is dropped, and those after it wait for it.
    ///
    /// # Errors
    /// If the thread has ended, because a job before this one failed in a way it should not, or it
    /// is not to be waited for ([`Station::with_patience`]).
    pub fn perform<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Namespace) -> T + Send + 'static,
    ) -> Result<T, TimingError> {
        let (answer, answered) = mpsc::channel();
        let job: Job = Box::new(move |namespace| {
            let _ = answer.send(job(namespace));
        });
        let jobs = self.jobs.as_ref().ok_or(TimingError::Gone)?;
        jobs.send(job).map_err(|_| TimingError::Gone)?;
        loop {
            match answered.recv_timeout(SLICE) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Disconnected) => return Err(TimingError::Gone),
                Err(RecvTimeoutError::Timeout) if (self.patience.0)() => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.left.store(true, Ordering::Relaxed);
                    return Err(TimingError::NotAwaited);
                }
            }
        }
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // Without jobs to come, the thread ends.
        self.jobs = None;
        let thread = self.thread.take().filter(|_| !self.left.load(Ordering::Relaxed));
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}
