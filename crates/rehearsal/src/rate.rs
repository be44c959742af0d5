//! Measures how long the original and the rewritten program take for a packet. The programs are
//! timed alternately, so that changes of CPU speed affect all of them equally.

use slowpath_bpf::Object;
use slowpath_kernel::timing::{
    Attached, Attachments, Preparation, Subject as Timed, Undo, Wrapper,
};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, Kernel, LoadedProgram, TestRun, retry};
use slowpath_stop::Stop;

use crate::error::RehearsalError;
use crate::loaded_chain::{load, load_upstream, pass};
use crate::options::{Install, Options, Role, Subject};
use crate::outcome::Rate;
use crate::program_harness::{Arrival, fill};
use crate::turns::{Figures, Turn};
use crate::undo::{candidates, for_unchanged_packet};

/// Maximum number of packets that are tried until one is found on which the programs can be timed.
const MAX_PACKETS: usize = 8;
/// Number of untimed runs of a program before its time is measured. The first packet of a flow may
/// take another path than later ones.
const WARM_UPS: usize = 3;
/// Number of repetitions in a first check that the packet is restored after each run. If a program
/// moves the packet in its buffer and this is not undone, so many runs move it out of the buffer.
const FEW: u32 = 4096;
/// Number of repetitions in the call from which the time of one run is estimated.
const CALIBRATION: u32 = 512;
/// Intended duration of one timed call (`BPF_PROG_TEST_RUN`, which repeats the program) in
/// nanoseconds. It is shorter than a time slice of the scheduler.
const CALL_NS: f64 = 1e6;
/// Number of timed calls of each program in one round. Only the shortest call counts, because other
/// activity on the machine can only make calls longer.
const CALLS: usize = 5;
/// Maximum number of runs of the program in one timed call of `BPF_PROG_TEST_RUN`.
const MAX_REPETITIONS: u32 = 1 << 18;
/// Number of rounds of timing between two reloads of the programs. The address of the code changes
/// the time of short programs by up to 3 %.
const BLOCK: u32 = 3;
/// Maximum number of rounds; each round times every program.
const MAX_ROUNDS: u32 = 1000;

/// Everything that is needed to load the compared programs and fill their maps.
#[derive(Clone, Copy)]
struct Setting<'a> {
    kernel: &'a Kernel,
    subject: &'a Subject<'a>,
    install: Install<'a>,
    attachments: &'a Attachments,
}

/// Parameters for a block of rounds, in which the programs are timed between two reloads.
struct Block<'a> {
    arrival: &'a Arrival,
    undo: Option<&'a Undo>,
    repeat: u32,
    rounds: u32,
}

/// Times the original and the rewritten program on the first packet of `seeds` on which repeated
/// runs take the same path. If there is no such packet, the inner `Err` contains the reason.
pub fn rate(
    kernel: &Kernel,
    subject: &Subject<'_>,
    seeds: &[Vec<u8>],
    install: Install<'_>,
    options: &Options,
    stop: &Stop,
) -> Result<Result<Rate, String>, RehearsalError> {
    let attachments = Attachments::default();
    let setting = Setting { kernel, subject, install, attachments: &attachments };
    let (upstream, _installed): (Vec<_>, Vec<_>) =
        load_upstream(kernel, subject, install)?.into_iter().unzip();
    let mut failure = "no given packet reaches the program".to_owned();
    for seed in seeds.iter().take(MAX_PACKETS) {
        let Some(arrival) = pass(subject, &upstream, seed.clone())? else { continue };
        match setting.time(&arrival, options.rounds.min(MAX_ROUNDS), stop)? {
            Ok(rate) => return Ok(Ok(rate)),
            Err(reason) => failure = reason,
        }
        if stop.reason().is_some() {
            break;
        }
    }
    Ok(Err(failure))
}

