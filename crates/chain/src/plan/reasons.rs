//! Finds the source lines that establish the facts about the packets of a program variant. These
//! lines may be in programs that come much earlier on the path.

use super::arrivals::Arrivals;
use super::relevance::{Passed, passed};
use super::results::Results;
use super::subject::Linked;
use super::topology::Topology;
use crate::facts::{Fact, listed};
use crate::report::LineReport;
use slowpath_ir::{Field, PacketFacts};
use slowpath_stop::Stop;
use std::collections::BTreeMap;

/// Returns, for each fact, the source lines that establish it for packets at some points of one
/// node. `of` contains the indices of these points in the tree of paths.
pub(super) fn established(
    (topology, programs, arrivals): (&Topology, &[Linked], &Arrivals),
    (of, facts): (&[usize], &PacketFacts),
    results: &Results<'_>,
    neighbours: bool,
    stop: &Stop,
) -> BTreeMap<Fact, Vec<LineReport>> {
    let mut established = BTreeMap::<Fact, Vec<LineReport>>::new();
    for &point in of {
        let open = (facts, listed(facts));
        for Passed { program, arriving, on, establishes, .. } in
            passed((&arrivals.points, point), topology, open, neighbours)
        {
            let Some(program) = program.filter(|_| !establishes.is_empty()) else { continue };
            let lines = results.lines(&programs[program], &arriving, on, stop);
            let lines = lines.named(&topology.programs[program].name);
            for fact in establishes {
                let found = parts(&fact, &lines).cloned();
                established.entry(fact).or_default().extend(found.flatten());
            }
        }
    }
    for lines in established.values_mut() {
        lines.sort();
        lines.dedup();
    }
    established
}

/// Returns the source lines that establish a fact about packets after a program. `lines` contains
/// the lines for each fact that the program establishes. If the program establishes only parts of
/// the fact, such as single bytes of a field, the lines for these parts are returned.
fn parts<'a>(
    fact: &Fact,
    lines: &'a BTreeMap<Fact, Vec<LineReport>>,
) -> impl Iterator<Item = &'a Vec<LineReport>> + use<'a> {
    let bits = |&Field { offset, bytes }: &Field| {
        (offset..offset + u16::from(bytes)).map(Fact::Bits).collect::<Vec<Fact>>()
    };
    let parts = match fact {
        fact if lines.contains_key(fact) => vec![fact.clone()],
        Fact::Values(field) => bits(field),
        Fact::Equal(first, second) => [bits(first), bits(second)].concat(),
        Fact::MinLength | Fact::MaxLength | Fact::HeadRoom | Fact::Metadata | Fact::Bits(_) => {
            Vec::new()
        }
    };
    parts.into_iter().filter_map(|part| lines.get(&part))
}
