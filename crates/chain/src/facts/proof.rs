//! Asks the solver about the packets that leave a program, to prove or refute candidates (proposed
//! facts).

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

/// Maximum number of solver steps for a query; they take about 10 s. A query also takes at most a
/// quarter of the remaining time.
const LONGEST: u64 = 80_000_000;
/// Minimum time limit of a query. It applies if a quarter of the remaining time is less.
const LEAST: Duration = Duration::from_millis(50);
/// Number of additional sample packets that are derived from each packet that refutes candidates.
const VARIED: usize = 2;

/// Answer of the solver to the question whether a packet that leaves the program can fulfil some
/// conditions.
pub(super) enum Answer {
    Sat(Model),
    /// No packet fulfils the conditions. The list contains the indices of conditions that
    /// contradict each other, in the list of the conditions of all queries ([`Proof::conditions`])
    /// followed by those of this query.
    Unsat(Vec<usize>),
    /// The solver could not decide, for this reason.
    Unknown(String),
}

/// Result of searching for a packet that leaves the program and fulfils a condition.
pub(super) enum Example {
    /// A packet fulfils the condition. The fields are the value of the requested term for this
    /// packet, and the solver's model.
    Of(u64, Model),
    /// No packet fulfils the condition.
    None,
    /// The solver cannot decide whether a packet fulfils the condition.
    Unknown,
}

/// A formula for all runs of a program that end with one of the given results, and a solver that
/// answers questions about these runs.
pub(super) struct Proof {
    pub unrolled: Unrolled,
    pub departure: Departure,
    /// Memory region that contains the packet.
    pub region: RegionId,
    /// Conditions that arriving packets fulfil.
    pub arrived: Vec<TermId>,
    pub packet: Packet,
    /// Instructions of the analysed program.
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

    /// Sets the condition that ends all later queries.
    pub fn set_stop(&mut self, stop: &Stop) {
        self.stop = stop.clone();
        self.unrolled.executor.pool.set_stop(stop.clone());
    }

    /// Returns the conditions that hold for all packets that leave the program: first those of the
    /// paths, then those of arriving packets.
    pub fn conditions(&self) -> Vec<TermId> {
        let gates = self.departure.gates.iter().map(|gate| gate.term);
        gates.chain(self.arrived.iter().copied()).collect()
    }

    pub fn queries(&self) -> u64 {
        self.solver.statistics().checks
    }

    /// Asks the solver whether a packet that leaves the program can fulfil the conditions in
    /// `further`.
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

    /// Searches for a packet that leaves the program and fulfils `condition`. For a packet that is
    /// found, the result contains the value of `term`.
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

    /// Returns the value of a term for the packet that a model describes.
    pub fn value(&self, sampler: &Sampler, term: TermId, model: &Model) -> u64 {
        let pool = &self.unrolled.executor.pool;
        let model = sampler.complete(pool, model.clone());
        Evaluator::new(pool, &model).value(term)
    }

    /// Proves facts about all packets that leave the program. The candidates come from the sample
    /// packets `seen`. Returns the proved candidates and, if some stay undecided, the reason.
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
                        let why = "the solver's packet contradicts none of the facts".to_owned();
                        return Ok((Candidates::default(), Some(why)));
                    }
                }
            }
        }
    }

    /// Splits the candidates (proposed facts) again and again into halves, until the solver can
    /// decide a group or no time is left. Returns the proved candidates.
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

    /// Asks the solver whether all candidates hold for all packets that leave the program.
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

/// Answer of the solver to the question whether all candidates hold for all packets that leave the
/// program.
enum Step {
    /// All candidates hold.
    Proved,
    /// At least one candidate does not hold for the first packet in the list. The other packets are
    /// samples that were derived from it.
    Refuted(Vec<Seen>),
    Undecided(String),
}
