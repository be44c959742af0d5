//! Starts and controls the thread on which programs are timed.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::attachments::Attachments;
use super::error::TimingError;
use crate::Namespace;
use crate::sys::{block_signals, pin, real_time, thread_id};

type Job = Box<dyn FnOnce(&Namespace) + Send>;

/// Interval between two calls of the callback by which the caller can stop waiting for a job.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A callback that returns false if the caller no longer waits for the result of a job.
struct KeepWaiting(Box<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for KeepWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeepWaiting")
    }
}

/// Actual scheduling of the timing thread: CPU, priority and thread id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// CPU to which the thread is pinned; `None` if pinning failed or was not requested.
    pub cpu: Option<usize>,
    /// True if the thread has real-time priority (`SCHED_FIFO`).
    pub real_time: bool,
    /// Id that the operating system gave to the thread.
    pub thread: i32,
}

/// A dedicated thread in a private network namespace. The jobs that it runs see only the devices of
/// this namespace.
#[derive(Debug)]
pub struct TimingThread {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    scheduling: Scheduling,
    attachments: Attachments,
    keep_waiting: KeepWaiting,
    /// True if the caller stopped waiting for a job. The job may still be running.
    abandoned: AtomicBool,
}

impl TimingThread {
    /// Starts the thread. Pins it to `cpu` if possible, and gives it real-time priority if this is
    /// allowed.
    ///
    /// # Errors
    /// If the namespace or the thread could not be created.
    pub fn start(cpu: Option<usize>) -> Result<TimingThread, TimingError> {
        let namespace = Namespace::new()?;
        let (jobs, received) = mpsc::channel::<Job>();
        let (sender, result) = mpsc::channel();
        let work = move || {
            let on_start = sender.clone();
            let entered = namespace.enter(|| {
                // Signals go to the thread that waits for results.
                block_signals();
                let pinned = cpu.filter(|&cpu| pin(cpu).is_ok());
                let real_time = real_time().is_ok();
                let _ =
                    on_start.send(Ok(Scheduling { cpu: pinned, real_time, thread: thread_id() }));
                for job in received {
                    job(&namespace);
                }
            });
            if let Err(cause) = entered {
                let _ = sender.send(Err(cause));
            }
        };
        let started = thread::Builder::new().name("measurement".to_owned()).spawn(work);
        let thread = started.map_err(|cause| TimingError::Thread { cause })?;
        let scheduling = result.recv().map_err(|_| TimingError::Gone)??;
        Ok(TimingThread {
            jobs: Some(jobs),
            thread: Some(thread),
            scheduling,
            attachments: Attachments::default(),
            keep_waiting: KeepWaiting(Box::new(|| true)),
            abandoned: AtomicBool::new(false),
        })
    }

    /// Sets a callback that is called at intervals while a job runs. If it returns false, the
    /// caller of `TimingThread::run_job` stops waiting.
    #[must_use]
    pub fn with_cancellation(
        mut self,
        keep_waiting: impl Fn() -> bool + Send + Sync + 'static,
    ) -> TimingThread {
        self.keep_waiting = KeepWaiting(Box::new(keep_waiting));
        self
    }

    /// Returns how the thread is actually scheduled.
    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    /// Returns the devices to which programs that are timed on this thread are attached.
    pub fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    /// Runs a job on the thread, and waits for its result.
    ///
    /// If the callback of [`TimingThread::with_cancellation`] ends the wait, the job still runs to
    /// completion, and its result is dropped. Later jobs start after it.
    ///
    /// # Errors
    /// If the thread has ended because a job panicked, or if the callback ended the wait.
    pub fn run_job<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Namespace) -> T + Send + 'static,
    ) -> Result<T, TimingError> {
        let (sender, result) = mpsc::channel();
        let job: Job = Box::new(move |namespace| {
            let _ = sender.send(job(namespace));
        });
        let jobs = self.jobs.as_ref().ok_or(TimingError::Gone)?;
        jobs.send(job).map_err(|_| TimingError::Gone)?;
        loop {
            match result.recv_timeout(POLL_INTERVAL) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Disconnected) => return Err(TimingError::Gone),
                Err(RecvTimeoutError::Timeout) if (self.keep_waiting.0)() => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.abandoned.store(true, Ordering::Relaxed);
                    return Err(TimingError::Cancelled);
                }
            }
        }
    }
}

impl Drop for TimingThread {
    fn drop(&mut self) {
        // Closing the channel ends the thread.
        self.jobs = None;
        let thread = self.thread.take().filter(|_| !self.abandoned.load(Ordering::Relaxed));
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}
