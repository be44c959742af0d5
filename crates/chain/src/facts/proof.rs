//! Asks the solver questions about all leaving packets, and so proves or refutes candidates for
//! facts.

use super::candidates::{Bounds, Candidates, Seen};
use super::departure::Departure;
use super::error::FactsError;
use super::samples::Sampler;
use super::violations::Packet;
use slowpath_bpf::insn::Insn;
use slowpath_ir::RegionId;
use slowpath_search::Unrolled;
use slowpath_smt::{BitSolver, Evaluator, Model, Outcome, Solver, TermId};
use slowpath_stop::Stop;
use std::time::Duration;

/// Maximum steps of a query, about 10 s; its time is at most a quarter of the remaining time.
const LONGEST: u64 = 80_000_000;
/// Minimum time of a query, unless less is left in total.
const LEAST: Duration = Duration::from_millis(50);
/// Number of packets that are derived from each packet that refutes candidates.
const VARIED: usize = 2;

/// Answer to the question whether a leaving packet can fulfil given conditions.
pub(super) enum Answer {
    Sat(Model),
    /// No packet can. The indices are those of conditions that contradict each other; conditions of
    /// the query come last.
    Unsat(Vec<usize>),
    /// Undecided, with the reason.
    Unknown(String),
}

/// A leaving packet that fulfils a condition, with the value that a term has for it.
pub(super) enum Example {
    /// Value of the term, and the packet.
    Of(u64, Model),
    /// There is no such packet.
    None,
    /// The solver does not decide whether there is such a packet.
    Unknown,
}

/// The formula of all runs that end with a wanted result, and the solver.
pub(super) struct Proof {
    pub unrolled: Unrolled,
    pub departure: Departure,
    /// Memory region of the packet.
    pub region: RegionId,
    /// Conditions on arriving packets.
    pub arrived: Vec<TermId>,
    pub packet: Packet,
    /// Instructions of the program, by number.
    pub code: Vec<Insn>,
    pub solver: BitSolver,
    stop: Stop,
}

impl Proof {
    pub fn new(
        unrolled: Unrolled,
        departure: Departure,
        region: RegionId,
        arrived: Vec<TermId>,
        packet: Packet,
        stop: Stop,
    ) -> Self {
        let (code, solver) = (Vec::new(), BitSolver::new());
        Proof { unrolled, departure, region, arrived, packet, code, solver, stop }
    }

    /// Sets the stop condition of further queries.
    pub fn set_stop(&mut self, stop: &Stop) {
        self.stop = stop.clone();
        self.unrolled.executor.pool.set_stop(stop.clone());
    }

    /// Returns the conditions on leaving packets: of the paths, then on arriving packets.
    pub fn conditions(&self) -> Vec<TermId> {
        let gates = self.departure.gates.iter().map(|gate| gate.term);
        gates.chain(self.arrived.iter().copied()).collect()
    }

    /// Returns the number of queries so far.
    pub fn queries(&self) -> u64 {
        self.solver.statistics().checks
    }

    /// Asks whether a leaving packet can fulfil further conditions.
    pub fn ask(&mut self, further: &[TermId]) -> Result<Answer, FactsError> {
        let limit = self.stop.remaining().map(|left| (left / 4).max(LEAST).min(left));
        self.solver.set_time_limit(limit);
        self.solver.set_step_limit(Some(LONGEST));
        let mut conditions = self.conditions();
        conditions.extend(further);
        let pool = &mut self.unrolled.executor.pool;
        Ok(match self.solver.check(pool, &conditions)? {
            Outcome::Sat(model) => Answer::Sat(model),
            Outcome::Unsat(core) => Answer::Unsat(core),
            Outcome::Unknown(why) => Answer::Unknown(why),
        })
    }

    /// Finds a leaving packet that fulfils a further condition, and the term's value for it.
    pub fn example(
        &mut self,
        sampler: &Sampler,
        term: TermId,
        condition: TermId,
    ) -> Result<Example, FactsError> {
        Ok(match self.ask(&[condition])? {
            Answer::Sat(model) => Example::Of(self.value(sampler, term, &model), model),
            Answer::Unsat(_) => Example::None,
            Answer::Unknown(_) => Example::Unknown,
        })
    }

    /// Returns the value that a term has for the leaving packet of a model.
    pub fn value(&self, sampler: &Sampler, term: TermId, model: &Model) -> u64 {
        let pool = &self.unrolled.executor.pool;
        let model = sampler.complete(pool, model.clone());
        Evaluator::new(pool, &model).value(term)
    }

    /// Proves candidates for facts from the `seen` packets. Returns those that hold for all leaving
    /// packets, and the reason why some are undecided, if there is one.
    pub fn prove(
        &mut self,
        sampler: &mut Sampler,
        mut seen: Vec<Seen>,
        bounds: &Bounds,
    ) -> Result<(Candidates, Option<String>), FactsError> {
        loop {
            let candidates = Candidates::of(&seen, bounds);
            let step = self.step(sampler, &candidates)?;
            match step {
                Step::Proved => return Ok((candidates, None)),
                Step::Undecided(why) => {
                    let proved = self.in_parts(sampler, candidates)?;
                    return Ok((proved, Some(why)));
                }
                Step::Refuted(packets) => {
                    let refutes = packets.iter().any(|packet| candidates.clone().refute(packet));
                    seen.extend(packets);
                    if !refutes {
                        let why = "a packet that refutes facts refutes none".to_owned();
                        return Ok((Candidates::default(), Some(why)));
                    }
                }
            }
        }
    }

    /// Proves candidates that one query cannot decide: tries each half, until the time is over.
    fn in_parts(
        &mut self,
        sampler: &mut Sampler,
        candidates: Candidates,
    ) -> Result<Candidates, FactsError> {
        let mut proved = Candidates::default();
        let mut groups = candidates.halves();
        while let Some(mut group) = groups.pop() {
            while self.stop.reason().is_none() {
                match self.step(sampler, &group)? {
                    Step::Proved => {
                        proved.extend(group);
                        break;
                    }
                    Step::Undecided(_) => {
                        groups.extend(group.halves());
                        break;
                    }
                    Step::Refuted(packets) => {
                        let mut refutes = false;
                        for packet in &packets {
                            refutes |= group.refute(packet);
                        }
                        if !refutes {
                            break;
                        }
                    }
                }
            }
        }
        Ok(proved)
    }

    /// Asks whether all candidates hold for all leaving packets.
    fn step(&mut self, sampler: &mut Sampler, candidates: &Candidates) -> Result<Step, FactsError> {
        let pool = &mut self.unrolled.executor.pool;
        let wrong = self.packet.wrong(pool, candidates);
        let none = pool.bool(false);
        let any = wrong.into_iter().fold(none, |any, term| pool.or(any, term));
        if any == none {
            return Ok(Step::Proved);
        }
        let mut model = match self.ask(&[any])? {
            Answer::Unsat(_) => return Ok(Step::Proved),
            Answer::Unknown(why) => return Ok(Step::Undecided(why)),
            Answer::Sat(model) => model,
        };
        let pool = &self.unrolled.executor.pool;
        model = sampler.complete(pool, model);
        let mut packets = vec![sampler.seen(pool, &model)];
        for _ in 0..VARIED {
            model = sampler.vary(pool, &model);
            packets.push(sampler.seen(pool, &model));
        }
        Ok(Step::Refuted(packets))
    }
}

/// Answer to the question whether all candidates hold.
enum Step {
    /// All of them hold.
    Proved,
    /// Some candidates do not hold for the first of these packets; the others are derived from it.
    Refuted(Vec<Seen>),
    Undecided(String),
}
