//! Produces certificates: proofs of a bound that `slowpath-certificate` checks.
//!
//! A certificate contains only the nogoods that exclude a path above the bound. Each is proved
//! again, with clauses that the checker translates, so the proof does not depend on the reasons for
//! which the search found the nogood.

mod hints;

use crate::SearchError;
use crate::dag::{Dag, Head};
use crate::found_path::FoundPath;
use crate::nogood::{ANY_LENGTH, Nogood};
use slowpath_certificate::{
    Arc, BoundClaim, Certificate, Graph, Node, NogoodProof, Paths, Problem, WitnessClaim,
    conditions_of_arcs, conditions_of_path, encode, encode::Encoded, uncovered,
};
use slowpath_exec::{ArcId, NodeId};
use slowpath_smt::{ClauseSolver, Event, Model, Trace};
use std::collections::BTreeSet;
use std::sync::{Arc as Shared, Mutex, PoisonError};

/// Maximum number of solver steps for one proof.
const EFFORT: u64 = 30_000_000;

/// Number of paths without a nogood that are refuted while a certificate is made. The search may
/// have excluded some paths in another way, such as by enumerating inputs.
const MAX_REFUTED: usize = 2_000;

/// The claims to certify, and the nogoods that the search learnt.
#[derive(Debug, Default)]
pub struct Certification {
    /// The bound, if it is above the cost of the witness.
    pub bound: Option<BoundClaim>,
    /// A path that some packet takes.
    pub witness: Option<FoundPath>,
    /// Nogoods of the search.
    pub nogoods: Vec<Nogood>,
}

/// Converts the unrolled program to the form that the checker reads.
pub fn certificate_graph(dag: &Dag) -> Graph {
    let nodes = dag
        .nodes
        .iter()
        .map(|node| Node { block: node.block, out: node.out.iter().map(|arc| arc.0).collect() });
    let arcs = dag.arcs.iter().map(|arc| Arc {
        tail: arc.tail.0,
        head: match arc.head {
            Head::Node(NodeId(node)) => Some(node),
            Head::Exit(_) => None,
        },
        edge: arc.edge,
        condition: arc.condition,
    });
    Graph { nodes: nodes.collect(), arcs: arcs.collect() }
}

/// Proves the claims of a search. `problem` must be a newly unrolled program, because proofs depend
/// on the order in which terms are created. `refute` returns nogoods of a path, for packets of at
/// most the given length; `None` if it finds none.
///
/// # Errors
/// The text is the reason why there is no certificate.
pub fn certify(
    problem: &mut Problem<'_>,
    claims: Certification,
    mut refute: impl FnMut(&[ArcId], u32) -> Result<Option<Vec<Nogood>>, SearchError>,
) -> Result<Certificate, String> {
    let unproved = |nogood: &Nogood| {
        let mut arcs: Vec<u32> = nogood.arcs.iter().map(|arc| arc.0).collect();
        arcs.sort_unstable();
        arcs.dedup();
        let below = (nogood.below != ANY_LENGTH).then_some(nogood.below);
        NogoodProof { arcs, below, proof: Vec::new() }
    };
    let mut certificate = Certificate {
        bound: claims.bound,
        witness: claims.witness.as_ref().map(|found| WitnessClaim {
            path: found.path.iter().map(|arc| arc.0).collect(),
            length: found.length,
            relies: BTreeSet::new(),
            assignment: String::new(),
        }),
        nogoods: claims.nogoods.iter().map(unproved).collect(),
    };
    let used = exclude_paths(problem, &mut certificate, |path, length| {
        let found = refute(path, length).map_err(|error| error.to_string())?;
        Ok(found.map(|nogoods| nogoods.iter().map(unproved).collect()))
    })?;
    let all = std::mem::take(&mut certificate.nogoods);
    certificate.nogoods = used.into_iter().map(|index| all[index].clone()).collect();
    let stop = problem.executor.pool.stop().clone();
    let stopped = || stop.reason().is_some();
    if let (Some(claim), Some(found)) = (&mut certificate.witness, &claims.witness) {
        find_packet(problem, claim, &found.model, &stopped)?;
    }
    for nogood in &mut certificate.nogoods {
        let conditions = conditions_of_arcs(problem, &nogood.arcs, nogood.below)?;
        let clauses = encode::clauses(&problem.executor.pool, &conditions)?;
        nogood.proof = refutation(&clauses, &stopped).map_err(|reason| {
            format!("a contradiction of {} branches: {reason}", conditions.len())
        })?;
    }
    Ok(certificate)
}

/// Adds nogoods until all paths above the bound contain one. Returns the indices of those needed.
fn exclude_paths(
    problem: &Problem<'_>,
    certificate: &mut Certificate,
    mut refute: impl FnMut(&[ArcId], u32) -> Result<Option<Vec<NogoodProof>>, String>,
) -> Result<Vec<usize>, String> {
    for _ in 0..MAX_REFUTED {
        let (path, length) = match uncovered(problem, certificate)? {
            Paths::Excluded(used) => return Ok(used),
            Paths::TooMany => return Err("there are too many paths to follow".into()),
            Paths::Open { path, length } => (path, length),
        };
        let path: Vec<ArcId> = path.into_iter().map(ArcId).collect();
        if let Some(reason) = problem.executor.pool.stop().reason() {
            return Err(reason.to_string());
        }
        let found = refute(&path, length)?;
        let Some(found) = found.filter(|found| !found.is_empty()) else {
            return Err("no contradiction is known for a path above the bound".into());
        };
        certificate.nogoods.extend(found);
    }
    Err(format!("more than {MAX_REFUTED} paths above the bound need a contradiction"))
}

