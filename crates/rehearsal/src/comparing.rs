//! Main loop: sends packets through the chain and compares.

use std::collections::{BTreeSet, HashSet};
use std::slice;
use std::time::{Duration, Instant};

use slowpath_bpf::{BpfProgram, Object};
use slowpath_kernel::agreement::Difference;
use slowpath_kernel::{Kernel, LoadError};
use slowpath_stop::Stop;

use crate::answers::{Answers, is_answered};
use crate::error::RehearsalError;
use crate::loaded_chain::{Comparison, LoadedChain, load};
use crate::mutation::{Mutator, SHORTEST};
use crate::open::{linked, open as open_calls};
use crate::options::{Install, Options, Role, Subject};
use crate::outcome::{Found, Rehearsal};
use crate::packets::{Packets, adapt_to_facts};
use crate::program_harness::Arrival;
use crate::random::Random;
use crate::repetition::{Repeated, repeat};
use crate::run_environment::RunEnvironment;

/// Packets between two comparisons of maps; more if comparing is slow.
const BATCH: usize = 1000;
/// Least ratio of the time for running packets to the time for comparing maps.
const SHARE: u32 = 4;
/// Packets between two reloads, which reset all maps: full tables behave differently from empty
/// ones. More if loading is slow.
const EPOCH: usize = 10_000;
/// Least ratio of the time for running packets to the time for comparing maps and loading.
const LOADING: u32 = 10;
/// Bytes of remembered packets that force a reload.
const REMEMBERED: usize = 32 << 20;
/// Most tried packets for each one that shall get through; see also `FURTHER`.
const TRIES: u64 = 10;
/// Most tried packets in addition, independent of the number that shall get through.
const FURTHER: u64 = 1000;
/// Most frames that may get lost on the way to a device.
const LOST: u32 = 20;

/// State of a comparison.
struct Work<'a> {
    kernel: &'a Kernel,
    subject: &'a Subject<'a>,
    install: Install<'a>,
    environment: RunEnvironment,
    calls: Calls,
    /// Answers of calls until the next reload.
    answers: Answers,
    /// Number of reloads.
    epochs: u64,
    stop: &'a Stop,
    loaded_chain: LoadedChain<'a>,
    /// All packets that both programs ran since the last reload.
    history: Vec<Arrival>,
    /// Total bytes of `history`.
    bytes: usize,
    /// Time of the last reload.
    started: Instant,
    /// Duration of the last reload.
    loading: Duration,
    /// Length of `history` when the maps were last found to be the same.
    equal_until: usize,
    /// Time of the last comparison of maps.
    looked: Instant,
    /// Duration of the last comparison of maps.
    looking: Duration,
    ways: HashSet<(u32, i64, u64)>,
    refused: Option<String>,
    /// Number of frames that did not arrive.
    lost: u32,
    /// Lengths of the shortest and the longest packet that both programs ran.
    lengths: Option<(usize, usize)>,
    rehearsal: Rehearsal,
}

/// Result of one packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ran {
    /// The kernel does not run the packet.
    Nothing,
    /// The packet did not reach the two programs.
    Kept,
    /// The original took a known path, or is not deterministic.
    Known,
    /// The original took a new path.
    New,
}

/// Result of a comparison, and lengths of the shortest and the longest packet that both programs
/// ran.
pub type Compared = (Rehearsal, Option<(usize, usize)>);

