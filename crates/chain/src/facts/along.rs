//! Finds the facts about the packets at each program of a chain. The facts at a program follow from
//! the facts at the programs before it.

use super::network::{Fragments, after_network};
use super::{FactsOptions, Outgoing, ResultSet, any_packet, facts_leaving};
use crate::dispatcher::REMOVED_RESULT;
use crate::{Chain, Edge};
use slowpath_bpf::lift::PacketEnvironment;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;

/// A program of a chain, with options for finding facts about the packets that leave it.
#[derive(Clone, Copy)]
pub struct ChainProgram<'a> {
    /// The object that contains the program.
    pub object: &'a Object,
    /// The linked program.
    pub program: &'a BpfProgram,
    /// Options for finding facts: knowledge about the program's maps and helpers, and limits.
    pub options: &'a FactsOptions,
}

/// Known facts about the packets that reach a program of a chain.
#[derive(Default)]
pub struct Reached {
    /// Facts about all packets that reach the program; `None` if no packet arrives.
    pub facts: Option<PacketFacts>,
    /// Headroom and metadata length of all packets that reach the program; `None` if no packet
    /// arrives.
    pub packet_environment: Option<PacketEnvironment>,
    /// For each edge that leads to this program, the facts about packets that leave the previous
    /// program. Each entry starts with the index of the edge in the chain.
    pub by_edge: Vec<(usize, Outgoing)>,
    /// Reasons why nothing is known about the packets on some edges. Each entry starts with the
    /// index of the edge in the chain.
    pub unknown: Vec<(usize, String)>,
}

/// Finds the facts about packets that reach each program of a chain, in the order of the chain's
/// members. `first` contains the facts that hold for packets arriving at the chain. `runs` contains
/// the program of each member.
///
/// If several edges lead to a program, its facts hold for packets on all of them. If nothing is
/// found out about a program in time, any packet is assumed to leave it.
pub fn facts_along(
    chain: &Chain,
    runs: &[ChainProgram<'_>],
    first: &PacketFacts,
    stop: &Stop,
) -> Vec<Reached> {
    let mut reached: Vec<Reached> = chain.members.iter().map(|_| Reached::default()).collect();
    if let Some(entry) = reached.get_mut(chain.entry) {
        entry.facts = Some(first.clone());
        entry.packet_environment =
            runs.get(chain.entry).map(|run| run.options.lift.receive.packet_environment());
    }
    for member in chain.order() {
        let (Some(from), Some(facts)) = (runs.get(member), reached[member].facts.clone()) else {
            continue;
        };
        for (number, edge) in chain.edges.iter().enumerate().filter(|(_, e)| e.from == member) {
            let results = results(edge);
            let ChainProgram { object, program, options } = *from;
            let mut options = options.clone();
            if let Some(environment) = reached[member].packet_environment {
                options.lift.receive = options.lift.receive.with_packet_environment(environment);
            }
            stop.about(&chain.members[member].name);
            stop.enter("finding facts about packets that it passes on");
            let left = facts_leaving(object, program, &facts, &results, &options, stop);
            let Some(to) = reached.get_mut(edge.to) else { continue };
            let (arriving, environment) = match left {
                Ok(Outgoing::Nothing(never)) => {
                    to.by_edge.push((number, Outgoing::Nothing(never)));
                    continue;
                }
                Ok(Outgoing::Packets(found)) => {
                    let left = (found.facts.clone(), found.packet_environment);
                    to.by_edge.push((number, Outgoing::Packets(found)));
                    left
                }
                Err(error) => {
                    to.unknown.push((number, error.to_string()));
                    (any_packet(), PacketEnvironment::ANY)
                }
            };
            let (arriving, environment) = match &edge.network {
                Some(network) => {
                    let behind = runs.get(edge.to).is_none_or(|to| to.program.accepts_fragments());
                    let before = program.accepts_fragments();
                    let arriving = after_network(&arriving, network, Fragments { before, behind });
                    (arriving, options.lift.receive_after_network.packet_environment())
                }
                None => (arriving, environment),
            };
            let known = to.packet_environment;
            to.packet_environment =
                Some(known.map_or(environment, |known| known.join(environment)));
            to.facts = Some(match to.facts.take() {
                Some(known) => known.join(&arriving),
                None => arriving,
            });
        }
    }
    reached
}

/// Returns the program results after which a packet takes an edge of a chain.
fn results(edge: &Edge) -> ResultSet {
    let values = edge.on.iter().map(|action| action.number());
    let gone = edge.dispatched.then_some(REMOVED_RESULT);
    let mask = if edge.dispatched { REMOVED_RESULT } else { u32::MAX };
    ResultSet { values: values.chain(gone).collect(), mask }
}
