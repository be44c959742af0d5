//! Verifies the claims of a certificate about an unrolled program.

use crate::encode;
use crate::graph::{Graph, Priced};
use crate::paths::{self, Paths};
use crate::{BoundClaim, Certificate, NogoodProof, WitnessClaim, lrat};
use slowpath_exec::{ArcId, Executor, NodeId, Resolver};
use slowpath_smt::TermId;
use slowpath_target::{CostModel, CostVector, Slowness, Target};
use std::collections::BTreeSet;

/// The question that a certificate answers: how slow packets can make an unrolled program.
pub struct Problem<'a> {
    /// The unrolled program.
    pub graph: Graph,
    /// Symbolic executor that unrolled it, and that knows the terms of its conditions.
    pub executor: &'a mut Executor,
    /// Prices of the program's events.
    pub model: &'a CostModel,
    /// Device that turns costs into slowness.
    pub target: &'a Target,
    /// Components of the target that count.
    pub components: Vec<usize>,
    /// True if slowness is per byte instead of per packet.
    pub per_byte: bool,
    /// Minimum and maximum packet length in bytes.
    pub packets: (u32, u32),
}

/// A verified certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// No packet makes the program slower than this.
    pub slowness: Slowness,
    /// Work that corresponds to `slowness`: index of the component, and ticks with the fixed cost
    /// per packet.
    pub work: (usize, u64),
    /// Packet length in bytes that corresponds to `slowness`.
    pub length: u32,
    /// Cost of the path that some packet takes, if the certificate has one, on all components.
    pub witness: Option<CostVector>,
    /// True if the witness is as slow as the bound, so that the bound is exact.
    pub exact: bool,
    /// Number of verified nogoods.
    pub nogoods: usize,
    /// Number of verified steps in their proofs.
    pub steps: usize,
}

impl Problem<'_> {
    fn slowness(&self, component: usize, ticks: u64, length: u32) -> Slowness {
        self.target.slowness(component, ticks, self.per_byte.then_some(length))
    }

    /// Returns the slowness of a path with this cost, and the component that causes it.
    fn slowest(&self, cost: &CostVector, length: u32) -> Result<(Slowness, usize), String> {
        let each = self
            .components
            .iter()
            .map(|&component| (self.slowness(component, cost[component], length), component));
        each.reduce(|best, other| if other.0 > best.0 { other } else { best })
            .ok_or_else(|| "no component counts".into())
    }

    /// Returns the highest cost in ticks that is not slower than `slowness` for packets of `length`
    /// bytes.
    fn most_ticks(&self, component: usize, length: u32, slowness: Slowness) -> u64 {
        let (mut within, mut beyond) = (0u64, u64::MAX);
        if self.slowness(component, beyond, length) <= slowness {
            return beyond;
        }
        while beyond - within > 1 {
            let middle = within + (beyond - within) / 2;
            if self.slowness(component, middle, length) <= slowness {
                within = middle;
            } else {
                beyond = middle;
            }
        }
        within
    }
}

/// Returns the conditions under which a packet takes the path of a witness, has at most its length,
/// and relies on nothing else than the witness states.
///
/// # Errors
/// Fails if the arcs do not form a path, or if a condition cannot be executed symbolically.
pub fn conditions_of_path(
    problem: &mut Problem<'_>,
    claim: &WitnessClaim,
) -> Result<Vec<TermId>, String> {
    problem.graph.check_path(&claim.path)?;
    let mut resolver = Resolver::new();
    let mut conditions = resolve(problem, &claim.path, &mut resolver)?;
    for node in claim.path.iter().map(|&arc| NodeId(problem.graph.arcs[arc as usize].tail)) {
        for (on, term) in problem.executor.reliances(node).to_vec() {
            let term = resolver.resolve(problem.executor, term);
            let avoided = problem.executor.pool.not(term.map_err(|error| error.to_string())?);
            if !claim.relies.contains(&on.0) {
                conditions.push(avoided);
            }
        }
    }
    conditions.extend(at_most(problem, claim.length));
    Ok(conditions)
}

/// Returns conditions that hold for every packet that takes all `arcs` and is shorter than `below`
/// bytes, if given.
///
/// # Errors
/// Fails if `arcs` are not in ascending order, or if a condition cannot be executed symbolically.
pub fn conditions_of_arcs(
    problem: &mut Problem<'_>,
    arcs: &[u32],
    below: Option<u32>,
) -> Result<Vec<TermId>, String> {
    if arcs.iter().any(|&arc| arc as usize >= problem.graph.arcs.len()) {
        return Err("an arc does not exist".into());
    }
    if !arcs.is_sorted_by(|a, b| a < b) {
        return Err("the arcs are not in ascending order".into());
    }
    let mut conditions = resolve(problem, arcs, &mut Resolver::for_arcs())?;
    if let Some(below) = below {
        let longest = below.checked_sub(1).ok_or("no packet is shorter than 0 bytes")?;
        conditions.extend(at_most(problem, longest));
    }
    Ok(conditions)
}