/// Compares the two programs on mutants of the given packets.
pub fn compare(
    kernel: &Kernel,
    subject: &Subject<'_>,
    packets: Packets<'_>,
    install: Install<'_>,
    options: &Options,
    environment: RunEnvironment,
    stop: &Stop,
) -> Result<Compared, RehearsalError> {
    let Programs { all: mut programs, original, rewritten, open } = programs(kernel, subject)?;
    let calls = Calls { original, rewritten, seed: options.seed };
    let mut work = Work::new(kernel, subject, install, calls, environment, stop)?;
    let answered = work.answers.names();
    if !answered.is_empty() && environment == RunEnvironment::TestRun {
        // The unmodified program is the one to be deployed, so the verifier must accept it, too.
        load(kernel, Role::Rewritten, subject.rewritten, install)?;
        let names = answered.join(", ");
        let note = format!("what {names} return is the same for both, and not the kernel's answer");
        work.rehearsal.notes.push(note);
    }
    if !open.is_empty() {
        let names: Vec<String> = open.into_iter().collect();
        let why = format!("it depends on what {} returns or does later", names.join(", "));
        work.rehearsal.undetermined = Some(why);
    }
    let Packets { seeds, facts } = packets;
    let seeds: Vec<Vec<u8>> = seeds.iter().filter(|seed| seed.len() >= SHORTEST).cloned().collect();
    let mut through = Vec::new();
    for seed in &seeds {
        through.extend(work.loaded_chain.pass(seed.clone())?.map(|arrival| arrival.packet));
    }
    if through.len() < seeds.len() {
        let lost = seeds.len() - through.len();
        let note = format!("{lost} of {} given packets do not get through", seeds.len());
        work.rehearsal.notes.push(note);
    }
    let mut direct = Mutator::new(options.seed.wrapping_add(1), &through, &programs);
    for stage in subject.upstream {
        programs.extend(linked(kernel, (&stage.object, stage.program)).unwrap_or_default());
    }
    let mut arriving = Mutator::new(options.seed, &seeds, &programs);
    let tries = options.packets.saturating_mul(TRIES).saturating_add(FURTHER);
    let mut given = seeds.iter();
    let mut random = Random::new(options.seed);
    let mut reached = 0;
    while reached < options.packets && work.rehearsal.tried < tries && work.goes_on() {
        let packet = given.next().cloned().unwrap_or_else(|| arriving.mutant());
        work.rehearsal.tried += 1;
        let packet = match environment {
            RunEnvironment::TestRun => packet,
            RunEnvironment::Device(wired) => wired.frame(packet, &mut random),
        };
        let packet = match facts {
            Some(facts) => adapt_to_facts(facts, packet, &mut random),
            None => Some(packet),
        };
        let Some(packet) = packet else { continue };
        let Some(arrival) = work.loaded_chain.pass(packet.clone())? else { continue };
        let ran = work.run(&arrival)?;
        if ran == Ran::New {
            arriving.keep(&packet);
            direct.keep(&arrival.packet);
        }
        let runs = matches!(ran, Ran::Known | Ran::New);
        work.rehearsal.compared += u64::from(runs && work.finds_none());
        reached += u64::from(ran != Ran::Kept);
    }
    if reached < options.packets && work.goes_on() {
        let note = format!("only {reached} packets got through the programs in front");
        work.rehearsal.notes.push(note);
    }
    let mut passed = 0;
    while options.arbitrary && passed < options.packets && work.goes_on() {
        let packet = if passed % 2 == 0 { direct.mutant() } else { direct.arbitrary() };
        let arrival = Arrival::bare(packet);
        let ran = work.run(&arrival)?;
        if ran == Ran::New {
            direct.keep(&arrival.packet);
        }
        work.rehearsal.arbitrary += u64::from(ran != Ran::Nothing && work.finds_none());
        passed += 1;
    }
    work.end()
}

/// The two programs, linked, with all programs that they tail-call.
pub struct Programs {
    /// All programs, including tail-called ones.
    pub all: Vec<BpfProgram>,
    /// The original program without tail-called ones.
    pub original: BpfProgram,
    /// The rewritten program without tail-called ones.
    pub rewritten: BpfProgram,
    /// Called functions whose results are unpredictable and are not replaced.
    pub open: BTreeSet<String>,
}

/// The two programs whose calls are answered.
struct Calls {
    original: BpfProgram,
    rewritten: BpfProgram,
    seed: u64,
}

impl Calls {
    fn answers(&self, number: u64) -> Answers {
        Answers::of(&self.original, &self.rewritten, self.seed.wrapping_add(number))
    }
}

