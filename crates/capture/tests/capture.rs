//! Tests of reading intact and damaged capture files, in both formats (pcap and pcapng).

use std::io::Cursor;

use proptest::prelude::*;
use slowpath_capture::{Capture, CaptureError, Format, Packet, Problem};
use slowpath_codes::{IS_A_DIRECTORY, NO_SUCH_FILE};

/// Byte order in which the numbers of a capture file are written.
#[derive(Clone, Copy)]
struct Order {
    big: bool,
}

impl Order {
    fn u16(self, value: u16) -> Vec<u8> {
        if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }

    fn u32(self, value: u32) -> Vec<u8> {
        if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }

    fn pcap(self, magic: u32, network: u32, packets: &[(&[u8], u32)]) -> Vec<u8> {
        let mut file = self.u32(magic);
        file.extend([self.u16(2), self.u16(4)].concat());
        file.extend([0, 0, 65535, network].map(|value| self.u32(value)).concat());
        for (bytes, wire) in packets {
            let header = [1, 2, bytes.len() as u32, *wire].map(|value| self.u32(value));
            file.extend(header.concat());
            file.extend(*bytes);
        }
        file
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let body = [body, &vec![0; body.len().next_multiple_of(4) - body.len()]].concat();
        let length = self.u32(body.len() as u32 + 12);
        [self.u32(kind), length.clone(), body, length].concat()
    }

