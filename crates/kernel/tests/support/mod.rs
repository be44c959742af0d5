//! Code that the tests of this crate share: it provides the kernel, objects and packets.

// Each test file uses a part of this module.

pub mod assemble;
pub mod bounds;
pub mod clang;
#[path = "../../../p4/tests/dpdk/mod.rs"]
pub mod dpdk;
pub mod isa;
pub mod p4;
pub mod p4_expr;
pub mod p4_parts;
pub mod p4_program;
pub mod pin;
pub mod random;
pub mod replay_pair;
pub mod sequences;
pub mod stf;
pub mod tally;
pub mod words;

use std::path::{Path, PathBuf};

use slowpath_bpf::Object;
use slowpath_kernel::{Kernel, LoadError, LoadedProgram};
use slowpath_oracle::Oracle;

pub const DROP: u32 = 1;
pub const PASS: u32 = 2;

/// Returns the running kernel. If it is not available, reports the reason for skipping the test.
pub fn kernel() -> Option<Kernel> {
    Kernel::available().map_err(|reason| Oracle::Kernel.missing(reason)).ok()
}

pub fn path(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

pub fn object(path: &Path) -> Object {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Object::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the objects of the examples, sorted by name.
pub fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path("../../examples"));
    let entries = entries.unwrap_or_else(|e| panic!("examples: {e}"));
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|f| f.file_name().is_some_and(|n| n.to_string_lossy().ends_with(".bpf.o")));
    files.sort();
    assert!(!files.is_empty(), "there are no examples");
    files
}

/// Returns the test object `features.bpf.o`, which has a program for each feature that loading
/// supports.
pub fn features() -> Object {
    object(&path("tests/objects/features.bpf.o"))
}

pub fn try_load(kernel: &Kernel, object: &Object, name: &str) -> Result<LoadedProgram, LoadError> {
    let number = object.programs.iter().position(|p| p.name == name);
    kernel.load(object, number.unwrap_or_else(|| panic!("no program {name}")))
}

pub fn load(kernel: &Kernel, object: &Object, name: &str) -> LoadedProgram {
    try_load(kernel, object, name).unwrap_or_else(|e| panic!("{e}"))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns packets of common kinds, each with a name.
pub fn packets() -> Vec<(&'static str, Vec<u8>)> {
    let ipv4 = |protocol: u8, payload: &[u8]| {
        let total = 20 + payload.len() as u16;
        let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend(payload);
        packet
    };
    let ipv6 = |next: u8, payload: &[u8]| {
        let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0];
        packet.extend((payload.len() as u16).to_be_bytes());
        packet.extend([next, 64]);
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        packet.extend(payload);
        packet
    };
    let udp = |port: u16, data: &[u8]| {
        let mut datagram = vec![0x30, 0x39];
        datagram.extend(port.to_be_bytes());
        datagram.extend((8 + data.len() as u16).to_be_bytes());
        datagram.extend([0, 0]);
        datagram.extend(data);
        datagram
    };
    let tcp = [&[0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0][..]]
        .concat();
    let dns = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\x03com\0\0\x01\0\x01";
    vec![
        ("zero", vec![0; 60]),
        ("shortest", vec![0xff; 14]),
        ("IPv4 UDP", ipv4(17, &udp(9, &[0; 18]))),
        ("IPv4 UDP DNS", ipv4(17, &udp(53, dns))),
        ("IPv4 UDP QUIC", ipv4(17, &udp(443, &[0x40; 40]))),
        ("IPv4 UDP RTP", ipv4(17, &udp(5004, &[&[0x80, 8][..], &[0x55; 170]].concat()))),
        ("IPv4 TCP", ipv4(6, &tcp)),
        ("IPv6 UDP", ipv6(17, &udp(443, &[0x40; 40]))),
        ("IPv6 TCP", ipv6(6, &tcp)),
        ("IPv6 hop-by-hop TCP", ipv6(0, &[&[6, 0, 1, 4, 0, 0, 0, 0][..], &tcp].concat())),
        ("1500 bytes", ipv4(17, &udp(9, &[0xa5; 1458]))),
    ]
}
