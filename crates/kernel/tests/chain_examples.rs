//! Tests the programs of `examples/chain` in the kernel. The firewall inserts a well-formed header.
//! The load balancer handles extension headers according to RFC 8200 and rewrites checksums
//! correctly. Its results are the same with unrolled and with rolled loops.
//!
//! The test computes expected values in another way than the programs: the CRC bit by bit, and
//! checksums over whole segments.

use crate::support;

use rand::prelude::*;
use rand::rngs::StdRng;
use slowpath_kernel::{Kernel, LoadedProgram, TestRun};
use slowpath_oracle::Oracle;
use support::{DROP, PASS, kernel, load, object, path};

const TX: u32 = 3;

/// Size of the Ethernet and IPv6 headers in bytes.
const BASE: usize = 14 + 40;
const TCP: u8 = 6;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const OPTIONS: u8 = 60;

const CLIENT: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
const SERVICE: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5];
const PORT: u16 = 443;
/// Bit mask of the zones that the load balancer accepts: zone 3, and zone 0, which stands for
/// packets without a zone. A zone is a number that the firewall writes into packets.
const ZONES: u16 = 1 << 3 | 1;
const PLACES: u8 = 16;
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
/// Number of random packets that run through the load balancer with unrolled and with rolled loops.
const RANDOM: usize = 100_000;

fn backend(place: u8) -> [u8; 16] {
    let mut address = SERVICE;
    address[4..8].copy_from_slice(&[0xfe, place, 0x80, 0x7f]);
    address
}

/// Computes the one's complement sum of 16-bit words (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u64 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Computes the CRC of ITU-T V.41 by its definition: the remainder of a division, bit by bit.
fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xffff, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    })
}

/// Computes the sum over a segment and its pseudo header. It is `0xffff` if the checksum is correct
/// (RFC 8200, section 8.1).
fn segment_sum(packet: &[u8], start: usize) -> u16 {
    let length = (packet.len() - start) as u32;
    let pseudo = [&packet[22..54], &length.to_be_bytes(), &[0, 0, 0, TCP]].concat();
    sum(&[&pseudo, &packet[start..]].concat())
}

/// Returns an IPv6 packet with the given extension headers. `next` is the protocol number of the
/// first one.
fn packet(next: u8, extensions: &[u8], data: &[u8]) -> Vec<u8> {
    let length = (extensions.len() + 20 + data.len()) as u16;
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([next, 64]);
    packet.extend(CLIENT);
    packet.extend(SERVICE);
    packet.extend(extensions);
    let start = packet.len();
    packet.extend(12345_u16.to_be_bytes());
    packet.extend(PORT.to_be_bytes());
    packet.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(data);
    let check = !segment_sum(&packet, start);
    packet[start + 16..start + 18].copy_from_slice(&check.to_be_bytes());
    packet
}

/// Returns the IPv6 option with the zone number that the firewall inserts.
fn mark(zone: u32) -> Vec<u8> {
    let mut mark = vec![0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 7, 0, 0, 0, 1];
    mark.extend(zone.to_be_bytes());
    mark.extend([0, 0]);
    mark.extend(crc(&mark).to_be_bytes());
    [vec![0x1e, 24], mark].concat()
}

/// Returns a destination options header in front of TCP. The length of `options` plus 2 must be a
/// multiple of 8.
fn options(options: &[u8]) -> Vec<u8> {
    assert_eq!(options.len() % 8, 6, "{options:?}");
    [&[TCP, (options.len() / 8) as u8], options].concat()
}

/// Loads a program of `examples/chain`. If it has a map `places`, fills it with the backends of a
/// service.
fn program(kernel: &Kernel, file: &str, name: &str) -> LoadedProgram {
    let object = object(&path("../../examples/chain").join(format!("{file}.bpf.o")));
    let loaded = load(kernel, &object, name);
    let Some(places) = loaded.map("places") else { return loaded };
    for place in 0..PLACES {
        let backend = backend(place);
        let old: Vec<u8> = SERVICE.iter().map(|byte| !byte).collect();
        // The sum works in either byte order; only its own bytes are swapped.
        let change = sum(&[&old[..], &backend].concat()).swap_bytes();
        let value = [&SERVICE[..], &backend, &MAC, &PORT.to_be_bytes(), &ZONES.to_ne_bytes()];
        let value = [value.concat(), change.to_ne_bytes().to_vec(), vec![0; 4]].concat();
        let index = u32::from(SERVICE[15]) * u32::from(PLACES) + u32::from(place);
        places.update(&index.to_ne_bytes(), &value).expect("is filled");
    }
    loaded
}

