//! Runs an analysis on its own thread, so that the caller can wait for events and stop it.

use crate::events::{Control, Event};
use crate::options::ProgramRequest;
use crate::panics;
use crate::pipeline;
use slowpath_stop::Stop;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Result of waiting for an event of an analysis.
#[derive(Clone, Debug)]
pub enum Poll {
    /// No event occurred before the timeout.
    Pending,
    /// The next event.
    Event(Event),
    /// The analysis has ended, and the caller has received all its events.
    Finished,
}

/// An analysis of one program that runs on its own thread.
#[derive(Debug)]
pub struct Analysis {
    events: Mutex<Receiver<Event>>,
    control: Control,
}

/// Stack size in bytes of the thread that runs an analysis. The analysis follows long chains of
/// merged states recursively.
const STACK_BYTES: usize = 512 << 20;

impl Analysis {
    /// Starts an analysis on its own thread, with the limits in the options of the request.
    pub fn start(request: ProgramRequest) -> Analysis {
        let stop = Stop::new(request.options.limits());
        Analysis::start_until(request, stop)
    }

    /// Starts an analysis on its own thread. The analysis runs until it is complete or `stop` ends
    /// it. It ignores the limits in the options of the request.
    pub fn start_until(request: ProgramRequest, stop: Stop) -> Analysis {
        panics::silence();
        let (sender, receiver) = channel();
        let control = Control::new(stop, sender);
        let (worker, request) = (control.clone(), Arc::new(request));
        let task = Arc::clone(&request);
        let builder = thread::Builder::new().name(panics::WORKER.into()).stack_size(STACK_BYTES);
        if let Err(error) = builder.spawn(move || pipeline::run(&task, &worker)) {
            control.send(Event::Result(Box::new(pipeline::not_started(&request, &error))));
        }
        // Only the worker holds the sender, so the receiver notices when the worker ends.
        let (closed, _) = channel();
        let control = Control { events: closed, ..control };
        Analysis { events: Mutex::new(receiver), control }
    }

    /// Waits for the next event of the analysis, at most as long as `timeout`.
    pub fn next(&self, timeout: Duration) -> Poll {
        let Ok(events) = self.events.lock() else { return Poll::Finished };
        match events.recv_timeout(timeout) {
            Ok(event) => Poll::Event(event),
            Err(RecvTimeoutError::Timeout) => Poll::Pending,
            Err(RecvTimeoutError::Disconnected) => Poll::Finished,
        }
    }

    /// Asks the analysis to end early. The result of the analysis then contains the bound reached
    /// so far.
    pub fn stop(&self) {
        self.control.stop.request_stop();
    }

    /// Returns the name of the current stage, such as `unrolling the program`.
    pub fn stage(&self) -> &'static str {
        self.control.stop.stage()
    }
}

impl Drop for Analysis {
    fn drop(&mut self) {
        self.stop();
    }
}
