//! Translates source addresses (NAT): each flow gets an address and a port from a pool.

use crate::header::{Header, flow, rewrite_source};
use crate::stage::{Stage, Verdict};
use crate::tables::FlowTable;

/// The first address of the pool, 100.64.0.0 (RFC 6598).
const POOL: u32 = 0x6440_0000;
/// First port that is assigned for each address. It is the lowest unprivileged port.
const FIRST_PORT: u16 = 1024;
const PORTS: u32 = u16::MAX as u32 - FIRST_PORT as u32 + 1;

/// A table with the translated address and port of each flow. They are assigned in the order of the
/// flows' first packets.
#[derive(Debug, Default)]
pub struct Nat {
    translations: FlowTable<(u32, u16)>,
}

impl Stage for Nat {
    fn process(&mut self, header: &mut Header) -> Verdict {
        let next = self.translations.len() as u32;
        let (address, port) = *self
            .translations
            .entry(flow(header))
            .or_insert_with(|| (POOL + next / PORTS, FIRST_PORT + (next % PORTS) as u16));
        rewrite_source(header, address, port);
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::{Nat, POOL, PORTS};
    use crate::header::{flow, intact, sum_of, udp_headers};
    use crate::stage::{Stage, Verdict};
    use crate::traffic::flow_of;
    use std::collections::HashSet;

    #[test]
    fn each_flow_keeps_a_translation_of_its_own() {
        let mut nat = Nat::default();
        let mut seen = HashSet::new();
        for number in 0..200_000 {
            let before = flow_of(number, 1);
            let mut header = udp_headers(&before, 3, sum_of(b"abc"));
            assert_eq!(nat.process(&mut header), Verdict::Pass);
            let after = flow(&header);
            assert!(seen.insert((after.source, after.source_port)));
            assert!((POOL..POOL + 200_000 / PORTS + 1).contains(&after.source));
            assert!(after.source_port >= 1024 && after.destination == before.destination);
            assert!(intact(&header, b"abc"));
        }
        let mut repeated = udp_headers(&flow_of(0, 1), 0, 0);
        nat.process(&mut repeated);
        assert_eq!((flow(&repeated).source, flow(&repeated).source_port), (POOL, 1024));
    }
}