fn run(program: &LoadedProgram, packet: &[u8]) -> TestRun {
    program.run(packet, 1).expect("runs")
}

/// Checks a packet that was sent to a backend against the original packet. `start` is the offset of
/// its TCP header.
fn check_sent(before: &[u8], run: &TestRun, start: usize) {
    assert_eq!(run.return_value, TX);
    assert_eq!(run.packet.len(), before.len());
    assert_eq!(run.packet[..6], MAC);
    assert_eq!(run.packet[6..12], before[..6]);
    assert_eq!(run.packet[12..38], before[12..38]);
    assert!((0..PLACES).any(|place| run.packet[38..54] == backend(place)));
    assert_eq!(segment_sum(&run.packet, start), 0xffff);
    let mut restored = run.packet.clone();
    restored[start + 16..start + 18].copy_from_slice(&before[start + 16..start + 18]);
    assert_eq!(restored[BASE..], before[BASE..]);
}

#[test]
fn the_firewall_drops_all_but_tcp_directly_over_ipv6() {
    let Some(kernel) = kernel() else { return };
    let firewall = program(&kernel, "firewall", "firewall");
    let good = packet(TCP, &[], b"data");
    assert_eq!(run(&firewall, &good).return_value, PASS);
    let changed = |at: usize, value: u8| {
        let mut packet = good.clone();
        packet[at] = value;
        packet
    };
    let mut dropped: Vec<_> = (0..=255).map(|next| changed(20, next)).collect();
    dropped.remove(usize::from(TCP));
    dropped.extend([changed(12, 8), changed(13, 0), changed(14, 0x40)]);
    dropped.extend([
        changed(19, 19),
        good[..73].to_vec(),
        packet(OPTIONS, &options(&mark(3)[..6]), b""),
    ]);
    // The length field has no room for 32 more bytes. The longest packet with room passes.
    let with_length = |length: u16| {
        let mut packet = good.clone();
        packet[18..20].copy_from_slice(&length.to_be_bytes());
        packet
    };
    assert_eq!(run(&firewall, &with_length(0xffff - 32)).return_value, PASS);
    dropped.push(with_length(0xffff - 31));
    for packet in &dropped {
        let run = run(&firewall, packet);
        assert_eq!((run.return_value, &run.packet), (DROP, packet));
    }
    Oracle::Kernel.compared(dropped.len(), "packets that the firewall drops");
}

#[test]
fn firewall_headers_are_well_formed() {
    let Some(kernel) = kernel() else { return };
    let firewall = program(&kernel, "firewall", "firewall");
    let lengths = [0, 1, 26, 400, 1400];
    for length in lengths {
        let before = packet(TCP, &[], &vec![0x5a; length]);
        let after = run(&firewall, &before).packet;
        let expected = options(&[vec![1, 2, 0, 0], mark(3)].concat());
        assert_eq!(expected.len(), 32);
        assert_eq!(after, packet(OPTIONS, &expected, &vec![0x5a; length]));
        assert_eq!(segment_sum(&after, BASE + 32), 0xffff);
    }
    Oracle::Kernel.compared(lengths.len(), "packets that the firewall marks");
}

#[test]
fn packets_passed_by_the_firewall_reach_a_backend() {
    let Some(kernel) = kernel() else { return };
    let firewall = program(&kernel, "firewall", "firewall");
    let balancers = ["load_balancer", "load_balancer_rolled", "load_balancer_card"];
    let balancers = balancers.map(|file| program(&kernel, file, "load_balancer"));
    let mut rng = StdRng::seed_from_u64(1);
    for _ in 0..200 {
        let data: Vec<u8> = (0..rng.random_range(0..100)).map(|_| rng.random()).collect();
        let mut sent = packet(TCP, &[], &data);
        sent[54..56].copy_from_slice(&rng.random::<[u8; 2]>());
        sent[70..72].fill(0);
        let check = !segment_sum(&sent, BASE);
        sent[70..72].copy_from_slice(&check.to_be_bytes());
        let marked = run(&firewall, &sent).packet;
        let runs = balancers.each_ref().map(|balancer| run(balancer, &marked));
        check_sent(&marked, &runs[0], BASE + 32);
        assert!(runs.iter().all(|run| run.packet == runs[0].packet));
        // Packets with another zone, service or port are not sent to a backend.
        for (at, action) in [(BASE + 27, DROP), (53, PASS), (44, PASS), (BASE + 35, PASS)] {
            let mut other = marked.clone();
            other[at] ^= 1;
            for balancer in &balancers {
                assert_eq!(run(balancer, &other).return_value, action, "{at}");
            }
        }
    }
    Oracle::Kernel.compared(600, "packets that a load balancer sends to backends");
}

