//! Builds P4 programs for v1model from parts, and checks the packets that they send.

use std::path::Path;

use slowpath_oracle::Oracle;

use super::clang::clang;
use super::dpdk::{self, Pipeline};
use super::p4::{P4, Sent, Source};
use super::{hex, kernel};

/// P4 source at the start of all programs: declarations of headers and metadata. The header `H` has
/// 16 bytes and is always extracted. Other headers, such as `X` with 2 bytes, are only extracted by
/// some tests.
pub const START: &str = r#"#include <core.p4>
#include <v1model.p4>
header H { bit<32> a; bit<32> b; bit<32> c; bit<16> d; bit<8> e; bit<8> f; }
header X { bit<16> v; }
header S { bit<8> last; bit<8> v; }
header L { bit<8> n; varbit<64> v; }
header W { bit<200> w; }
header_union U { X x; S s; }
struct Hs { H h; X x; S[3] s; L l; U u; U[2] us; W w; W z; }
struct M { @field_list(1) bit<8> m; bit<16> w; int<8> i; }
"#;

/// Parts of the P4 source of a test program for v1model.
pub struct Parts<'a> {
    /// Declarations in front of the parser and the controls.
    pub top: &'a str,
    /// Name of the struct of all headers. Its first field must be `H h`.
    pub headers: &'a str,
    /// Parser states after the extraction of `hdr.h`. The first one must be called `next`.
    pub states: &'a str,
    /// Declarations in the ingress control.
    pub locals: &'a str,
    /// Statements of the ingress control.
    pub body: &'a str,
    /// Statements of the two controls that verify and update checksums.
    pub checksums: [&'a str; 2],
    /// Statements of the deparser.
    pub emits: &'a str,
}

impl Default for Parts<'_> {
    fn default() -> Self {
        let states = "state next { transition accept; }";
        let emits = "b.emit(hdr);";
        Parts { top: "", headers: "Hs", states, locals: "", body: "", checksums: ["", ""], emits }
    }
}

impl Parts<'_> {
    /// Returns the P4 source of the program.
    pub fn text(&self) -> String {
        let Parts { top, headers, states, locals, body, checksums: [verify, update], emits } = self;
        format!(
            "{START}{top}
            parser P(packet_in b, out {headers} hdr, inout M m, inout standard_metadata_t s) {{
                state start {{ b.extract(hdr.h); transition next; }}
                {states}
            }}
            control V(inout {headers} hdr, inout M m) {{ apply {{ {verify} }} }}
            control I(inout {headers} hdr, inout M m, inout standard_metadata_t s) {{
                action drop() {{ mark_to_drop(s); }}
                action port(bit<9> n) {{ s.egress_spec = n; }}
                {locals}
                apply {{ {body} }}
            }}
            control E(inout {headers} hdr, inout M m, inout standard_metadata_t s) {{ apply {{}} }}
            control C(inout {headers} hdr, inout M m) {{ apply {{ {update} }} }}
            control D(packet_out b, in {headers} hdr) {{ apply {{ {emits} }} }}
            V1Switch(P(), V(), I(), E(), C(), D()) main;"
        )
    }
}

/// Loads a program. If kernel or compiler are not available, reports the reason for skipping the
/// test and returns `None`.
pub fn load(parts: &Parts) -> Option<P4> {
    let (kernel, clang) = (kernel()?, clang()?);
    Some(P4::load(&kernel, &clang, &parts.text(), false))
}

/// Returns a packet that consists of the header `H` with these fields.
pub fn packet(a: u32, b: u32, c: u32, d: u16, e: u8, f: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    for number in [a, b, c] {
        packet.extend(number.to_be_bytes());
    }
    packet.extend(d.to_be_bytes());
    packet.extend([e, f]);
    packet
}

fn shown(sent: Option<&Sent>) -> String {
    sent.map_or("nothing".to_owned(), |(port, packet)| format!("{port}: {}", hex(packet)))
}

/// Runs packets through a program in the kernel. Checks that the program sends the expected packet
/// for each of them, or drops it if the expected packet is `None`.
#[track_caller]
pub fn sends(program: &P4, cases: &[(Vec<u8>, Option<Sent>)]) {
    for (packet, wanted) in cases {
        let sent = program.run(packet);
        assert_eq!(shown(sent.as_ref()), shown(wanted.as_ref()), "for {}", hex(packet));
    }
    Oracle::Kernel.compared(cases.len(), "P4 packets");
}

/// Runs packets through the pipeline of a P4 program in DPDK. Checks that the pipeline sends the
/// expected packet for each of them, or drops it if the expected packet is `None`.
#[track_caller]
pub fn sends_in_dpdk(text: &str, cases: &[(Vec<u8>, Option<Sent>)]) {
    if dpdk::driver().is_none() {
        return;
    }
    let source = Source::read(Path::new("test.p4"), text, &[]);
    let made = source.and_then(|source| source.to_spec()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut pipeline = Pipeline::start(&made.spec).unwrap_or_else(|e| panic!("{e}"));
    for (packet, wanted) in cases {
        let answer = pipeline.ask(&format!("packet 1 {}", hex(packet)));
        let wanted = wanted.as_ref().map(|(port, sent)| format!("{port} {}", hex(sent)));
        let wanted = wanted.unwrap_or_else(|| "drop".to_owned());
        let spec = slowpath_swx::print(&made.spec);
        assert_eq!(answer, wanted, "for {}\n{spec}", hex(packet));
    }
    Oracle::Dpdk.compared(cases.len(), "packets of P4 programs");
}

/// Checks that a program sends each packet unchanged to the expected port, or drops it if the port
/// is `None`.
#[track_caller]
pub fn chooses(program: &P4, cases: &[(Vec<u8>, Option<u32>)]) {
    let cases: Vec<_> = cases
        .iter()
        .map(|(packet, port)| (packet.clone(), port.map(|port| (port, packet.clone()))))
        .collect();
    sends(program, &cases);
}

/// Returns a packet whose field `a` is `number` and whose other fields are 0.
pub fn a(number: u32) -> Vec<u8> {
    packet(number, 0, 0, 0, 0, 0)
}

/// Computes the Internet checksum of bytes (RFC 1071).
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Computes a reflected 32-bit CRC bit by bit. `start` is its initial value.
pub fn crc(bytes: &[u8], polynomial: u32, start: u32) -> u32 {
    bytes.iter().fold(start, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 }
        })
    })
}
