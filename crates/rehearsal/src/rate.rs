//! How long both programs take.

use slowpath_bpf::Object;
use slowpath_kernel::timing::{
    Attached, Attachments, Preparation, Subject as Timed, Undo, Wrapper,
};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, Kernel, Loaded, TestRun, again};
use slowpath_stop::Stop;

use crate::bench::{Arrival, fill, load, load_upstream, pass};
use crate::error::RehearsalError;
use crate::options::{Install, Options, Place, Subject};
use crate::outcome::Rate;
use crate::undo::{candidates, of_nothing};

/// Packets that are tried until one can be repeated.
const PACKETS: usize = 8;
/// Runs before anything counts: the first packet of a flow may do what later ones do not.
const WARM: usize = 3;
/// Repetitions that show whether a packet is put back: more than there is room to move into.
const FEW: u32 = 4096;
/// Repetitions that tell how long one takes.
const CALIBRATION: u32 = 512;
/// Nanoseconds that a timed call is to take.
const CALL: f64 = 5e6;
/// Most repetitions in it.
const MOST: u32 = 1 << 18;
/// Rounds after which programs are loaded anew: where their code lies in memory makes up to 3 % of
/// short ones.
const BLOCK: u32 = 3;
/// Most rounds.
const ROUNDS: u32 = 1000;
/// Nanoseconds of a program without the frame that are enough to divide by: where code lies in memory
/// makes a difference of half a nanosecond.
const LEAST: f64 = 5.0;

/// What is needed to load programs.
#[derive(Clone, Copy)]
struct Setting<'a> {
    kernel: &'a Kernel,
    subject: &'a Subject<'a>,
    install: Install<'a>,
    attachments: &'a Attachments,
}

/// What is timed, and how often.
struct Block<'a> {
    arrival: &'a Arrival,
    undo: Option<&'a Undo>,
    /// Runs in each timed call.
    repeat: u32,
    rounds: u32,
}

/// Times both with the first of the given packets that can be repeated; or why none can.
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
    let mut why = "no given packet gets through".to_owned();
    for seed in seeds.iter().take(PACKETS) {
        let Some(arrival) = pass(subject, &upstream, seed.clone())? else { continue };
        match setting.time(&arrival, options.rounds.min(ROUNDS), stop)? {
            Ok(rate) => return Ok(Ok(rate)),
            Err(reason) => why = reason,
        }
        if stop.reason().is_some() {
            break;
        }
    }
    Ok(Err(why))
}

