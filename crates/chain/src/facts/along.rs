//! Facts along a chain: what holds of packets that arrive at each program, from one to the next.

use super::across::{Fragments, across};
use super::{FactsOptions, Leaving, Results, any_packet, facts_leaving};
use crate::dispatcher::GONE;
use crate::{Chain, Edge};
use slowpath_bpf::lift::Surroundings;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;

/// A program of a chain, as it runs.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// The object that it is in.
    pub object: &'a Object,
    /// The program, linked.
    pub program: &'a BpfProgram,
    /// What is known of its maps and helpers, and how much is looked for.
    pub options: &'a FactsOptions,
}

/// What is known of the packets that arrive at a program.
#[derive(Default)]
pub struct Reached {
    /// What holds of all of them; `None` if there are none.
    pub facts: Option<PacketFacts>,
    /// What lies around them.
    pub surroundings: Option<Surroundings>,
    /// By number of the edge that leads here, what leaves the program before.
    pub over: Vec<(usize, Leaving)>,
    /// Why nothing is known of what comes over an edge, with its number.
    pub unknown: Vec<(usize, String)>,
}

/// What holds of packets that arrive at each program of a chain, in the order of its members; `first`
/// holds of those that arrive at its entry. `runs` are its members.
///
/// Where several edges lead to a program, what holds of all that come over any of them. Of a program
/// about which nothing can be found out, or not in time, anything leaves.
pub fn facts_along(
    chain: &Chain,
    runs: &[Runs<'_>],
    first: &PacketFacts,
    stop: &Stop,
) -> Vec<Reached> {
    let mut reached: Vec<Reached> = chain.members.iter().map(|_| Reached::default()).collect();
    if let Some(entry) = reached.get_mut(chain.entry) {
        entry.facts = Some(first.clone());
        entry.surroundings = runs.get(chain.entry).map(|run| run.options.lift.receive.around());
    }
    for member in chain.order() {
        let (Some(from), Some(facts)) = (runs.get(member), reached[member].facts.clone()) else {
            continue;
        };
        for (number, edge) in chain.edges.iter().enumerate().filter(|(_, e)| e.from == member) {
            let results = results(edge);
            let Runs { object, program, options } = *from;
            let mut options = options.clone();
            if let Some(around) = reached[member].surroundings {
                options.lift.receive = options.lift.receive.with_around(around);
            }
            stop.about(&chain.members[member].name);
            stop.enter("finding out what it lets through");
            let left = facts_leaving(object, program, &facts, &results, &options, stop);
            let Some(to) = reached.get_mut(edge.to) else { continue };
            let (arriving, around) = match left {
                Ok(Leaving::Never(never)) => {
                    to.over.push((number, Leaving::Never(never)));
                    continue;
                }
                Ok(Leaving::Packets(found)) => {
                    let left = (found.facts.clone(), found.surroundings);
                    to.over.push((number, Leaving::Packets(found)));
                    left
                }
                Err(error) => {
                    to.unknown.push((number, error.to_string()));
                    (any_packet(), Surroundings::ANY)
                }
            };
            let (arriving, around) = match &edge.network {
                Some(network) => {
                    let behind = runs.get(edge.to).is_none_or(|to| to.program.takes_fragments());
                    let before = program.takes_fragments();
                    let arriving = across(&arriving, network, Fragments { before, behind });
                    (arriving, options.lift.beyond.around())
                }
                None => (arriving, around),
            };
            let known = to.surroundings;
            to.surroundings = Some(known.map_or(around, |known| known.join(around)));
            to.facts = Some(match to.facts.take() {
                Some(known) => known.join(&arriving),
                None => arriving,
            });
        }
    }
    reached
}

/// The results with which a packet takes an edge.
fn results(edge: &Edge) -> Results {
    let values = edge.on.iter().map(|action| action.number());
    let gone = edge.dispatched.then_some(GONE);
    let mask = if edge.dispatched { GONE } else { u32::MAX };
    Results { values: values.chain(gone).collect(), mask }
}