/// Records the clauses that a solver learns.
#[derive(Clone, Debug, Default)]
struct Learnt(Shared<Mutex<Vec<Vec<i32>>>>);

impl Trace for Learnt {
    fn event(&mut self, event: Event) {
        if let Event::Learnt(clause) = event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(clause);
        }
    }

    fn fork(&self) -> Box<dyn Trace> {
        Box::new(Learnt::default())
    }
}

/// Solves clauses. Returns the solver, its answer, and the clauses that it learnt.
fn solve(
    clauses: &[Vec<i32>],
    stopped: &dyn Fn() -> bool,
) -> (ClauseSolver, Option<bool>, Vec<Vec<i32>>) {
    let learnt = Learnt::default();
    let mut solver = ClauseSolver::traced(Box::new(learnt.clone()));
    for clause in clauses {
        solver.clause(clause);
    }
    let answer = solver.decide(EFFORT, stopped);
    let clauses = std::mem::take(&mut *learnt.0.lock().unwrap_or_else(PoisonError::into_inner));
    (solver, answer, clauses)
}

/// Finds an assignment for the path of a witness that relies on as few assumptions as possible:
/// on none, or else on those that cannot be avoided one by one, or else on any. `model` is a packet
/// that the search has found.
fn find_packet(
    problem: &mut Problem<'_>,
    claim: &mut WitnessClaim,
    model: &Model,
    stopped: &dyn Fn() -> bool,
) -> Result<(), String> {
    let nodes = claim.path.iter().map(|&arc| NodeId(problem.graph.arcs[arc as usize].tail));
    let possible: BTreeSet<u32> =
        nodes.flat_map(|node| problem.executor.reliances(node)).map(|(on, _)| on.0).collect();
    let mut try_relying = |relies: BTreeSet<u32>| {
        claim.relies = relies;
        let conditions = conditions_of_path(problem, claim)?;
        let encoded = encode::encode(&problem.executor.pool, &conditions)?;
        let found = assignment(&encoded, model, stopped);
        let is_found = found.is_some();
        claim.assignment = found.unwrap_or_default();
        Ok::<bool, String>(is_found)
    };
    if try_relying(BTreeSet::new())? {
        return Ok(());
    }
    let mut unavoidable = possible.clone();
    for &one in &possible {
        let others = possible.iter().copied().filter(|&other| other != one).collect();
        if try_relying(others)? {
            unavoidable.remove(&one);
        }
    }
    if try_relying(unavoidable)? || try_relying(possible)? {
        return Ok(());
    }
    Err("the solver found no packet for the path again".into())
}

/// Returns an assignment that satisfies all clauses, as hexadecimal digits; `None` if the solver
/// finds none. Tries the values of `model` first. Unrolling creates the same unknowns whenever it
/// is repeated, so most values of the model belong to the same inputs.
fn assignment(encoded: &Encoded, model: &Model, stopped: &dyn Fn() -> bool) -> Option<String> {
    let clauses = &encoded.clauses;
    let unknowns = encoded.unknowns.iter().filter_map(|(var, bits)| Some((model.var(*var)?, bits)));
    let bytes = encoded
        .bytes
        .iter()
        .filter_map(|(array, index, bits)| Some((u64::from(model.byte(*array, *index)?), bits)));
    let guess = unknowns.chain(bytes).flat_map(|(value, bits)| {
        bits.iter().enumerate().map(move |(at, &bit)| match value >> at & 1 {
            1 => vec![bit],
            _ => vec![-bit],
        })
    });
    let guessed: Vec<Vec<i32>> = clauses.iter().cloned().chain(guess).collect();
    let (mut solver, mut answer, _) = solve(&guessed, stopped);
    if answer != Some(true) {
        (solver, answer, _) = solve(clauses, stopped);
    }
    if answer != Some(true) {
        return None;
    }
    let variables = clauses.iter().flatten().map(|lit| lit.unsigned_abs()).max().unwrap_or(0);
    let values: Vec<bool> = (1..=variables as usize).map(|number| solver.value(number)).collect();
    Some(WitnessClaim::digits(&values))
}

/// Returns a proof that the clauses contradict each other.
fn refutation(
    clauses: &[Vec<i32>],
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<slowpath_certificate::lrat::Step>, String> {
    let (_, answer, learnt) = solve(clauses, stopped);
    match answer {
        Some(false) => {}
        Some(true) => return Err("it does not follow from these branches alone".into()),
        None => return Err("the solver found no proof within its limit".into()),
    }
    hints::with_hints(clauses, &learnt).ok_or_else(|| "the solver's proof is wrong".into())
}
