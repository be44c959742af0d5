//! Timing of both programs.

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

/// Maximum number of packets to try until one can be repeated.
const MAX_PACKETS: usize = 8;
/// Number of warm-up runs: the first packet of a flow may take another path than later ones.
const WARM_UPS: usize = 3;
/// Number of repetitions that verify that the packet is restored: more than the number of moves for
/// which the packet's buffer has room.
const FEW: u32 = 4096;
/// Number of repetitions from which the time of one is estimated.
const CALIBRATION: u32 = 512;
/// Intended nanoseconds of a timed call: less than a scheduler time slice.
const CALL_NS: f64 = 1e6;
/// Number of timed calls of each program in a round. The shortest one counts, because other
/// activity only makes calls longer.
const CALLS: usize = 5;
/// Maximum number of repetitions in a timed call.
const MAX_REPETITIONS: u32 = 1 << 18;
/// Number of rounds between two reloads of the programs. The address of the code changes the time
/// of short programs by up to 3 %.
const BLOCK: u32 = 3;
/// Maximum number of rounds.
const MAX_ROUNDS: u32 = 1000;

/// Everything needed to load programs.
#[derive(Clone, Copy)]
struct Setting<'a> {
    kernel: &'a Kernel,
    subject: &'a Subject<'a>,
    install: Install<'a>,
    attachments: &'a Attachments,
}

/// Parameters of the rounds between two reloads.
struct Block<'a> {
    arrival: &'a Arrival,
    undo: Option<&'a Undo>,
    /// Number of runs in each timed call.
    repeat: u32,
    rounds: u32,
}

/// Times both programs on the first seed packet that can be repeated. The inner result is a reason
/// if none can.
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
    let mut failure = "no given packet gets through".to_owned();
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
    /// Times both programs on a packet. The inner result is a reason if this is not possible.
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
                return Ok(Err("timed runs do something else".to_owned()));
            };
            turns.extend(times);
        }
        let Some(figures) = Figures::new(&turns) else {
            return Ok(Err("there was no time".to_owned()));
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

    /// Reloads the programs and times them in turns; `None` if one does not return `value`.
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

    /// Finds the changes to undo after each run so that all runs of a program take the same path,
    /// and the number of runs in a timed call. The inner result is a reason if there are none.
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

    /// Verifies that all of `times` repetitions take the same path, for each program. The inner
    /// result is a reason if they do not.
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

    /// Counts `times` repetitions, and returns true if all take the same path. The inner result is
    /// a reason if they cannot be counted.
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

/// Runs a packet a few times, and returns the result of the last run; `None` if the packet is too
/// short for test runs.
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

/// An attached program, ready to be timed.
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

    /// Returns the mean nanoseconds of `repeat` runs, and the last return value.
    fn sample(&self, arrival: &Arrival, repeat: u32) -> Result<(f64, u32), RehearsalError> {
        let timed = Timed { program: self.program, wrapper: self.wrapper.as_ref() };
        let sample = timed.sample(&arrival.packet, &arrival.context(), repeat)?;
        Ok((sample.nanoseconds as f64 / sample.runs.max(1) as f64, sample.return_value))
    }

    /// Runs a packet `repeat` times, and returns the last return value; `None` if the packet could
    /// not be restored.
    fn run(
        &self,
        loaded: &LoadedProgram,
        arrival: &Arrival,
        context: &Context,
        repeat: u32,
    ) -> Result<Option<u32>, RehearsalError> {
        Ok(match &self.wrapper {
            Some(wrapper) => wrapper.run(loaded, &arrival.packet, context, repeat)?,
            None => Some(loaded.run_in(&arrival.packet, repeat, context)?.return_value),
        })
    }
}