impl Setting<'_> {
    /// Times the original and the rewritten program on a packet. If this is not possible, the inner
    /// `Err` contains the reason.
    fn time(
        &self,
        arrival: &Arrival,
        rounds: u32,
        stop: &Stop,
    ) -> Result<Result<Rate, String>, RehearsalError> {
        let (original, _installed) = self.load(Role::Original)?;
        let Some(run) = warm(&original, arrival)? else {
            return Ok(Err("the kernel does not run the packet".to_owned()));
        };
        let (undo, repeat) = match self.repeatable(&original, arrival, &run, rounds)? {
            Ok((undo, repeat)) => (Some(undo).filter(|undo| !undo.is_empty()), repeat),
            Err(reason) => return Ok(Err(reason)),
        };
        let mut turns = Vec::new();
        while turns.len() < rounds as usize && stop.reason().is_none() {
            let rounds = rounds.saturating_sub(turns.len() as u32).min(BLOCK);
            let block = Block { arrival, undo: undo.as_ref(), repeat, rounds };
            let Some(times) = self.block(&block, run.return_value)? else {
                return Ok(Err("timed runs behave differently".to_owned()));
            };
            turns.extend(times);
        }
        let Some(figures) = Figures::new(&turns) else {
            return Ok(Err("no time was left for timing".to_owned()));
        };
        Ok(Ok(Rate {
            original_ns: figures.original,
            rewritten_ns: figures.rewritten,
            ratio: figures.ratio,
            ratio_quartiles: figures.quartiles,
            copy_ratio: figures.copy_ratio,
            frame_ns: figures.frame,
            restoring_ns: figures.restoring,
            ratio_without_frame: figures.without_frame,
            rounds: turns.len() as u32,
            repetitions: repeat,
            restored: undo.is_some(),
            packet: arrival.packet.clone(),
        }))
    }

    fn load(&self, role: Role) -> Result<(LoadedProgram, Option<Installed>), RehearsalError> {
        load(self.kernel, role, self.program(role), self.install)
    }

    fn program(&self, role: Role) -> (&Object, usize) {
        match role {
            Role::Rewritten => self.subject.rewritten,
            _ => self.subject.original,
        }
    }

    /// Reloads the programs and times them alternately, over several rounds. `value` is the return
    /// value that each run must have; returns `None` if a run returns another one.
    fn block(&self, block: &Block<'_>, value: u32) -> Result<Option<Vec<Turn>>, RehearsalError> {
        let roles = [Role::Original, Role::Rewritten, Role::Original];
        let mut loaded = Vec::new();
        for role in roles {
            let (program, installed) = self.load(role)?;
            warm(&program, block.arrival)?;
            loaded.push((program, installed));
        }
        let empty = self.kernel.load_pass();
        let empty = empty.map_err(|cause| RehearsalError::Frame { cause: Box::new(cause) })?;
        let empty_undo = block.undo.map(for_unchanged_packet);
        let mut subjects = Vec::new();
        for (program, _) in &loaded {
            subjects.push(Ready::new(self, program, block.undo)?);
        }
        subjects.push(Ready::new(self, &empty, empty_undo.as_ref())?);
        if empty_undo.is_some() {
            subjects.push(Ready::new(self, &empty, None)?);
        }
        let mut turns = Vec::new();
        for round in 0..block.rounds as usize {
            let mut shortest = vec![f64::INFINITY; subjects.len()];
            for turn in 0..CALLS * subjects.len() {
                // All programs in turn, so that changes of the CPU's speed affect them alike.
                let subject = (round + turn) % subjects.len();
                let (time, returned) = subjects[subject].sample(block.arrival, block.repeat)?;
                if subject < roles.len() && returned != value {
                    return Ok(None);
                }
                shortest[subject] = shortest[subject].min(time);
            }
            let [original, rewritten, copy, empty] = [0, 1, 2, 3].map(|n| shortest[n]);
            let unwrapped = shortest.get(4).copied().unwrap_or(empty);
            turns.push(Turn { original, rewritten, copy, empty, unwrapped });
        }
        Ok(Some(turns))
    }

    /// Finds out how to undo a program's changes to the packet after each run, so that all runs
    /// take the same path. Returns these steps and the number of runs in a timed call. If the
    /// packet cannot be restored, the inner `Err` contains the reason.
    fn repeatable(
        &self,
        original: &LoadedProgram,
        arrival: &Arrival,
        run: &TestRun,
        rounds: u32,
    ) -> Result<Result<(Undo, u32), String>, RehearsalError> {
        let mut failure = String::new();
        for undo in candidates(arrival, run) {
            let needed = Some(&undo).filter(|undo| !undo.is_empty());
            // Few repetitions suffice to reject most candidates.
            if let Err(reason) = self.both_repeat(arrival, needed, FEW)? {
                failure = reason;
                continue;
            }
            let once = Ready::new(self, original, needed)?.sample(arrival, CALIBRATION)?.0;
            let repeat = ((CALL_NS / once.max(1.0)) as u32).clamp(CALIBRATION, MAX_REPETITIONS);
            let all = repeat.saturating_mul(rounds.min(BLOCK) * CALLS as u32);
            match self.both_repeat(arrival, needed, all)? {
                Ok(()) => return Ok(Ok((undo, repeat))),
                Err(reason) => failure = reason,
            }
        }
        Ok(Err(failure))
    }

    /// Verifies that `times` repetitions of each program take the same path. If they do not, the
    /// inner `Err` contains the reason.
    fn both_repeat(
        &self,
        arrival: &Arrival,
        undo: Option<&Undo>,
        times: u32,
    ) -> Result<Result<(), String>, RehearsalError> {
        for role in [Role::Original, Role::Rewritten] {
            match self.repeats(role, arrival, undo, times)? {
                Ok(true) => {}
                Ok(false) => return Ok(Err(format!("repetitions in {role} take other paths"))),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(()))
    }

    /// Repeats a program `times` times. Returns true if all runs take the same path. If the
    /// executed blocks of the program cannot be counted, the inner `Err` contains the reason.
    fn repeats(
        &self,
        role: Role,
        arrival: &Arrival,
        undo: Option<&Undo>,
        times: u32,
    ) -> Result<Result<bool, String>, RehearsalError> {
        let (object, program) = self.program(role);
        let counted = match self.kernel.load_fingerprinted(object, program, &[]) {
            Ok(counted) => counted,
            Err(cause) => return Ok(Err(format!("{role} cannot be counted: {cause}"))),
        };
        let _installed = fill(role, counted.loaded(), self.install)?;
        let ready = match Ready::new(self, counted.loaded(), undo) {
            Ok(ready) => ready,
            Err(cause) => return Ok(Err(cause.to_string())),
        };
        let context = arrival.context();
        for _ in 1..WARM_UPS {
            counted.run_repeated(&arrival.packet, &context, 1)?;
        }
        let (first, path) = counted.run_repeated(&arrival.packet, &context, 1)?;
        let (value, tally) =
            retry(|| counted.tally(|loaded| ready.run(loaded, arrival, &context, times)))?;
        Ok(Ok(value == Some(first.return_value) && tally.is_multiple_of(&path, times)))
    }
}