/// Returns the values that the conditions of `arcs` have for packets that take all these arcs.
fn resolve(
    problem: &mut Problem<'_>,
    arcs: &[u32],
    resolver: &mut Resolver,
) -> Result<Vec<TermId>, String> {
    let steps: Vec<(ArcId, NodeId)> = arcs
        .iter()
        .filter_map(|&arc| Some((ArcId(arc), NodeId(problem.graph.arcs[arc as usize].head?))))
        .collect();
    resolver.follow(&steps);
    let mut conditions = Vec::new();
    for &arc in arcs {
        let Some((term, holds)) = problem.graph.arcs[arc as usize].condition else { continue };
        let term = resolver.resolve(problem.executor, term).map_err(|error| error.to_string())?;
        conditions.push(if holds { term } else { problem.executor.pool.not(term) });
    }
    Ok(conditions)
}

/// Returns the condition that packets have at most `length` bytes; `None` if the program does not
/// know their length.
fn at_most(problem: &mut Problem<'_>, length: u32) -> Option<TermId> {
    let term = problem.executor.packet_length()?;
    let pool = &mut problem.executor.pool;
    let width = pool.width(term);
    // A constant drops bits above the width, which would make a long length a short one.
    if u64::from(length).checked_shr(width.into()).unwrap_or(0) > 0 {
        return None;
    }
    let most = pool.constant(width, length.into());
    Some(pool.ule(term, most))
}

/// Verifies a certificate.
///
/// # Errors
/// The text is the reason why the certificate proves nothing about this program.
pub fn check(problem: &mut Problem<'_>, certificate: &Certificate) -> Result<Checked, String> {
    problem.graph.check()?;
    let Claims { slowness, work, length, witness } = claims(problem, certificate)?;
    if let Some(claim) = &certificate.witness {
        check_witness(problem, claim).map_err(|reason| format!("the witness: {reason}"))?;
    }
    let mut steps = 0;
    for (number, nogood) in certificate.nogoods.iter().enumerate() {
        steps += nogood.proof.len();
        check_nogood(problem, nogood)
            .map_err(|reason| format!("nogood {}: {reason}", number + 1))?;
    }
    match uncovered(problem, certificate)? {
        Paths::Excluded(_) => {}
        Paths::Open { path, .. } => {
            let arcs = path.len();
            return Err(format!("a path of {arcs} arcs is above the bound and contains no nogood"));
        }
        Paths::TooMany => return Err("there are too many paths to follow".into()),
    }
    Ok(Checked {
        slowness,
        work,
        length,
        witness: witness.map(|(cost, _)| cost),
        exact: witness.is_some_and(|(_, own)| own == slowness),
        nogoods: certificate.nogoods.len(),
        steps,
    })
}

/// Slowness that a certificate states, and the cost and the slowness of its witness.
struct Claims {
    slowness: Slowness,
    work: (usize, u64),
    length: u32,
    witness: Option<(CostVector, Slowness)>,
}

/// Computes the claims of a certificate.
///
/// # Errors
/// Fails if the certificate states no bound, or if its bound and its witness contradict each other.
fn claims(problem: &Problem<'_>, certificate: &Certificate) -> Result<Claims, String> {
    let witness = match &certificate.witness {
        Some(claim) => {
            let priced = Priced::new(&problem.graph, problem.executor.program(), problem.model);
            let mut cost = problem.model.overhead();
            cost += &priced.path_cost(problem.model, &claim.path);
            let (slowness, component) = problem.slowest(&cost, claim.length)?;
            Some((cost, slowness, component, claim.length))
        }
        None => None,
    };
    let (slowness, work, length) = match (certificate.bound, witness) {
        (Some(bound), _) if !problem.components.contains(&bound.component) => {
            return Err(format!("the bound: component {} does not count", bound.component));
        }
        (Some(BoundClaim { component, ticks, length }), _) => {
            (problem.slowness(component, ticks, length), (component, ticks), length)
        }
        (None, Some((cost, slowness, component, length))) => {
            (slowness, (component, cost[component]), length)
        }
        (None, None) => return Err("there is neither a bound nor a witness".into()),
    };
    if !(problem.packets.0..=problem.packets.1).contains(&length) {
        return Err(format!("no packet has the stated length of {length} bytes"));
    }
    if witness.is_some_and(|(_, own, ..)| own > slowness) {
        return Err("the witness is above the bound".into());
    }
    let witness = witness.map(|(cost, own, ..)| (cost, own));
    Ok(Claims { slowness, work, length, witness })
}

