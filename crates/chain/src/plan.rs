//! Plans programs on paths through a network: finds nodes where rewritten programs (variants) pay.
//!
//! [`Topology::parse`] reads the description. [`plan`] finds the packets that arrive at each node
//! on all paths ([`arrivals`]), and rewrites programs for them ([`results`]). It chooses variants
//! by ingress ([`choice`]), and ranks them by gain ([`ranking`]). Results depend on the content of
//! programs and on facts, not on the position in the network. So all nodes share results, and a
//! cache on disk keeps them for later plans.
//!
//! After Krude, Eichholz, Winck, Wehrle and Mezini, "Optimizing Data Plane Programs for the
//! Network" (NetPL 2019), "Future work".

mod arrivals;
mod choice;
mod classes;
mod description;
mod last;
mod lines;
mod memo;
mod options;
mod parallel;
mod ranking;
mod reasons;
mod relevance;
mod report;
mod results;
mod stored;
mod subject;
mod topology;
mod variants;

pub use options::PlanOptions;
pub use report::{AsIs, CostReport, HotSpot, PathReport, PlanReport};
pub use subject::Subject;
pub use topology::{Hop, NetworkPath, OUTSIDE, PlacedNode, PlacedProgram, Topology};

use crate::ChainError;
use crate::report::list;
use arrivals::Arrivals;
use classes::classes;
use last::LastPlan;
use ranking::Ranked;
use results::Results;
use slowpath_cache::Cache;
use slowpath_stop::Stop;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use subject::Linked;
use variants::{NodePlan, variants};

/// Finding the packets that arrive at all nodes may take the total time divided by this number.
const ARRIVING: u32 = 2;
/// Maximum number of equal parts of the remaining time, one for each node that waits per thread.
/// The work for one node may take one part.
const PARTS: usize = 8;

/// At the end of planning, finding the source lines that establish facts may take the remaining
/// time divided by this number.
const REASONS: u32 = 2;

/// The result of planning which nodes of a network run rewritten programs.
#[derive(Debug)]
pub struct Planned {
    /// Report about all nodes and paths.
    pub report: PlanReport,
    /// Object files with the rewritten programs, one for each entry of the report's `hot_spots`, in
    /// the same order.
    pub objects: Vec<Vec<u8>>,
}