/// Returns test cases: a name, the protocol number of the first extension header, the extension
/// headers in front of TCP, and the expected action of the load balancer.
fn cases() -> Vec<(&'static str, u8, Vec<u8>, u32)> {
    let pad = [1, 4, 0, 0, 0, 0];
    let with = |at: usize, value: u8| {
        let mut options = options(&[&[1, 2, 0, 0][..], &mark(3)].concat());
        options[at] = value;
        options
    };
    let header =
        |next: u8, second: u8, third: u8, fourth: u8| vec![next, second, third, fourth, 0, 0, 0, 0];
    let options_first = |next: u8, rest: &[u8]| [&[next, 0], &pad[..], rest].concat();
    vec![
        ("TCP", TCP, vec![], TX),
        ("UDP", 17, vec![], PASS),
        ("no next header", 59, vec![], PASS),
        ("one PadN", OPTIONS, options(&pad), TX),
        ("PadN with data", OPTIONS, options(&[1, 4, 0, 0, 0, 1]), DROP),
        (
            "PadN that is too long",
            OPTIONS,
            options(&[1, 6, 0, 0, 0, 0, 0, 0, 2, 4, 0, 0, 0, 0]),
            DROP,
        ),
        ("PadN over the end", OPTIONS, options(&[1, 5, 0, 0, 0, 0]), DROP),
        ("two Pad1", OPTIONS, options(&[0, 0, 2, 2, 0, 0]), DROP),
        ("Pad1 between options", OPTIONS, options(&[2, 0, 0, 2, 1, 0]), TX),
        ("unknown, to be skipped", OPTIONS, options(&[0x3e, 4, 1, 2, 3, 4]), TX),
        ("unknown, to be discarded", OPTIONS, options(&[0x5e, 4, 1, 2, 3, 4]), DROP),
        ("unknown, to be answered", OPTIONS, options(&[0x9e, 4, 1, 2, 3, 4]), DROP),
        (
            "unknown, to be answered unless multicast",
            OPTIONS,
            options(&[0xc9, 4, 1, 2, 3, 4]),
            DROP,
        ),
        ("option over the end", OPTIONS, options(&[0x3e, 5, 1, 2, 3, 4]), DROP),
        (
            "eight options",
            OPTIONS,
            options(
                &[[2, 1, 0]; 7].concat()[..20].iter().copied().chain([0, 0]).collect::<Vec<_>>(),
            ),
            TX,
        ),
        ("nine options", OPTIONS, options(&[[2, 0]; 11].concat()), PASS),
        ("a mark", OPTIONS, with(0, TCP), TX),
        ("a mark with one bit wrong", OPTIONS, with(15, 2), DROP),
        ("a mark that is too short", OPTIONS, options(&[0x1e, 4, 1, 2, 3, 4]), DROP),
        ("zone 0", OPTIONS, options(&[vec![1, 2, 0, 0], mark(0)].concat()), TX),
        ("zone 1", OPTIONS, options(&[vec![1, 2, 0, 0], mark(1)].concat()), DROP),
        ("zone 16", OPTIONS, options(&[vec![1, 2, 0, 0], mark(16)].concat()), DROP),
        ("two marks", OPTIONS, options(&[mark(3), mark(3), vec![3, 0]].concat()), DROP),
        ("hop-by-hop options", HOP_BY_HOP, header(TCP, 0, 5, 2), TX),
        (
            "hop-by-hop options last",
            OPTIONS,
            options_first(HOP_BY_HOP, &header(TCP, 0, 5, 2)),
            DROP,
        ),
        (
            "hop-by-hop options twice",
            HOP_BY_HOP,
            [header(0, 0, 5, 2), header(TCP, 0, 5, 2)].concat(),
            DROP,
        ),
        ("options twice", OPTIONS, options_first(OPTIONS, &options(&pad)), DROP),
        ("routing, at its end", ROUTING, header(TCP, 0, 4, 0), TX),
        ("routing through here", ROUTING, header(TCP, 0, 4, 1), PASS),
        ("an atomic fragment", FRAGMENT, header(TCP, 0, 0, 0), TX),
        ("a first fragment", FRAGMENT, header(TCP, 0, 0, 1), PASS),
        ("a later fragment", FRAGMENT, header(TCP, 0, 0, 8), PASS),
        ("authentication", AUTHENTICATION, [header(TCP, 2, 0, 0), vec![0; 8]].concat(), TX),
        (
            "authentication, no multiple of 8",
            AUTHENTICATION,
            [header(TCP, 3, 0, 0), vec![0; 12]].concat(),
            DROP,
        ),
        (
            "four headers",
            HOP_BY_HOP,
            [
                header(ROUTING, 0, 5, 2),
                header(FRAGMENT, 0, 4, 0),
                header(OPTIONS, 0, 0, 0),
                options(&pad),
            ]
            .concat(),
            TX,
        ),
        (
            "five headers",
            HOP_BY_HOP,
            [
                header(ROUTING, 0, 5, 2),
                header(FRAGMENT, 0, 4, 0),
                header(AUTHENTICATION, 0, 0, 0),
                header(OPTIONS, 0, 0, 0),
                options(&pad),
            ]
            .concat(),
            PASS,
        ),
    ]
}

