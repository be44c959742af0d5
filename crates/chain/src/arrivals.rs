//! What holds of the packets that arrive at each program of a chain: the facts of the programs
//! before it, carried along the edges.

use crate::facts::{Discovery, FactsError, FactsOptions, Leaving, Never, facts_after};
use crate::{Chain, Loaded};
use slowpath_bpf::{BpfProgram, Btf, ObjectError};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why nothing can be said of a chain.
#[derive(Debug, Error)]
pub enum ArrivalError {
    /// A program cannot be linked.
    #[error("{member}: {cause}")]
    Object {
        /// The program's name in the chain.
        member: String,
        /// What is wrong.
        cause: ObjectError,
    },
    /// It is time to stop.
    #[error("{0}")]
    Stopped(slowpath_stop::Reason),
}

/// How packets get to a program.
pub struct Way {
    /// The number of the program that they come from.
    pub from: usize,
    /// What holds of those that it lets through, or why there are none; the error is why nothing is
    /// known.
    pub leaving: Result<Leaving, FactsError>,
}

/// What arrives at a program.
pub struct Arrival {
    /// What holds of every packet that arrives; `None` if none does.
    pub facts: Option<PacketFacts>,
    /// How they get there; empty for the first program of a chain.
    pub ways: Vec<Way>,
}

impl Arrival {
    /// What was found out about each way that packets come.
    pub fn discoveries(&mut self) -> impl Iterator<Item = (usize, &mut Discovery)> {
        self.ways.iter_mut().filter_map(|way| match &mut way.leaving {
            Ok(Leaving::Packets(found)) => Some((way.from, found.as_mut())),
            _ => None,
        })
    }

    /// Why no packet comes, by the program that lets none through.
    pub fn never(&self) -> impl Iterator<Item = (usize, &Never)> {
        self.ways.iter().filter_map(|way| match &way.leaving {
            Ok(Leaving::Never(never)) => Some((way.from, never)),
            _ => None,
        })
    }
}

/// The programs of a chain, linked, in its order.
///
/// # Errors
/// When one cannot be linked.
pub fn link(
    chain: &Chain,
    loaded: &[Loaded],
    kernel: Option<&Btf>,
) -> Result<Vec<BpfProgram>, ArrivalError> {
    let link = |(member, loaded): (&crate::Member, &Loaded)| {
        let linked = loaded.object.link(loaded.program, kernel);
        linked.map_err(|cause| ArrivalError::Object { member: member.name.clone(), cause })
    };
    chain.members.iter().zip(loaded).map(link).collect()
}

/// What holds of the packets that arrive at each program, if `first` holds of those that arrive at
/// the first one. `looking_at` is told each program whose packets are looked at.
///
/// Of a program that cannot be analysed, nothing is known of what it lets through but what holds of
/// any packet; the error is in [`Way::leaving`].
///
/// # Errors
/// When it is time to stop.
pub fn arrivals(
    chain: &Chain,
    (loaded, programs): (&[Loaded], &[BpfProgram]),
    first: &PacketFacts,
    options: &FactsOptions,
    stop: &Stop,
    mut looking_at: impl FnMut(usize),
) -> Result<Vec<Arrival>, ArrivalError> {
    let mut arrivals: Vec<Arrival> = chain
        .members
        .iter()
        .map(|_| Arrival { facts: None, ways: Vec::new() })
        .collect();
    if let Some(entry) = arrivals.get_mut(chain.entry) {
        entry.facts = Some(first.clone());
    }
    for member in chain.order() {
        let Some(arriving) = arrivals[member].facts.clone() else { continue };
        // One question for all actions that lead to the same program.
        let mut towards: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for edge in chain.edges.iter().filter(|edge| edge.from == member) {
            let results = edge.on.iter().map(|action| action.number());
            towards.entry(edge.to).or_default().extend(results);
        }
        for (to, results) in towards {
            if let Some(reason) = stop.reason() {
                return Err(ArrivalError::Stopped(reason));
            }
            looking_at(member);
            let (object, program) = (&loaded[member].object, &programs[member]);
            let leaving = facts_after(object, program, &arriving, &results, options, stop);
            let facts = match &leaving {
                Ok(Leaving::Packets(found)) => Some(found.facts.clone()),
                Ok(Leaving::Never(_)) => None,
                Err(_) => Some(crate::facts::any_packet()),
            };
            let known = &mut arrivals[to].facts;
            *known = match (known.take(), facts) {
                (Some(known), Some(more)) => Some(known.join(&more)),
                (known, more) => known.or(more),
            };
            arrivals[to].ways.push(Way { from: member, leaving });
        }
    }
    Ok(arrivals)
}
