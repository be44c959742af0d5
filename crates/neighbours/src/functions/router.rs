//! A router, which finds the next hop of a packet by longest-prefix matching of its destination
//! address.
//!
//! The first 24 bits of the address are the index in a first table. If longer prefixes start with
//! these bits, the entry refers to a second table of 256 entries. See Gupta, Lin and McKeown,
//! "Routing Lookups in Hardware at Memory Access Speeds" (INFOCOM 1998).

use slowpath_random::Random;

use crate::error::{NeighbourError, within, zeros};
use crate::header::{Header, flow, hop, mask};
use crate::stage::{Stage, Verdict};

/// Number of address bits that form the index in the first table.
const FIRST: u8 = 24;
/// Bit of an entry in the first table: the other bits are the index of a second table.
const LONGER: u32 = 1 << 31;
const MAX_PREFIXES: f64 = 1_000_000.0;

/// A prefix of addresses, and the next hop for packets to these addresses. The next hop is a number
/// from 1 to 2^31 - 1.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub prefix: u32,
    pub length: u8,
    pub next: u32,
}

/// A routing table, compiled for fast lookups. An entry of zero means that there is no route.
pub struct Router {
    first: Vec<u32>,
    second: Vec<[u32; 256]>,
}

impl Router {
    /// Generates a table of random prefixes with lengths as in real routers: 8 to 32 bits, mostly
    /// 24.
    pub fn generated(prefixes: usize, seed: u64) -> Result<Router, NeighbourError> {
        within("prefixes", prefixes as f64, 1.0, MAX_PREFIXES)?;
        let mut random = Random::new(seed ^ 0x0072_6f75_7465);
        // A default route: packets have any destination, and none should be dropped.
        let mut routes = vec![Route { prefix: 0, length: 0, next: 1 }];
        while routes.len() < prefixes {
            let length = match random.below(100) {
                0..=4 => 8 + random.below(8) as u8,
                5..=39 => 16 + random.below(8) as u8,
                40..=94 => FIRST,
                _ => 25 + random.below(8) as u8,
            };
            let prefix = random.bits() as u32 & mask(length);
            routes.push(Route { prefix, length, next: 1 + random.below(1 << 16) as u32 });
        }
        Router::new(routes)
    }

    /// Compiles routes into tables. If two routes have the same prefix, the later one applies.
    pub fn new(mut routes: Vec<Route>) -> Result<Router, NeighbourError> {
        routes.sort_by_key(|route| route.length);
        let mut router = Router { first: zeros("routes", 1 << FIRST)?, second: Vec::new() };
        for route in routes {
            router.add(route);
        }
        Ok(router)
    }

    /// Adds a route to the tables. Its prefix must be at least as long as those of all routes that
    /// were added earlier.
    fn add(&mut self, Route { prefix, length, next }: Route) {
        let start = (prefix >> (32 - FIRST)) as usize;
        if length <= FIRST {
            let count = 1usize << (FIRST - length);
            self.first[start..start + count].fill(next);
            return;
        }
        if self.first[start] & LONGER == 0 {
            self.second.push([self.first[start]; 256]);
            self.first[start] = LONGER | (self.second.len() as u32 - 1);
        }
        let table = &mut self.second[(self.first[start] & !LONGER) as usize];
        let start = prefix as usize & 255;
        table[start..start + (1usize << (32 - length))].fill(next);
    }

    /// Returns the next hop of an address, or zero if there is no route.
    #[inline]
    fn look_up(&self, address: u32) -> u32 {
        let entry = self.first[(address >> (32 - FIRST)) as usize];
        if entry & LONGER == 0 {
            return entry;
        }
        self.second[(entry & !LONGER) as usize][address as usize & 255]
    }
}

impl Stage for Router {
    fn process(&mut self, header: &mut Header) -> Verdict {
        let next = self.look_up(flow(header).destination);
        if next != 0 && hop(header, next) { Verdict::Pass } else { Verdict::Drop }
    }
}

#[cfg(test)]
mod tests {
    use super::{Route, Router};
    use crate::header::{FiveTuple, INITIAL_TTL, mask, udp_headers};
    use crate::stage::{Stage, Verdict};
    use proptest::prelude::*;

    /// Finds the longest matching prefix by comparing all routes, and returns its next hop, or 0 if
    /// there is none. If several routes have this prefix, the last one applies.
    fn scan(routes: &[Route], address: u32) -> u32 {
        let fit = routes.iter().filter(|route| address & mask(route.length) == route.prefix);
        fit.max_by_key(|route| route.length).map_or(0, |route| route.next)
    }

    prop_compose! {
        // Few bits vary, so that prefixes contain each other.
        fn any_route()(bits in any::<u32>(), length in 0..=32u8, next in 1..1000u32) -> Route {
            Route { prefix: (0x0a00_0000 | bits & 0x0003_0187) & mask(length), length, next }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn look_ups_agree_with_a_scan_of_all_routes(
            routes in proptest::collection::vec(any_route(), 1..40),
            addresses in proptest::collection::vec(any::<u32>(), 200),
        ) {
            let router = Router::new(routes.clone()).unwrap();
            for address in addresses {
                for address in [address, 0x0a00_0000 | address & 0x0003_01ff] {
                    prop_assert_eq!(router.look_up(address), scan(&routes, address));
                }
            }
        }
    }

    #[test]
    fn packets_without_a_route_or_remaining_hops_are_dropped() {
        let routed = FiveTuple { destination: 0x0a00_0001, ..FiveTuple::default() };
        let route = Route { prefix: 0x0a00_0000, length: 8, next: 7 };
        let mut router = Router::new(vec![route]).unwrap();
        let mut header = udp_headers(&routed, 0, 0);
        let passed = (0..100).take_while(|_| router.process(&mut header) == Verdict::Pass).count();
        assert_eq!(passed, usize::from(INITIAL_TTL) - 1);
        assert_eq!(header[2..6], [0, 0, 0, 7]);
        let unrouted = FiveTuple { destination: 0x0b00_0001, ..routed };
        assert_eq!(router.process(&mut udp_headers(&unrouted, 0, 0)), Verdict::Drop);
    }

    #[test]
    fn generated_routes_are_reproducible_and_cover_all_addresses() {
        let [one, other] = [(); 2].map(|()| Router::generated(5000, 3).unwrap());
        assert!(one.first == other.first && one.second == other.second);
        assert!(!one.second.is_empty() && one.first.iter().all(|&next| next != 0));
        assert!(Router::generated(0, 0).is_err());
    }
}
