//! An access control list. The first rule that matches a packet decides whether it passes.
//!
//! Rules that match the same bits share a hash table, and each packet is looked up in all tables.
//! This is tuple space search (Srinivasan, Suri and Varghese, "Packet Classification using Tuple
//! Space Search", SIGCOMM 1999).

use slowpath_random::Random;

use crate::error::{NeighbourError, within};
use crate::header::{FiveTuple, Header, flow, mask};
use crate::stage::{Stage, Verdict};
use crate::tables::Table;

const MAX_RULES: f64 = 1_000_000.0;

/// A rule of an access control list. The bits of an address prefix beyond its length are zero.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub source: (u32, u8),
    pub destination: (u32, u8),
    /// Destination port that the rule matches; `None` for any port.
    pub port: Option<u16>,
    pub verdict: Verdict,
}

/// The header bits that a rule compares: the lengths of its two address prefixes, and true if it
/// also compares the destination port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    source: u8,
    destination: u8,
    port: bool,
}

impl Shape {
    fn key(self, flow: &FiveTuple) -> (u64, u16) {
        let source = u64::from(flow.source & mask(self.source));
        let destination = u64::from(flow.destination & mask(self.destination));
        (source << 32 | destination, if self.port { flow.destination_port } else { 0 })
    }
}

/// A hash table with all rules that compare the same header bits. Each rule has its index in the
/// access control list.
struct Tuple {
    shape: Shape,
    rules: Table<(u64, u16), (usize, Verdict)>,
    /// Smallest index in the access control list among the rules of this table.
    first: usize,
}

/// An access control list, compiled for fast lookups. Packets that no rule matches pass.
pub struct Acl {
    tuples: Vec<Tuple>,
}

impl Acl {
    /// Generates random rules that compare a dozen different sets of header bits. About one in 16
    /// rules permits packets, the others deny them.
    pub fn generated(rules: usize, seed: u64) -> Result<Acl, NeighbourError> {
        within("rules", rules as f64, 1.0, MAX_RULES)?;
        let mut random = Random::new(seed ^ 0x0061_636c);
        let made = (0..rules).map(|_| {
            let lengths = [(24, 16), (32, 24), (16, 24), (32, 32), (24, 24), (20, 28)];
            let (source, destination) = lengths[random.below(6) as usize];
            let port = (random.below(2) == 0).then(|| random.bits() as u16 | 1);
            let permit = random.below(16) == 0;
            Rule {
                source: (random.bits() as u32 & mask(source), source),
                destination: (random.bits() as u32 & mask(destination), destination),
                port,
                verdict: if permit { Verdict::Pass } else { Verdict::Drop },
            }
        });
        Ok(Acl::new(&made.collect::<Vec<_>>()))
    }

    /// Compiles a list of rules into hash tables.
    pub fn new(rules: &[Rule]) -> Acl {
        let mut tuples: Vec<Tuple> = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            let (source, destination) = (rule.source.1, rule.destination.1);
            let shape = Shape { source, destination, port: rule.port.is_some() };
            let example = FiveTuple {
                source: rule.source.0,
                destination: rule.destination.0,
                destination_port: rule.port.unwrap_or(0),
                ..FiveTuple::default()
            };
            let at = tuples.iter().position(|tuple| tuple.shape == shape).unwrap_or(tuples.len());
            if at == tuples.len() {
                tuples.push(Tuple { shape, rules: Table::default(), first: number });
            }
            // If several rules have equal keys, the first one applies.
            tuples[at].rules.entry(shape.key(&example)).or_insert((number, rule.verdict));
        }
        Acl { tuples }
    }

    /// Returns the index and the verdict of the first rule that matches the flow, or `None` if none
    /// matches.
    #[inline]
    fn look_up(&self, flow: &FiveTuple) -> Option<(usize, Verdict)> {
        let mut found: Option<(usize, Verdict)> = None;
        for tuple in &self.tuples {
            // Tuples are sorted by their first rules.
            if found.is_some_and(|(number, _)| number < tuple.first) {
                break;
            }
            if let Some(&(number, verdict)) = tuple.rules.get(&tuple.shape.key(flow))
                && found.is_none_or(|(before, _)| number < before)
            {
                found = Some((number, verdict));
            }
        }
        found
    }
}

impl Stage for Acl {
    fn process(&mut self, header: &mut Header) -> Verdict {
        self.look_up(&flow(header)).map_or(Verdict::Pass, |(_, verdict)| verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::{Acl, Rule};
    use crate::header::{FiveTuple, mask, udp_headers};
    use crate::stage::{Stage, Verdict};
    use proptest::prelude::*;

    fn fits(rule: &Rule, flow: &FiveTuple) -> bool {
        let within = |(prefix, length), address: u32| address & mask(length) == prefix;
        within(rule.source, flow.source)
            && within(rule.destination, flow.destination)
            && rule.port.is_none_or(|port| port == flow.destination_port)
    }

    prop_compose! {
        // Few bits vary, so that several rules match a packet.
        fn any_rule()(source in 0..4u32, destination in 0..4u32, lengths in (29..=32u8, 0..=32u8),
            port in proptest::option::of(0..3u16), drop: bool) -> Rule
        {
            Rule {
                source: (source & mask(lengths.0), lengths.0),
                destination: (destination & mask(lengths.1), lengths.1),
                port,
                verdict: if drop { Verdict::Drop } else { Verdict::Pass },
            }
        }
    }

    proptest! {
        #[test]
        fn look_ups_agree_with_a_scan_of_all_rules(
            rules in proptest::collection::vec(any_rule(), 0..40),
        ) {
            let mut acl = Acl::new(&rules);
            for number in 0..4 * 4 * 4 {
                let flow = FiveTuple {
                    source: number & 3,
                    destination: number >> 2 & 3,
                    destination_port: (number >> 4) as u16,
                    ..FiveTuple::default()
                };
                let first = rules.iter().position(|rule| fits(rule, &flow));
                prop_assert_eq!(acl.look_up(&flow).map(|(number, _)| number), first);
                let verdict = first.map_or(Verdict::Pass, |number| rules[number].verdict);
                prop_assert_eq!(acl.process(&mut udp_headers(&flow, 0, 0)), verdict);
            }
        }
    }

    #[test]
    fn generated_rules_deny_and_permit() {
        let acl = Acl::generated(3000, 1).unwrap();
        let rules: Vec<_> = acl.tuples.iter().flat_map(|tuple| tuple.rules.values()).collect();
        assert!(rules.len() > 2900 && acl.tuples.len() == 12);
        assert!(rules.iter().any(|(_, verdict)| *verdict == Verdict::Pass));
        assert!(Acl::generated(0, 1).is_err());
    }
}