#[test]
fn extension_headers_are_handled_as_the_standard_says() {
    let Some(kernel) = kernel() else { return };
    let balancers = ["load_balancer", "load_balancer_rolled"];
    let balancers = balancers.map(|file| program(&kernel, file, "load_balancer"));
    let cases = cases();
    for (name, next, extensions, action) in &cases {
        let before = packet(*next, extensions, b"");
        for balancer in &balancers {
            let run = run(balancer, &before);
            assert_eq!(run.return_value, *action, "{name}");
            if *action == TX {
                check_sent(&before, &run, BASE + extensions.len());
            } else {
                assert_eq!(run.packet, before, "{name}");
            }
        }
    }
    Oracle::Kernel.compared(2 * cases.len(), "packets with extension headers");
}

/// Returns random options, most of which are valid.
fn random_options(rng: &mut StdRng) -> Vec<u8> {
    let mut options = Vec::new();
    for _ in 0..rng.random_range(0..7) {
        let length = rng.random_range(0..9_u8);
        let kind = *[0, 1, 2, 0x1e, 0x3e, 0x5e].choose(rng).expect("there are some");
        match kind {
            0 => options.push(0),
            1 => options.extend([vec![1, length % 6], vec![0; usize::from(length % 6)]].concat()),
            0x1e => options.extend(mark(rng.random_range(0..4))),
            0x5e if rng.random_bool(0.8) => {}
            _ => options.extend([vec![kind, length], vec![7; usize::from(length)]].concat()),
        }
    }
    match 8 - (options.len() + 2) % 8 {
        8 => {}
        1 => options.push(0),
        more => options.extend([vec![1, more as u8 - 2], vec![0; more - 2]].concat()),
    }
    options
}

/// Returns a packet with up to five extension headers. Sometimes a few bytes are changed or cut
/// off.
fn random_packet(rng: &mut StdRng) -> Vec<u8> {
    let kinds: Vec<u8> = (0..rng.random_range(0..5))
        .map(|at| {
            let kinds = [OPTIONS, ROUTING, FRAGMENT, AUTHENTICATION, HOP_BY_HOP];
            kinds[rng.random_range(0..if at == 0 { 5 } else { 4 })]
        })
        .collect();
    let mut extensions = Vec::new();
    for (at, &kind) in kinds.iter().enumerate() {
        let next = *kinds.get(at + 1).unwrap_or(&TCP);
        let body = match kind {
            OPTIONS | HOP_BY_HOP => random_options(rng),
            AUTHENTICATION => vec![0; 14],
            _ => vec![0; 6],
        };
        let length = if kind == AUTHENTICATION { 2 } else { body.len() / 8 };
        extensions.extend([&[next, length as u8], &body[..]].concat());
    }
    let mut packet = packet(*kinds.first().unwrap_or(&TCP), &extensions, b"");
    if rng.random_bool(0.3) {
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(12..packet.len());
            packet[at] = rng.random();
        }
    }
    if rng.random_bool(0.05) {
        packet.truncate(rng.random_range(14..packet.len()));
    }
    packet
}

#[test]
fn it_does_not_matter_whether_loops_are_unrolled() {
    let Some(kernel) = kernel() else { return };
    let unrolled = program(&kernel, "load_balancer", "load_balancer");
    let rolled = program(&kernel, "load_balancer_rolled", "load_balancer");
    let mut rng = StdRng::seed_from_u64(15);
    let mut actions = [0_usize; 5];
    for _ in 0..RANDOM {
        let packet = random_packet(&mut rng);
        let (one, other) = (run(&unrolled, &packet), run(&rolled, &packet));
        assert_eq!(one.return_value, other.return_value, "{packet:02x?}");
        assert_eq!(one.packet, other.packet, "{packet:02x?}");
        actions[one.return_value as usize] += 1;
    }
    for action in [DROP, PASS, TX] {
        assert!(actions[action as usize] > RANDOM / 20, "{actions:?}");
    }
    Oracle::Kernel.compared(RANDOM, "packets through unrolled and rolled loops");
}