/// Links the two programs.
pub fn programs(kernel: &Kernel, subject: &Subject<'_>) -> Result<Programs, RehearsalError> {
    let linked = |role, what: (&Object, usize)| {
        linked(kernel, what).map_err(|cause| {
            let cause = Box::new(LoadError::Object(cause));
            RehearsalError::Load { role, cause }
        })
    };
    let mut all = linked(Role::Original, subject.original)?;
    let others = linked(Role::Rewritten, subject.rewritten)?;
    // The program itself comes first; calls of tail-called programs are not replaced.
    let (original, rewritten) = (all[0].clone(), others[0].clone());
    let mut open: BTreeSet<String> =
        [&original, &rewritten].into_iter().flat_map(|p| open_calls(slice::from_ref(p))).collect();
    open.retain(|name| !is_answered(name));
    open.extend(open_calls(&all[1..]));
    open.extend(open_calls(&others[1..]));
    all.extend(others);
    Ok(Programs { all, original, rewritten, open })
}

impl<'a> Work<'a> {
    fn new(
        kernel: &'a Kernel,
        subject: &'a Subject<'a>,
        install: Install<'a>,
        calls: Calls,
        environment: RunEnvironment,
        stop: &'a Stop,
    ) -> Result<Work<'a>, RehearsalError> {
        let begun = Instant::now();
        let answers = calls.answers(0);
        let loaded_chain = LoadedChain::new(kernel, subject, install, &answers, environment)?;
        let started = Instant::now();
        let rehearsal = Rehearsal { unread: loaded_chain.unread(), ..Rehearsal::default() };
        Ok(Work {
            kernel,
            subject,
            install,
            environment,
            calls,
            answers,
            epochs: 0,
            stop,
            loaded_chain,
            history: Vec::new(),
            bytes: 0,
            started,
            loading: started - begun,
            equal_until: 0,
            looked: started,
            looking: Duration::ZERO,
            ways: HashSet::new(),
            refused: None,
            lost: 0,
            lengths: None,
            rehearsal,
        })
    }

    fn goes_on(&self) -> bool {
        // On a device this is already known from test runs.
        let of_use = self.environment == RunEnvironment::TestRun || self.is_determined();
        of_use && self.rehearsal.difference.is_none() && self.stop.reason().is_none()
    }

    fn is_determined(&self) -> bool {
        self.rehearsal.undetermined.is_none()
    }

    /// Returns true if the programs can be compared and no difference was found.
    fn finds_none(&self) -> bool {
        self.is_determined() && self.rehearsal.difference.is_none()
    }

    /// Runs a packet in both programs and evaluates the result.
    fn run(&mut self, arrival: &Arrival) -> Result<Ran, RehearsalError> {
        let compared = self.loaded_chain.compare(arrival)?;
        let (difference, way) = match compared {
            Comparison::Refused(fault) => {
                self.refused.get_or_insert_with(|| fault.to_string());
                return Ok(Ran::Nothing);
            }
            Comparison::Kept => {
                self.remember(arrival);
                return Ok(Ran::Kept);
            }
            Comparison::Lost => {
                self.lost += 1;
                self.remember(arrival);
                if self.lost > LOST {
                    self.rehearsal.undetermined = Some(format!("{} frames got lost", self.lost));
                }
                return Ok(Ran::Kept);
            }
            Comparison::PartlyDelivered => {
                let why = "a frame did not get to all copies of the programs".to_owned();
                self.rehearsal.undetermined = Some(why);
                return Ok(Ran::Kept);
            }
            Comparison::Undetermined(difference) => {
                self.rehearsal.ran += 1;
                self.cannot_compare(&difference);
                return Ok(Ran::Known);
            }
            Comparison::Ran { difference, way } => (difference, way),
        };
        self.rehearsal.ran += 1;
        let length = arrival.packet.len();
        let (least, most) = self.lengths.unwrap_or((length, length));
        self.lengths = Some((least.min(length), most.max(length)));
        self.stop.count(self.rehearsal.ran, "packets");
        let ran = if self.ways.insert(way) { Ran::New } else { Ran::Known };
        if !self.is_determined() {
            return Ok(ran);
        }
        self.remember(arrival);
        if let Some(difference) = difference {
            self.confirm_difference(&difference)?;
        } else if self.history.len() - self.equal_until >= BATCH
            && self.looked.elapsed() >= self.looking * SHARE
        {
            self.compare_maps()?;
        }
        let anew = self.loading + self.looking;
        let over = self.history.len() >= EPOCH && self.started.elapsed() >= anew * LOADING;
        if self.goes_on() && (over || self.bytes >= REMEMBERED) {
            self.compare_maps()?;
            self.start_anew()?;
        }
        Ok(ran)
    }

    /// Remembers a packet for `repeat`. On a device this includes packets that upstream programs
    /// keep, because they change the maps of those programs.
    fn remember(&mut self, arrival: &Arrival) {
        self.bytes += arrival.len();
        self.history.push(arrival.clone());
    }

    /// Compares the maps, if packets ran since the last comparison.
    fn compare_maps(&mut self) -> Result<(), RehearsalError> {
        if self.rehearsal.difference.is_some()
            || !self.is_determined()
            || self.equal_until == self.history.len()
        {
            return Ok(());
        }
        let started = Instant::now();
        if let Some(difference) = self.loaded_chain.compare_maps()? {
            return self.confirm_difference(&difference);
        }
        self.equal_until = self.history.len();
        self.looked = Instant::now();
        self.looking = self.looked - started;
        Ok(())
    }

    /// Reloads all programs, which resets all maps.
    fn start_anew(&mut self) -> Result<(), RehearsalError> {
        if !self.goes_on() || !self.is_determined() {
            return Ok(());
        }
        let begun = Instant::now();
        self.epochs += 1;
        self.answers = self.calls.answers(self.epochs);
        let Work { kernel, subject, install, environment, .. } = *self;
        self.loaded_chain = LoadedChain::new(kernel, subject, install, &self.answers, environment)?;
        self.started = Instant::now();
        self.loading = self.started - begun;
        self.history.clear();
        (self.bytes, self.equal_until) = (0, 0);
        Ok(())
    }

    /// Records that the original is not deterministic.
    fn cannot_compare(&mut self, difference: &Difference) {
        let why = format!("two copies of the original program do not do the same: {difference}");
        self.rehearsal.undetermined.get_or_insert(why);
        self.history = Vec::new();
    }

    /// Confirms a difference by repetition and records it.
    fn confirm_difference(&mut self, difference: &Difference) -> Result<(), RehearsalError> {
        if let Some(difference) = self.loaded_chain.compare_control_maps()? {
            self.cannot_compare(&difference);
            return Ok(());
        }
        let Work { kernel, subject, install, environment, stop, .. } = *self;
        let (on, history) = ((&self.answers, environment), &self.history);
        let found = match repeat(kernel, subject, install, on, history, self.equal_until, stop)? {
            Repeated::AfterPacket(number, difference) => {
                let arrival = self.history.get(number).cloned();
                let metadata = arrival.as_ref().map(|arrival| arrival.metadata.clone());
                Found {
                    what: difference.to_string(),
                    packet: arrival.map(|arrival| arrival.packet),
                    metadata: metadata.unwrap_or_default(),
                    before: number as u64,
                }
            }
            Repeated::Somewhere(difference) => Found {
                what: difference.to_string(),
                packet: None,
                metadata: Vec::new(),
                before: self.equal_until as u64,
            },
            Repeated::No => {
                let why = format!("a difference does not show again: {difference}");
                self.rehearsal.undetermined = Some(why);
                self.history = Vec::new();
                return Ok(());
            }
        };
        self.rehearsal.difference = Some(found);
        Ok(())
    }

    fn end(mut self) -> Result<Compared, RehearsalError> {
        self.compare_maps()?;
        self.rehearsal.ways = self.ways.len();
        self.rehearsal.ended = self.stop.reason().map(|why| why.to_string());
        if let Some(refused) = self.refused {
            self.rehearsal.notes.push(format!("packets that the kernel does not run: {refused}"));
        }
        Ok((self.rehearsal, self.lengths))
    }
}