    fn section(self) -> Vec<u8> {
        let version = [self.u16(1), self.u16(0)].concat();
        let body = [self.u32(0x1a2b_3c4d), version, vec![0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    fn interface(self, link: u16, options: &[u8]) -> Vec<u8> {
        let body = [self.u16(link), self.u16(0), self.u32(8), options.to_vec()].concat();
        self.block(1, &body)
    }

    fn enhanced(self, interface: u32, bytes: &[u8], wire: u32) -> Vec<u8> {
        let numbers = [interface, 0, 0, bytes.len() as u32, wire].map(|value| self.u32(value));
        self.block(6, &[numbers.concat(), bytes.to_vec()].concat())
    }

    fn simple(self, bytes: &[u8], wire: u32) -> Vec<u8> {
        self.block(3, &[self.u32(wire), bytes.to_vec()].concat())
    }
}

const ORDERS: [Order; 2] = [Order { big: false }, Order { big: true }];

fn read(file: Vec<u8>) -> (Vec<Packet>, Option<CaptureError>) {
    let mut capture = match Capture::new(Box::new(Cursor::new(file))) {
        Ok(capture) => capture,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut packets = Vec::new();
    let error = loop {
        match capture.next_packet() {
            // Other tests check the times.
            Ok(Some(packet)) => packets.push(Packet { nanoseconds: None, ..packet }),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert_eq!(packets.len() as u64, capture.packets());
    assert_eq!(capture.next_packet().unwrap(), None, "behind the end there is nothing");
    (packets, error)
}

fn packet(bytes: &[u8], wire_length: usize) -> Packet {
    Packet { bytes: bytes.to_vec(), wire_length, nanoseconds: None, converted: None }
}

#[test]
fn pcap_files_of_both_orders_and_units_are_read() {
    for order in ORDERS {
        for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
            let file = order.pcap(magic, 1, &[(b"first packet", 12), (b"cut", 1500), (b"", 0)]);
            let (packets, error) = read(file);
            assert!(error.is_none(), "{error:?}");
            let expected = [packet(b"first packet", 12), packet(b"cut", 1500), packet(b"", 0)];
            assert_eq!(packets, expected);
            assert_eq!(packets.iter().filter(|packet| packet.is_truncated()).count(), 1);
        }
    }
}

fn first_time(file: Vec<u8>) -> Option<u64> {
    Capture::new(Box::new(Cursor::new(file))).unwrap().next_packet().unwrap().unwrap().nanoseconds
}

#[test]
fn times_are_in_the_unit_of_the_file() {
    for order in ORDERS {
        for (magic, time) in [(0xa1b2_c3d4, 1_000_002_000), (0xa1b2_3c4d, 1_000_000_002)] {
            assert_eq!(first_time(order.pcap(magic, 1, &[(b"frame", 5)])), Some(time));
        }
        let option = |code, value: &[u8]| {
            let length = order.u16(u16::try_from(value.len()).unwrap());
            let mut option = [order.u16(code), length, value.to_vec()].concat();
            option.resize(option.len().next_multiple_of(4), 0);
            option
        };
        let late = if order.big { 3_i64.to_be_bytes() } else { 3_i64.to_le_bytes() };
        let end = order.u32(0);
        let cases = [
            (vec![], Some((3 * (1 << 32) + 8) * 1000)),
            ([option(9, &[9]), end.clone()].concat(), Some(3 * (1 << 32) + 8)),
            ([option(9, &[0x80 | 32]), end.clone()].concat(), Some(3_000_000_001)),
            // A unit finer than a nanosecond.
            ([option(9, &[19]), end.clone()].concat(), Some(1)),
            ([option(9, &[0x80 | 99]), end.clone()].concat(), Some(0)),
            ([option(9, &[99]), end.clone()].concat(), None),
        ];
        for (options, time) in cases {
            let numbers = [0, 3, 8, 5, 5].map(|value| order.u32(value)).concat();
            let packet = order.block(6, &[numbers, b"frame".to_vec()].concat());
            let file = [order.section(), order.interface(1, &options), packet].concat();
            assert_eq!(first_time(file), time, "{options:?}");
        }
        let options = [option(9, &[9]), option(14, &late), end].concat();
        let file = [order.section(), order.interface(1, &options), order.enhanced(0, b"frame", 5)];
        assert_eq!(first_time(file.concat()), Some(3_000_000_000));
        let file = [order.section(), order.interface(1, &[]), order.simple(b"frame", 5)];
        assert_eq!(first_time(file.concat()), None);
    }
}

#[test]
fn check_sequences_are_taken_off() {
    // A check sequence of two 16-bit words, and the flag that the file states its length.
    let network = (2 << 28) | (1 << 26) | 1;
    let order = ORDERS[0];
    let file = order.pcap(0xa1b2_c3d4, network, &[(b"frame+fcs.", 10), (b"frame", 10)]);
    assert_eq!(read(file).0, [packet(b"frame+", 6), packet(b"frame", 6)]);
    let option = [order.u16(13), order.u16(1), vec![32, 0, 0, 0], order.u32(0)].concat();
    let file = [order.section(), order.interface(1, &option), order.enhanced(0, b"frame+fcs.", 10)];
    assert_eq!(read(file.concat()).0, [packet(b"frame+", 6)]);
}

#[test]
fn pcapng_files_with_sections_interfaces_and_packet_types_are_read() {
    let mut file = Vec::new();
    // One section of each byte order.
    for order in ORDERS {
        file.extend([order.section(), order.interface(1, &[])].concat());
        file.extend(order.block(0x0bad_cafe, b"of an unknown kind"));
        file.extend([order.interface(1, &[]), order.enhanced(1, b"abcde", 9)].concat());
        file.extend([order.simple(b"simple", 6), order.simple(b"limited!", 30)].concat());
    }
    let (packets, error) = read(file.clone());
    assert!(error.is_none(), "{error:?}");
    let section = [packet(b"abcde", 9), packet(b"simple", 6), packet(b"limited!", 30)];
    assert_eq!(packets, [section.clone(), section].concat());
    let capture = Capture::new(Box::new(Cursor::new(file))).unwrap();
    assert_eq!(capture.format(), Format::Pcapng);
}

#[test]
fn large_blocks_are_read_and_absurd_ones_refused() {
    let large = vec![7; 300_000];
    let file = ORDERS[0].pcap(0xa1b2_c3d4, 1, &[(&large, 300_000), (b"next", 4)]);
    let (packets, error) = read(file);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(packets, [packet(&large, 300_000), packet(b"next", 4)]);

    let mut file = ORDERS[0].pcap(0xa1b2_c3d4, 1, &[(b"fine", 4)]);
    file.extend([0, 0, u32::MAX, u32::MAX].map(u32::to_le_bytes).concat());
    file.extend(vec![0; 40 << 20]);
    let (packets, error) = read(file);
    assert_eq!(packets.len(), 1);
    assert!(matches!(error.unwrap().problem, Problem::TooLarge { .. }));
}

#[test]
fn other_links_are_named() {
    let (packets, error) = read(ORDERS[1].pcap(0xa1b2_c3d4, 113, &[(b"cooked", 6)]));
    assert!(packets.is_empty());
    let text = error.unwrap().to_string();
    assert!(text.contains("LINUX_SLL (113)"), "{text}");

    let order = ORDERS[0];
    let file = [
        order.section(),
        order.interface(1, &[]),
        order.interface(147, &[]),
        order.enhanced(0, b"fine", 4),
        order.enhanced(1, b"other", 5),
    ];
    let (packets, error) = read(file.concat());
    assert_eq!(packets, [packet(b"fine", 4)]);
    let text = error.unwrap().to_string();
    assert!(text.contains("have link type 147,") && text.contains("(interface 1)"), "{text}");
    assert!(text.contains("after packet 1"), "{text}");
}

#[test]
fn other_files_are_refused() {
    let problem = |bytes: &[u8]| read(bytes.to_vec()).1.unwrap();
    assert!(matches!(problem(b"").problem, Problem::Empty));
    assert!(problem(b"").to_string().starts_with("the file is empty"));
    assert!(matches!(problem(&[0xd4, 0xc3]).problem, Problem::CutOff));
    assert!(matches!(problem(b"\x7fELF and so on, and so on").problem, Problem::OtherFile { .. }));
    assert!(problem(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0]).to_string().contains("decompress it first"));
    let file = [ORDERS[0].section(), ORDERS[0].enhanced(3, b"x", 1)].concat();
    assert!(matches!(problem(&file).problem, Problem::NoInterface { interface: 3 }));
    let missing = Capture::open("/does/not/exist".as_ref()).unwrap_err();
    assert!(matches!(missing.problem, Problem::Io(_)));
    assert_eq!((missing.to_string().as_str(), missing.code()), ("no such file", NO_SUCH_FILE));
    let folder = Capture::open("/".as_ref()).unwrap_err();
    assert_eq!(folder.code(), IS_A_DIRECTORY);
}

/// Generates undamaged capture files with random packets, in both formats (pcap and pcapng).
fn files() -> impl Strategy<Value = Vec<u8>> {
    let packets =
        proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..90), 0u32..200), 0..6);
    (packets, any::<bool>(), any::<bool>()).prop_map(|(packets, big, is_pcapng)| {
        let order = Order { big };
        if !is_pcapng {
            let packets: Vec<(&[u8], u32)> = packets.iter().map(|(b, w)| (&b[..], *w)).collect();
            return order.pcap(0xa1b2_3c4d, 1, &packets);
        }
        let blocks = packets.iter().flat_map(|(bytes, wire)| {
            [order.enhanced(0, bytes, *wire), order.block(0x0b, bytes), order.block(4, bytes)]
        });
        let start = [order.section(), order.interface(1, &[2, 0, 4, 0, 101, 116, 104, 48])];
        start.into_iter().chain(blocks).flatten().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read(bytes);
    }

    #[test]
    fn damaged_files_can_be_read(
        file in files(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
        end in any::<prop::sample::Index>(),
    ) {
        let mut damaged = file.clone();
        for (index, byte) in changes {
            let index = index.index(damaged.len());
            damaged[index] = byte;
        }
        damaged.truncate(end.index(file.len()) + 1);
        read(damaged);
    }

    /// Checks that the packets before the position at which a file is cut off can be read.
    #[test]
    fn packets_of_cut_off_files_are_read(
        packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let pairs: Vec<(&[u8], u32)> = packets.iter().map(|b| (&b[..], b.len() as u32)).collect();
        let file = ORDERS[0].pcap(0xa1b2_c3d4, 1, &pairs);
        let end = end.index(file.len());
        let (found, error) = read(file[..end].to_vec());
        for (found, expected) in found.iter().zip(&packets) {
            prop_assert_eq!(&found.bytes, expected);
        }
        let complete =
            24 + found.iter().map(|packet| 16 + packet.bytes.len()).sum::<usize>();
        match error {
            None => prop_assert_eq!(complete, end),
            Some(error) if end >= 24 => {
                prop_assert!(matches!(error.problem, Problem::CutOff));
                prop_assert_eq!(error.packets, found.len() as u64);
                prop_assert_eq!(error.offset, complete as u64);
            }
            Some(error) if end == 0 => prop_assert!(matches!(error.problem, Problem::Empty)),
            Some(error) => prop_assert!(matches!(error.problem, Problem::CutOff)),
        }
    }
}