/// Plans which nodes of a topology should run rewritten programs. `subjects` contains the programs.
/// Nodes with the most traffic come first. Nodes that are not finished when `stop` ends the work
/// are left out.
///
/// # Errors
/// If a program cannot be linked.
pub fn plan(
    topology: &Topology,
    subjects: &[Subject],
    options: &PlanOptions,
    stop: &Stop,
) -> Result<Planned, ChainError> {
    let started = Instant::now();
    let kernel = options.lift.kernel_types.as_deref();
    let link = |(placed, subject): (&PlacedProgram, &Subject)| {
        Linked::of(subject, kernel, (&placed.name, placed.line))
    };
    let programs = topology.programs.iter().zip(subjects).map(link);
    let programs = programs.collect::<Result<Vec<Linked>, _>>()?;
    let cache = Cache::new(options.cache.clone(), options.build.clone());
    let results = Results::new(options, &cache);
    let mut report = PlanReport::default();
    stop.enter("finding facts about arriving packets");
    let mut arrivals = Arrivals::of(topology);
    let half = stop.within(stop.remaining().map(|left| left / ARRIVING));
    let how = (options.neighbours, options.threads);
    arrivals.find(topology, &programs, &results, how, &half);
    report.paths = ranking::paths(topology, &arrivals);
    stop.enter("rewriting programs");
    let mut nodes = Vec::new();
    for (number, node) in topology.nodes.iter().enumerate() {
        let Some(program) = node.program else { continue };
        let classes = classes(&arrivals.points, number);
        let late = arrivals.points.iter().any(|point| point.node == number && point.arriving.late);
        nodes.push((number, &programs[program], classes, late));
    }
    let traffic =
        |classes: &[classes::Class]| -> u64 { classes.iter().map(|class| class.share).sum() };
    nodes.retain(|(_, _, classes, _)| !classes.is_empty());
    nodes.sort_by_key(|(number, _, classes, _)| (Reverse(traffic(classes)), *number));
    let left = AtomicUsize::new(nodes.len());
    let done = parallel::map(&nodes, options.threads, |(number, linked, classes, late)| {
        stop.about(&topology.nodes[*number].name);
        let waiting = left.fetch_sub(1, Ordering::Relaxed);
        if stop.reason().is_some() {
            return None;
        }
        let parts = waiting.div_ceil(options.threads.max(1)).clamp(1, PARTS);
        let part = stop.within(stop.remaining().map(|time| time / parts as u32));
        let plan = variants(linked, classes, options.variants, &results, &part);
        // More time might have led to variants, so the node counts as skipped.
        let nothing = plan.variants.is_empty() && (*late || part.reason().is_some());
        Some(plan).filter(|_| !nothing)
    });
    let mut ranked = Vec::new();
    for ((number, linked, classes, _), plan) in nodes.iter().zip(done) {
        let Some(plan): Option<NodePlan> = plan else {
            report.not_looked_at.push(topology.nodes[*number].name.clone());
            continue;
        };
        let plan = (plan, options.neighbours);
        let (spots, as_is) = ranking::node(topology, &arrivals, (*number, linked), classes, plan);
        ranked.extend(spots);
        report.as_is.extend(as_is);
    }
    ranking::rank(&mut ranked);
    report.as_is.sort_by(|a, b| b.share.total_cmp(&a.share));
    stop.enter("finding the lines that establish facts");
    // The plan is useful without these lines, so only a part of the time is spent on them.
    let part = stop.within(stop.remaining().map(|left| left / REASONS));
    let all = (topology, &*programs, &arrivals);
    let facts = parallel::map(&ranked, options.threads, |one| {
        stop.about(&one.spot.node);
        let of = (&*one.points, &one.facts);
        list(&one.facts, &reasons::established(all, of, &results, options.neighbours, &part))
    });
    let mut objects = Vec::new();
    for (Ranked { mut spot, object, .. }, facts) in ranked.into_iter().zip(facts) {
        // There is no variant without an object.
        let Some(object) = object else { continue };
        objects.push(object.to_vec());
        spot.facts = facts;
        report.hot_spots.push(spot);
    }
    let used = |number: usize| arrivals.points.iter().any(|point| point.node == number);
    let unused = (0..topology.nodes.len()).filter(|&number| !used(number));
    report.unused = unused.map(|number| topology.nodes[number].name.clone()).collect();
    report.changed = changed(topology, subjects, &cache, &options.topology);
    report.queries = results.queries();
    cache.prune();
    (report.kept, report.computed) = cache.counts();
    report.notes = cache.notes();
    if part.reason().is_some() && !report.hot_spots.is_empty() {
        report.notes.push("no time was left to find the lines that establish all facts".to_owned());
    }
    report.seconds = started.elapsed().as_secs_f64();
    report.stopped = stop.reason().map(|reason| reason.to_string());
    Ok(Planned { report, objects })
}

/// Returns the names of the programs that changed since the topology was last planned. Also stores
/// the digests of the current programs for the next plan.
fn changed(
    topology: &Topology,
    subjects: &[Subject],
    cache: &Cache,
    identity: &str,
) -> Vec<String> {
    let pairs = topology.programs.iter().zip(subjects);
    let now: BTreeMap<String, String> =
        pairs.map(|(placed, subject)| (placed.name.clone(), subject.digest.clone())).collect();
    let before = LastPlan::read(cache, identity).programs;
    let is_other = |(name, digest): &(&String, &String)| {
        before.get(*name).is_some_and(|before| before != *digest)
    };
    let changed = now.iter().filter(is_other).map(|(name, _)| name.clone()).collect();
    LastPlan { programs: now }.write(cache, identity);
    changed
}

#[cfg(test)]
mod tests;
