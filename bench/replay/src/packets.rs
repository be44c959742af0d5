//! Test packets of common protocols, with pseudo-random changes that are the same in every run.

/// Number of test packets.
const COUNT: usize = 400;

/// A pseudo-random number generator (Marsaglia, "Xorshift RNGs", 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}

/// Returns packets with Ethernet, IPv4 or IPv6 and a protocol header, with room for payload.
fn seeds() -> Vec<Vec<u8>> {
    let ethernet = |kind: [u8; 2]| [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &kind].concat();
    let ipv4 = |protocol: u8| {
        let header = [0x45, 0, 0, 84, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        [ethernet([8, 0]), header.to_vec()].concat()
    };
    let ipv6 = |next: u8| {
        let header = [0x60, 0, 0, 0, 0, 64, next, 64];
        [ethernet([0x86, 0xdd]), header.to_vec(), vec![0xfd; 32]].concat()
    };
    let mut seeds = vec![vec![0; 60], ethernet([8, 6])];
    seeds.extend([1, 6, 17, 47, 4].map(ipv4));
    seeds.extend([58, 6, 17, 0, 44, 41].map(ipv6));
    for seed in &mut seeds {
        // Ports, TCP flags, a DNS query.
        seed.extend([0x30, 0x39, 0, 53, 0, 64, 0, 0, 0, 1, 0, 0, 0x50, 2, 1, 0, 0, 1]);
        seed.resize(128, 0);
    }
    seeds
}

/// Returns packets of common protocols, and variants of the packet `witness`.
pub fn packets(witness: Option<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut seeds = seeds();
    let has_witness = witness.is_some();
    seeds.extend(witness);
    let mut packets = seeds.clone();
    while packets.len() < COUNT {
        // Every second packet is a variant of the witness.
        let last = seeds.len() - 1;
        let number = if has_witness && packets.len().is_multiple_of(2) {
            last
        } else {
            numbers.below(last + 1)
        };
        let mut packet = seeds[number].clone();
        for _ in 0..=numbers.below(6) {
            let at = numbers.below(packet.len());
            packet[at] = match numbers.below(3) {
                0 => packet[at] ^ 1 << numbers.below(8),
                1 => numbers.below(8) as u8,
                _ => numbers.below(256) as u8,
            };
        }
        if numbers.below(4) == 0 {
            packet.resize(14 + numbers.below(240), 0);
        }
        packets.push(packet);
    }
    packets
}
