//! Runs many packets through the chain and compares the results of the original and of the
//! rewritten program. This is the main loop of a rehearsal.

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
use crate::options::{Install, Options, Role, Subject};
use crate::outcome::{Found, Rehearsal};
use crate::packets::{Packets, adapt_to_facts};
use crate::program_harness::Arrival;
use crate::random::Random;
use crate::repetition::{Repeated, repeat};
use crate::run_environment::RunEnvironment;
use crate::unpredictable::{link_all, unpredictable_calls};

/// Minimum number of packets between two comparisons of maps.
const BATCH: usize = 1000;
/// Minimum ratio of the time for running packets to the time for comparing maps.
const MIN_RUN_RATIO: u32 = 4;
/// Minimum number of packets between two reloads of the programs. A reload resets all maps, because
/// full maps behave differently from empty ones.
const EPOCH: usize = 10_000;
/// Minimum ratio of the time for running packets to the time for comparing maps and reloading.
const MIN_EPOCH_RATIO: u32 = 10;
/// Total size in bytes of the remembered packets above which the programs are reloaded.
const MAX_HISTORY_BYTES: usize = 32 << 20;
/// Number of attempts for each packet that should reach the original and the rewritten program: an
/// upstream program may drop a generated packet. [`EXTRA_TRIES`] further attempts are allowed in
/// total.
const TRIES: u64 = 10;
/// Number of attempts that are allowed in total, in addition to [`TRIES`] for each packet.
const EXTRA_TRIES: u64 = 1000;
/// Maximum number of frames that may get lost on a device. If more get lost, the comparison on this
/// device ends without a result.
const MAX_LOST: u32 = 20;

/// State of the loop that compares the original with the rewritten program.
struct Work<'a> {
    kernel: &'a Kernel,
    subject: &'a Subject<'a>,
    install: Install<'a>,
    environment: RunEnvironment,
    calls: Calls,
    /// Fixed results for the calls of both programs until the next reload.
    answers: Answers,
    /// Number of times that the programs were reloaded.
    epochs: u64,
    stop: &'a Stop,
    loaded_chain: LoadedChain<'a>,
    /// Packets since the last reload that may have changed maps, in order.
    history: Vec<Arrival>,
    /// Total size in bytes of the packets in `history`.
    bytes: usize,
    /// Time at which the last reload ended.
    started: Instant,
    /// Time at which the programs were last reloaded.
    loading: Duration,
    /// Number of packets in `history` for which the maps are known to be equal in both programs.
    equal_until: usize,
    /// Time at which the last comparison of maps ended.
    maps_compared: Instant,
    /// Time that the last comparison of maps took.
    comparing: Duration,
    /// Signatures of the paths that the original program took, as in the field `way` of
    /// [`Comparison::Ran`].
    ways: HashSet<(u32, i64, u64)>,
    /// First error with which the kernel refused to run a packet; `None` if it has run all packets.
    refused: Option<String>,
    /// Number of frames that were sent but reached none of the programs.
    lost: u32,
    /// Lengths in bytes of the shortest and the longest packet that both programs ran.
    lengths: Option<(usize, usize)>,
    rehearsal: Rehearsal,
}

/// Effect of sending one packet to the original and the rewritten program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ran {
    /// The kernel did not run the original program on the packet.
    Nothing,
    /// The packet did not reach both the original and the rewritten program.
    Kept,
    /// Both programs ran. The original took a path that it had taken before, or its results are
    /// unpredictable.
    Known,
    /// Both programs ran. The original took a path for the first time.
    New,
}

/// Results of the comparison, and the lengths in bytes of the shortest and the longest packet that
/// both programs ran. The lengths are `None` if no packet reached both programs.
pub type Compared = (Rehearsal, Option<(usize, usize)>);

