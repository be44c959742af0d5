//! The thread that programs are timed on.

use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use super::attachments::Attachments;
use super::error::TimingError;
use crate::Namespace;
use crate::sys::{block_signals, number, pin, real_time};

type Job = Box<dyn FnOnce(&Namespace) + Send>;

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
            let entered = namespace.enter(|| {
                // Signals are for whoever waits for results.
                block_signals();
                let pinned = cpu.filter(|&cpu| pin(cpu).is_ok());
                let real_time = real_time().is_ok();
                let _ = tell.send(Scheduling { cpu: pinned, real_time, thread: number() });
                for job in received {
                    job(&namespace);
                }
            });
            // Who waits for an answer gets none.
            drop(entered);
        };
        let started = thread::Builder::new().name("measurement".to_owned()).spawn(work);
        let thread = started.map_err(|cause| TimingError::Thread { cause })?;
        let scheduling = told.recv().map_err(|_| TimingError::Gone)?;
        let attachments = Attachments::default();
        Ok(Station { jobs: Some(jobs), thread: Some(thread), scheduling, attachments })
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
    /// # Errors
    /// If the thread has ended, because a job before this one failed in a way it should not.
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
        answered.recv().map_err(|_| TimingError::Gone)
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // Without jobs to come, the thread ends.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