/// Checks that the assignment satisfies all clauses of the conditions of the path.
fn check_witness(problem: &mut Problem<'_>, claim: &WitnessClaim) -> Result<(), String> {
    if !(problem.packets.0..=problem.packets.1).contains(&claim.length) {
        return Err(format!("no packet has {} bytes", claim.length));
    }
    let values = claim.values()?;
    let conditions = conditions_of_path(problem, claim)?;
    let holds = |&literal: &i32| {
        let at = literal.unsigned_abs() as usize - 1;
        values.get(at).is_some_and(|&value| value == (literal > 0))
    };
    let clauses = encode::clauses(&problem.executor.pool, &conditions)?;
    match clauses.iter().position(|clause| !clause.iter().any(holds)) {
        Some(number) => Err(format!("the assignment does not satisfy clause {}", number + 1)),
        None => Ok(()),
    }
}

/// Checks the proof of a nogood.
fn check_nogood(problem: &mut Problem<'_>, nogood: &NogoodProof) -> Result<(), String> {
    let conditions = conditions_of_arcs(problem, &nogood.arcs, nogood.below)?;
    let clauses = encode::clauses(&problem.executor.pool, &conditions)?;
    lrat::check(&clauses, &nogood.proof)
}

/// Returns the clauses and the proof of each nogood, as texts in the formats DIMACS and LRAT for
/// other checkers. The proofs are not checked.
///
/// # Errors
/// Fails if a certificate does not fit the program.
pub fn export_proofs(
    problem: &mut Problem<'_>,
    certificate: &Certificate,
) -> Result<Vec<(String, String)>, String> {
    problem.graph.check()?;
    if let Some(claim) = &certificate.witness {
        // Proofs depend on the order in which terms are created.
        conditions_of_path(problem, claim)?;
    }
    let texts = certificate.nogoods.iter().map(|nogood| {
        let conditions = conditions_of_arcs(problem, &nogood.arcs, nogood.below)?;
        let clauses = encode::clauses(&problem.executor.pool, &conditions)?;
        Ok((lrat::to_dimacs(&clauses), lrat::to_lrat(clauses.len(), &nogood.proof)))
    });
    texts.collect()
}

/// Follows all paths that are slower than a certificate states. The proofs of its nogoods are not
/// checked.
///
/// For bit rates, packets are divided into classes by the lengths of nogoods: within a class, the
/// same nogoods apply, and the shortest packet is the slowest.
///
/// # Errors
/// Fails if the certificate states no bound.
pub fn uncovered(problem: &Problem<'_>, certificate: &Certificate) -> Result<Paths, String> {
    let Claims { slowness, .. } = claims(problem, certificate)?;
    let nogoods = &certificate.nogoods;
    let priced = Priced::new(&problem.graph, problem.executor.program(), problem.model);
    let (least, greatest) = problem.packets;
    let mut starts = BTreeSet::from([least]);
    if problem.per_byte {
        let lengths = nogoods.iter().filter_map(|nogood| nogood.below);
        starts.extend(lengths.filter(|below| (least..=greatest).contains(below)));
    }
    let starts: Vec<u32> = starts.into_iter().collect();
    let mut used = BTreeSet::new();
    for (class, &shortest) in starts.iter().enumerate() {
        let longest = starts.get(class + 1).map_or(greatest, |next| next - 1);
        let applicable: Vec<usize> =
            (0..nogoods.len()).filter(|&index| nogoods[index].applies(longest)).collect();
        let arcs: Vec<&[u32]> =
            applicable.iter().map(|&index| nogoods[index].arcs.as_slice()).collect();
        for &component in &problem.components {
            let limit = problem.most_ticks(component, shortest, slowness);
            let overhead = problem.model.overhead()[component];
            let costs = (component, overhead, limit);
            match paths::follow(&problem.graph, &priced, &arcs, costs, longest) {
                Paths::Excluded(indices) => {
                    used.extend(indices.into_iter().map(|index| applicable[index]));
                }
                Paths::Open { path, .. } => {
                    let ticks = priced.path_cost(problem.model, &path)[component];
                    let ticks = ticks.saturating_add(overhead);
                    let (mut length, mut end) = (shortest, longest + 1);
                    while end - length > 1 {
                        let middle = length + (end - length) / 2;
                        match problem.slowness(component, ticks, middle) > slowness {
                            true => length = middle,
                            false => end = middle,
                        }
                    }
                    return Ok(Paths::Open { path, length });
                }
                Paths::TooMany => return Ok(Paths::TooMany),
            }
        }
    }
    Ok(Paths::Excluded(used.into_iter().collect()))
}
