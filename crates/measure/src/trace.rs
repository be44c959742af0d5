//! Runs the packets of a capture file through a program, in kernel and interpreter, and records the
//! path of each. Each packet finds the map content that the previous packet left.

mod report;
mod samples;
mod start;
mod tally;

pub use report::{TraceFault, TracePath, TraceReport};
pub use start::{TraceMap, with_content};

use slowpath_codes as codes;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_capture::{Capture, Packet};
use slowpath_kernel::timing::TimingThread;
use slowpath_kernel::{Context, Kernel};
use slowpath_replay::{Replay, ReplayError};

use crate::error::MeasureError;
use tally::Tally;

/// A run of the packets of a capture file through a program. The work is done on the timing thread.
#[derive(Debug)]
pub struct Trace {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    capture: Capture,
    replay: Replay,
    tally: Tally,
    maps: Vec<TraceMap>,
    /// Reason why the rest of the packets is not run; [`None`] as long as more packets can be run.
    ended: Option<(codes::Code, String)>,
    /// True if no more packets will be run.
    over: bool,
}

impl Trace {
    /// Opens a capture file, and loads the program at index `program` of the object. `content` is
    /// JSON like the field `maps` of a witness, with initial elements by map name. All other maps
    /// have the content that the object defines.
    ///
    /// # Errors
    /// If the file is not a capture file, the program cannot be replayed, or a map rejects its
    /// content.
    pub fn start(
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
        object: &Arc<Object>,
        program: usize,
        file: &Path,
        content: Value,
    ) -> Result<Trace, MeasureError> {
        let capture = Capture::open(file)?.converting();
        let (kernel, object) = (Arc::clone(kernel), Arc::clone(object));
        let (replay, maps) = timing_thread.run_job(move |_| {
            let mut replay = Replay::new(&kernel, &object, program)?;
            let maps = start::fill(&mut replay, &object, &content)?;
            Ok::<_, MeasureError>((replay, maps))
        })??;
        let tally = Tally::default();
        let state = State { capture, replay, tally, maps, ended: None, over: false };
        Ok(Trace { state: Arc::new(Mutex::new(state)) })
    }

    /// Runs packets for about `time`. Returns true if more packets may follow. Returns false at the
    /// end of the file, and also if the file cannot be read further or the program cannot be run.
    /// The report contains the reason for an early end.
    ///
    /// # Errors
    /// If the timing thread has ended.
    pub fn advance(
        &self,
        timing_thread: &TimingThread,
        time: Duration,
    ) -> Result<bool, MeasureError> {
        let state = Arc::clone(&self.state);
        Ok(timing_thread.run_job(move |_| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let started = Instant::now();
            while !state.over && started.elapsed() < time {
                state.next();
            }
            !state.over
        })?)
    }

    /// Returns the results for the packets that were run so far.
    pub fn report(&self) -> TraceReport {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut report = state.tally.report(state.capture.format());
        report.complete = state.over && state.ended.is_none();
        report.ended = state.ended.as_ref().map(|(_, reason)| reason.clone());
        report.code = state.ended.as_ref().map(|(code, _)| code.to_string());
        report.maps.clone_from(&state.maps);
        report
    }

    /// Returns the number of packets that were read from the capture file so far.
    pub fn packets(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).capture.packets()
    }

    /// Returns the example packet that was kept for path number `path` (from 1), with the map
    /// content before it, as the JSON text of a witness. Returns `None` if no example was kept.
    pub fn witness(&self, path: usize) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.tally.witness(path).map(str::to_owned)
    }
}

impl State {
    fn next(&mut self) {
        let packet = match self.capture.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => {
                self.over = true;
                return;
            }
            Err(error) => return self.end(error.code(), &error),
        };
        self.tally.count_packet(packet.is_truncated(), packet.converted.as_deref());
        self.run(&packet);
    }

    fn run(&mut self, packet: &Packet) {
        let lengths = Replay::lengths();
        if !lengths.contains(&packet.bytes.len()) {
            let (least, most) = (lengths.start(), lengths.end());
            return self.tally.count_refused(format!(
                "{} bytes, and test runs of the kernel take {least} to {most}",
                packet.bytes.len()
            ));
        }
        let tally = &mut self.tally;
        let needs_example = |path, instructions| tally.needs_example(path, instructions);
        match self.replay.run_noting(&packet.bytes, &Context::default(), needs_example) {
            Ok((step, before)) => self.tally.count_path(&step, before.as_ref()),
            Err(ReplayError::Disagreement(disagreement)) => {
                self.tally.count_disagreement(&disagreement);
            }
            Err(error @ (ReplayError::Undecided(_) | ReplayError::GivenUp { .. })) => {
                self.tally.count_undecided(error.to_string());
            }
            Err(error @ ReplayError::Run(_)) => self.tally.count_refused(error.to_string()),
            Err(error) => self.end(error.code(), &error),
        }
    }

    fn end(&mut self, code: codes::Code, error: &dyn std::error::Error) {
        self.over = true;
        self.ended = Some((code, error.to_string()));
    }
}