/// Runs a program on a packet a few times, untimed, and returns the result of the last run. Returns
/// `None` if the packet is too short for test runs.
fn warm(program: &LoadedProgram, arrival: &Arrival) -> Result<Option<TestRun>, RehearsalError> {
    let context = arrival.context();
    if arrival.packet.len() < crate::mutation::SHORTEST {
        return Ok(None);
    }
    let mut last = None;
    for _ in 0..WARM_UPS {
        last = Some(program.run_in(&arrival.packet, 1, &context)?);
    }
    Ok(last)
}

/// A program that is ready to be timed: attached to a device, with a wrapper that restores the
/// packet if necessary.
struct Ready<'l> {
    program: &'l LoadedProgram,
    wrapper: Option<Wrapper>,
    // A call of an unattached program takes milliseconds longer.
    _attached: Attached,
}

impl<'l> Ready<'l> {
    fn new(
        setting: &Setting<'_>,
        program: &'l LoadedProgram,
        undo: Option<&Undo>,
    ) -> Result<Ready<'l>, RehearsalError> {
        let wrapper = undo.map(|undo| {
            let preparation = Preparation { undo: Some(undo), rotation: None };
            Wrapper::new(setting.kernel, program, &preparation)
        });
        let wrapper = wrapper.transpose()?;
        let timed = Timed { program, wrapper: wrapper.as_ref() };
        let attached = timed.attach(setting.attachments)?;
        Ok(Ready { program, wrapper, _attached: attached })
    }

    /// Times `repeat` runs of the program on a packet. Returns the mean time of a run in
    /// nanoseconds, and the return value of the last run.
    fn sample(&self, arrival: &Arrival, repeat: u32) -> Result<(f64, u32), RehearsalError> {
        let timed = Timed { program: self.program, wrapper: self.wrapper.as_ref() };
        let sample = timed.sample(&arrival.packet, &arrival.context(), repeat)?;
        Ok((sample.nanoseconds as f64 / sample.runs.max(1) as f64, sample.return_value))
    }

    /// Runs `loaded` on a packet `repeat` times and returns the return value of the last run.
    /// Returns `None` if the packet could not be restored between runs.
    fn run(
        &self,
        loaded: &LoadedProgram,
        arrival: &Arrival,
        context: &Context,
        repeat: u32,
    ) -> Result<Option<u32>, RehearsalError> {
        Ok(match &self.wrapper {
            Some(wrapper) => wrapper.run(loaded, &arrival.packet, context, repeat)?,
            None => Some(loaded.run_in(&arrival.packet, repeat, context)?),
        }
        .map(|run| run.return_value))
    }
}