/// Compares the original and the rewritten program on mutants of the seed packets. Ends when enough
/// packets reached both programs, a difference is found, or `stop` ends the work.
pub fn compare(
    kernel: &Kernel,
    subject: &Subject<'_>,
    packets: Packets<'_>,
    install: Install<'_>,
    options: &Options,
    environment: RunEnvironment,
    stop: &Stop,
) -> Result<Compared, RehearsalError> {
    let Programs { all: mut programs, original, rewritten, unpredictable } =
        programs(kernel, subject)?;
    let calls = Calls { original, rewritten, seed: options.seed };
    let mut work = Work::new(kernel, subject, install, calls, environment, stop)?;
    let answered = work.answers.names();
    if !answered.is_empty() && environment == RunEnvironment::TestRun {
        // The unmodified program is the one to be deployed, so the verifier must accept it, too.
        load(kernel, Role::Rewritten, subject.rewritten, install)?;
        let names = answered.join(", ");
        let note = format!(
            "results of {names} are equal for both programs, but not those of the \
            kernel"
        );
        work.rehearsal.notes.push(note);
    }
    if !unpredictable.is_empty() {
        let names: Vec<String> = unpredictable.into_iter().collect();
        let reason =
            format!("the result depends on later results or effects of {}", names.join(", "));
        work.rehearsal.undetermined = Some(reason);
    }
    let Packets { seeds, facts } = packets;
    let seeds: Vec<Vec<u8>> = seeds.iter().filter(|seed| seed.len() >= SHORTEST).cloned().collect();
    let mut through = Vec::new();
    for seed in &seeds {
        through.extend(work.loaded_chain.pass(seed.clone())?.map(|arrival| arrival.packet));
    }
    if through.len() < seeds.len() {
        let lost = seeds.len() - through.len();
        let note = format!("{lost} of {} given packets do not reach the program", seeds.len());
        work.rehearsal.notes.push(note);
    }
    let mut direct = Mutator::new(options.seed.wrapping_add(1), &through, &programs);
    for stage in subject.upstream {
        programs.extend(link_all(kernel, (&stage.object, stage.program)).unwrap_or_default());
    }
    let mut arriving = Mutator::new(options.seed, &seeds, &programs);
    let tries = options.packets.saturating_mul(TRIES).saturating_add(EXTRA_TRIES);
    let mut unused_seeds = seeds.iter();
    let mut random = Random::new(options.seed);
    let mut reached = 0;
    while reached < options.packets && work.rehearsal.tried < tries && work.continues() {
        let packet = unused_seeds.next().cloned().unwrap_or_else(|| arriving.mutant());
        work.rehearsal.tried += 1;
        let packet = match environment {
            RunEnvironment::TestRun => packet,
            RunEnvironment::Device(settings) => settings.frame(packet, &mut random),
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
        work.rehearsal.compared += u64::from(runs && work.agrees());
        reached += u64::from(ran != Ran::Kept);
    }
    if reached < options.packets && work.continues() {
        let note = format!("only {reached} packets passed the earlier programs");
        work.rehearsal.notes.push(note);
    }
    let mut passed = 0;
    while options.arbitrary && passed < options.packets && work.continues() {
        let packet = if passed % 2 == 0 { direct.mutant() } else { direct.arbitrary() };
        let arrival = Arrival::bare(packet);
        let ran = work.run(&arrival)?;
        if ran == Ran::New {
            direct.keep(&arrival.packet);
        }
        work.rehearsal.arbitrary += u64::from(ran != Ran::Nothing && work.agrees());
        passed += 1;
    }
    work.end()
}

/// The original and the rewritten program after linking, and all programs that they can tail-call.
pub struct Programs {
    /// Both programs, each together with all programs that it can tail-call.
    pub all: Vec<BpfProgram>,
    /// The original program, without the programs that it tail-calls.
    pub original: BpfProgram,
    /// The rewritten program, without the programs that it tail-calls.
    pub rewritten: BpfProgram,
    /// Names of functions that the programs call, whose results are unpredictable and are not
    /// replaced by fixed results.
    pub unpredictable: BTreeSet<String>,
}

/// The original and the rewritten program, and the seed for the fixed results that replace their
/// calls for the time and for random numbers.
struct Calls {
    original: BpfProgram,
    rewritten: BpfProgram,
    seed: u64,
}

impl Calls {
    fn answers(&self, number: u64) -> Answers {
        Answers::new(&self.original, &self.rewritten, self.seed.wrapping_add(number))
    }
}

/// Links the original and the rewritten program, and the programs that they can tail-call.
pub fn programs(kernel: &Kernel, subject: &Subject<'_>) -> Result<Programs, RehearsalError> {
    let link = |role, program: (&Object, usize)| {
        link_all(kernel, program).map_err(|cause| {
            let cause = Box::new(LoadError::Object(cause));
            RehearsalError::Load { role, cause }
        })
    };
    let mut all = link(Role::Original, subject.original)?;
    let others = link(Role::Rewritten, subject.rewritten)?;
    // The program itself comes first; calls of tail-called programs are not replaced.
    let (original, rewritten) = (all[0].clone(), others[0].clone());
    let mut unpredictable: BTreeSet<String> = [&original, &rewritten]
        .into_iter()
        .flat_map(|p| unpredictable_calls(slice::from_ref(p)))
        .collect();
    unpredictable.retain(|name| !is_answered(name));
    unpredictable.extend(unpredictable_calls(&all[1..]));
    unpredictable.extend(unpredictable_calls(&others[1..]));
    all.extend(others);
    Ok(Programs { all, original, rewritten, unpredictable })
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
            maps_compared: started,
            comparing: Duration::ZERO,
            ways: HashSet::new(),
            refused: None,
            lost: 0,
            lengths: None,
            rehearsal,
        })
    }

    fn continues(&self) -> bool {
        // Test runs go on to show that both programs run; devices would show nothing new.
        let is_useful = self.environment == RunEnvironment::TestRun || self.is_determined();
        is_useful && self.rehearsal.difference.is_none() && self.stop.reason().is_none()
    }

    fn is_determined(&self) -> bool {
        self.rehearsal.undetermined.is_none()
    }

    /// Returns true if the programs can be compared and no difference was found.
    fn agrees(&self) -> bool {
        self.is_determined() && self.rehearsal.difference.is_none()
    }

    /// Runs a packet through the original and the rewritten program, compares the results, and
    /// records them.
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
                if self.lost > MAX_LOST {
                    self.rehearsal.undetermined = Some(format!("{} frames got lost", self.lost));
                }
                return Ok(Ran::Kept);
            }
            Comparison::PartlyDelivered => {
                let reason = "a frame did not get to all copies of the programs".to_owned();
                self.rehearsal.undetermined = Some(reason);
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
            && self.maps_compared.elapsed() >= self.comparing * MIN_RUN_RATIO
        {
            self.compare_maps()?;
        }
        let overhead = self.loading + self.comparing;
        let over =
            self.history.len() >= EPOCH && self.started.elapsed() >= overhead * MIN_EPOCH_RATIO;
        if self.continues() && (over || self.bytes >= MAX_HISTORY_BYTES) {
            self.compare_maps()?;
            self.reload()?;
        }
        Ok(ran)
    }

    /// Remembers a packet, so that it can run again on new maps. On a device, also remembers
    /// packets that upstream programs do not pass on, because they change the maps of upstream
    /// programs.
    fn remember(&mut self, arrival: &Arrival) {
        self.bytes += arrival.len();
        self.history.push(arrival.clone());
    }

    /// Compares the maps of both programs if packets ran since the last comparison.
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
        self.maps_compared = Instant::now();
        self.comparing = self.maps_compared - started;
        Ok(())
    }

    /// Reloads all programs, which resets all maps.
    fn reload(&mut self) -> Result<(), RehearsalError> {
        if !self.continues() || !self.is_determined() {
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

    /// Records that two copies of the original program gave different results, so that the
    /// comparison is not possible.
    fn cannot_compare(&mut self, difference: &Difference) {
        let reason = format!("two copies of the original program behave differently: {difference}");
        self.rehearsal.undetermined.get_or_insert(reason);
        self.history = Vec::new();
    }

    /// Runs all packets again on new maps to confirm a difference. Records either the difference,
    /// or that it did not occur again.
    fn confirm_difference(&mut self, difference: &Difference) -> Result<(), RehearsalError> {
        if let Some(difference) = self.loaded_chain.compare_control_maps()? {
            self.cannot_compare(&difference);
            return Ok(());
        }
        let Work { kernel, subject, install, environment, stop, .. } = *self;
        let (conditions, history) = ((&self.answers, environment), &self.history);
        let repeated =
            repeat(kernel, subject, install, conditions, history, self.equal_until, stop)?;
        let found = match repeated {
            Repeated::AfterPacket(number, difference) => {
                Found::new(&difference, self.history.get(number).cloned(), number)
            }
            Repeated::Somewhere(difference) => Found::new(&difference, None, self.equal_until),
            Repeated::No => {
                let reason = format!("a difference is not reproducible: {difference}");
                self.rehearsal.undetermined = Some(reason);
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
        self.rehearsal.ended = self.stop.reason().map(|reason| reason.to_string());
        if let Some(refused) = self.refused {
            self.rehearsal.notes.push(format!("packets that the kernel does not run: {refused}"));
        }
        Ok((self.rehearsal, self.lengths))
    }
}