impl Setting<'_> {
    /// Times both with a packet; or why that is not possible.
    fn time(
        &self,
        arrival: &Arrival,
        rounds: u32,
        stop: &Stop,
    ) -> Result<Result<Rate, String>, RehearsalError> {
        let (original, _installed) = self.load(Place::Original)?;
        let Some(run) = warm(&original, arrival)? else {
            return Ok(Err("the kernel does not run the packet".to_owned()));
        };
        let undo = match self.undo(arrival, &run)? {
            Ok(undo) => Some(undo).filter(|undo| !undo.is_empty()),
            Err(why) => return Ok(Err(why)),
        };
        let once = Ready::new(self, &original, undo.as_ref())?.sample(arrival, CALIBRATION)?.0;
        let repeat = ((CALL / once.max(1.0)) as u32).clamp(CALIBRATION, MOST);
        let all = repeat.saturating_mul(rounds.min(BLOCK));
        for place in [Place::Original, Place::Rewritten] {
            if !self.repeats(place, arrival, undo.as_ref(), all)?.is_ok_and(|repeats| repeats) {
                return Ok(Err(format!("repetitions in {place} take other paths")));
            }
        }
        let mut taken = Vec::new();
        while taken.len() < rounds as usize && stop.reason().is_none() {
            let left = rounds.saturating_sub(taken.len() as u32).min(BLOCK);
            let block = Block { arrival, undo: undo.as_ref(), repeat, rounds: left };
            let Some(times) = self.block(&block, run.return_value)? else {
                return Ok(Err("timed runs do something else".to_owned()));
            };
            taken.extend(times);
        }
        let of = |subject: usize| median(taken.iter().map(|times| times[subject]).collect());
        let by_original = |subject: usize| {
            let ratio = |times: &[f64; 4]| times[subject] / times[0].max(f64::MIN_POSITIVE);
            median(taken.iter().map(ratio).collect())
        };
        let bare = taken.iter().map(|[original, rewritten, _, frame]| {
            let (original, rewritten) = (original - frame, rewritten - frame);
            (original >= LEAST && rewritten >= LEAST).then_some(rewritten / original)
        });
        let bare: Option<Vec<f64>> = bare.collect();
        let medians = (of(0), of(1), of(3), by_original(1), by_original(2));
        let (Some(original_ns), Some(rewritten_ns), Some(frame_ns), Some(ratio), Some(copy_ratio)) =
            medians
        else {
            return Ok(Err("there was no time".to_owned()));
        };
        Ok(Ok(Rate {
            original_ns,
            rewritten_ns,
            ratio,
            copy_ratio,
            frame_ns,
            ratio_without_frame: bare.and_then(median),
            rounds: taken.len() as u32,
            repetitions: repeat,
            restored: undo.is_some(),
            packet: arrival.packet.clone(),
        }))
    }

    fn load(&self, place: Place) -> Result<(Loaded, Option<Installed>), RehearsalError> {
        load(self.kernel, place, self.program(place), self.install)
    }

    fn program(&self, place: Place) -> (&Object, usize) {
        match place {
            Place::Rewritten => self.subject.rewritten,
            _ => self.subject.original,
        }
    }

    /// Loads the programs anew and times them in turns: in each round nanoseconds of the original, the
    /// rewritten one, a copy of the original and an empty program. `None` if one does not return this.
    fn block(
        &self,
        block: &Block<'_>,
        value: u32,
    ) -> Result<Option<Vec<[f64; 4]>>, RehearsalError> {
        let places = [Place::Original, Place::Rewritten, Place::Original];
        let mut loaded = Vec::new();
        for place in places {
            let (program, installed) = self.load(place)?;
            warm(&program, block.arrival)?;
            loaded.push((program, installed));
        }
        let empty = self.kernel.passing();
        let empty = empty.map_err(|cause| RehearsalError::Frame { cause: Box::new(cause) })?;
        let nothing = block.undo.map(of_nothing);
        let mut subjects = Vec::new();
        for (program, _) in &loaded {
            subjects.push(Ready::new(self, program, block.undo)?);
        }
        subjects.push(Ready::new(self, &empty, nothing.as_ref())?);
        let mut rounds = Vec::new();
        for round in 0..block.rounds as usize {
            let mut taken = [0.0; 4];
            for turn in 0..subjects.len() {
                // Whatever gets slower or faster meanwhile does so for all.
                let subject = (round + turn) % subjects.len();
                let (time, returned) = subjects[subject].sample(block.arrival, block.repeat)?;
                if subject < places.len() && returned != value {
                    return Ok(None);
                }
                taken[subject] = time;
            }
            rounds.push(taken);
        }
        Ok(Some(rounds))
    }

    /// What puts the packet back behind each run of both programs; or why nothing does.
    fn undo(
        &self,
        arrival: &Arrival,
        run: &TestRun,
    ) -> Result<Result<Undo, String>, RehearsalError> {
        let mut why = String::new();
        'candidates: for undo in candidates(arrival, run) {
            for place in [Place::Original, Place::Rewritten] {
                let needed = Some(&undo).filter(|undo| !undo.is_empty());
                match self.repeats(place, arrival, needed, FEW)? {
                    Ok(true) => {}
                    Ok(false) => {
                        why = format!("repetitions in {place} take other paths");
                        continue 'candidates;
                    }
                    Err(reason) => {
                        why = reason;
                        continue 'candidates;
                    }
                }
            }
            return Ok(Ok(undo));
        }
        Ok(Err(why))
    }

    /// Whether so many repetitions take one and the same path, counted; or why that cannot be said.
    fn repeats(
        &self,
        place: Place,
        arrival: &Arrival,
        undo: Option<&Undo>,
        times: u32,
    ) -> Result<Result<bool, String>, RehearsalError> {
        let (object, program) = self.program(place);
        let counted = match self.kernel.load_fingerprinted(object, program, &[]) {
            Ok(counted) => counted,
            Err(why) => return Ok(Err(format!("{place} cannot be counted: {why}"))),
        };
        let _installed = fill(place, counted.loaded(), self.install)?;
        let ready = match Ready::new(self, counted.loaded(), undo) {
            Ok(ready) => ready,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let context = arrival.context();
        for _ in 1..WARM {
            counted.run_repeated(&arrival.packet, &context, 1)?;
        }
        let (first, path) = counted.run_repeated(&arrival.packet, &context, 1)?;
        let (value, tally) =
            again(|| counted.tally(|loaded| ready.run(loaded, arrival, &context, times)))?;
        Ok(Ok(value == Some(first.return_value) && tally.is_multiple_of(&path, times)))
    }
}

/// Runs a packet a few times; what the last one did, or `None` if the kernel does not run it.
fn warm(program: &Loaded, arrival: &Arrival) -> Result<Option<TestRun>, RehearsalError> {
    let context = arrival.context();
    if arrival.packet.len() < crate::mutation::SHORTEST {
        return Ok(None);
    }
    let mut last = None;
    for _ in 0..WARM {
        last = Some(program.run_in(&arrival.packet, 1, &context)?);
    }
    Ok(last)
}

/// A program that can be timed.
struct Ready<'l> {
    program: &'l Loaded,
    wrapper: Option<Wrapper>,
    // Programs that are attached nowhere take milliseconds more to call.
    _attached: Attached,
}

impl<'l> Ready<'l> {
    fn new(
        setting: &Setting<'_>,
        program: &'l Loaded,
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

    /// Nanoseconds of a run, the mean of so many; and what the last one returned.
    fn sample(&self, arrival: &Arrival, repeat: u32) -> Result<(f64, u32), RehearsalError> {
        let timed = Timed { program: self.program, wrapper: self.wrapper.as_ref() };
        let sample = timed.sample(&arrival.packet, &arrival.context(), repeat)?;
        Ok((sample.nanoseconds as f64 / sample.runs.max(1) as f64, sample.return_value))
    }

    /// Runs a packet so often; what the last one returned, or `None` if it could not be put back.
    fn run(
        &self,
        loaded: &Loaded,
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

/// The middle one of some numbers, or the mean of the two in the middle.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    if numbers.len() % 2 == 1 {
        Some(upper)
    } else {
        Some(f64::midpoint(numbers[middle - 1], upper))
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }
}
