//! Generates random packets with many layers, and requests for connections like those that
//! operating systems and attack tools send.

use rand::RngExt;
use rand::rngs::StdRng;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const MPLS: u16 = 0x8847;
const ETHERNET: u16 = 0x6558;

/// Returns a random Ethernet packet with tags, labels, tunnels and a transport header.
pub fn packet(rng: &mut StdRng) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    ethernet(rng, &mut packet, 2);
    packet.resize(packet.len().max(60), 0);
    packet
}

fn ethernet(rng: &mut StdRng, packet: &mut Vec<u8>, tunnels: u8) {
    for _ in 0..rng.random_range(0..3) {
        packet.extend([if rng.random() { 0x81 } else { 0x88 }, 0, 0, 1]);
        if packet[packet.len() - 4] == 0x88 {
            let at = packet.len() - 3;
            packet[at] = 0xa8;
        }
    }
    let network = if rng.random() { IPV4 } else { IPV6 };
    let labels = if rng.random_bool(0.4) { rng.random_range(1..5) } else { 0 };
    packet.extend(if labels > 0 { MPLS } else { network }.to_be_bytes());
    for label in 0..labels {
        packet.extend([0, 1, u8::from(label + 1 == labels), 64]);
    }
    ip(rng, packet, network, tunnels);
}

fn ip(rng: &mut StdRng, packet: &mut Vec<u8>, network: u16, tunnels: u8) {
    let last = if tunnels > 0 { 6 } else { 4 };
    let kind = rng.random_range(0..last);
    let protocol = [6, 17, if network == IPV4 { 1 } else { 58 }, 132, 47, 17][kind];
    if network == IPV4 {
        packet.extend([0x45, 0, 0, 80, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    } else {
        packet.extend([0x60, 0, 0, 0, 0, 80, protocol, 64]);
        packet.extend([[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]; 2].concat());
    }
    match kind {
        4 => {
            let flags = [0, 0x80, 0x20, 0x10, 0xb0][rng.random_range(0..5)];
            let inner = [IPV4, IPV6, ETHERNET][rng.random_range(0..3)];
            packet.extend([flags, 0]);
            packet.extend(inner.to_be_bytes());
            for _ in 0..u8::count_ones(flags) {
                packet.extend([0; 4]);
            }
            match inner {
                ETHERNET => {
                    packet.extend([2; 12]);
                    ethernet(rng, packet, tunnels - 1);
                }
                _ => ip(rng, packet, inner, tunnels - 1),
            }
        }
        5 => {
            packet.extend([0x30, 0x39, 0x12, 0xb5, 0, 80, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0]);
            packet.extend([2; 12]);
            ethernet(rng, packet, tunnels - 1);
        }
        _ => packet.extend([0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 4, 0, 0, 0, 0, 0]),
    }
}

/// Returns a random TCP packet that opens a connection.
pub fn syn(rng: &mut StdRng) -> Vec<u8> {
    const MSS: [u8; 4] = [2, 4, 5, 0xb4];
    const TIMESTAMP: [u8; 10] = [8, 10, 0, 0, 0, 1, 0, 0, 0, 0];
    let scale = [3, 3, rng.random_range(0..10)];
    let options = match rng.random_range(0..5) {
        0 => vec![],
        1 => MSS.to_vec(),
        2 => [&MSS[..], &[1, 1, 4, 2]].concat(),
        3 => [&MSS[..], &[1], &scale, &[1, 1, 4, 2]].concat(),
        _ => [&MSS[..], &[4, 2], &TIMESTAMP, &[1], &scale].concat(),
    };
    let window: u16 = [512, 1024, 65_535, 8192, 1460 * 20, 1460 * 4][rng.random_range(0..6)];
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    packet.extend((40 + options.len() as u16).to_be_bytes());
    packet.extend([0, rng.random_range(0..2), if rng.random() { 0x40 } else { 0 }, 0]);
    packet.extend([[40, 64, 128, 255][rng.random_range(0..4)], 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50 + 4 * options.len() as u8, 2]);
    packet.extend(window.to_be_bytes());
    packet.extend([0, 0, 0, 0]);
    packet.extend(options);
    packet
}
