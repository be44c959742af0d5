//! Tests programs of the Portable Switch Architecture (PSA) in the running kernel. Expected packets
//! are computed by hand.

use crate::support;

use support::clang::clang;
use support::kernel;
use support::p4::P4;
use support::p4_parts::{crc, internet_checksum, packet, sends, sends_in_dpdk};

/// Parts of the P4 source of a test program. Empty parts make a program that sends each packet to
/// the port in its field `a`.
#[derive(Default)]
struct Parts<'a> {
    /// Declarations in the ingress control.
    locals: &'a str,
    /// Statements of the ingress control after the one that sets the port.
    body: &'a str,
    /// Statements of the ingress deparser.
    deparser: &'a str,
    /// Statements of the ingress parser.
    parser: &'a str,
    /// Statements of the egress control.
    egress: &'a str,
    /// Statements of the egress deparser.
    last: &'a str,
}

fn text(parts: &Parts) -> String {
    let Parts { locals, body, deparser, parser, egress, last } = parts;
    format!(
        "#include <core.p4>
        #include <psa.p4>
        header H {{ bit<32> a; bit<32> b; bit<32> c; bit<16> d; bit<8> e; bit<8> f; }}
        header X {{ bit<16> v; }}
        struct Hs {{ H h; X x; }}
        struct M {{ bit<8> m; bit<16> n; }}
        struct N {{ bit<16> v; }}
        struct R {{ bit<8> v; }}
        struct E {{}}
        parser IP(packet_in b, out Hs hdr, inout M m, in psa_ingress_parser_input_metadata_t i,
                  in R r, in R c) {{
            state start {{ b.extract(hdr.h); {parser} transition accept; }}
        }}
        control I(inout Hs hdr, inout M m, in psa_ingress_input_metadata_t i,
                  inout psa_ingress_output_metadata_t o) {{
            {locals}
            apply {{ send_to_port(o, (PortId_t)hdr.h.a); {body} }}
        }}
        control ID(packet_out b, out E c, out R r, out N n, inout Hs hdr, in M m,
                   in psa_ingress_output_metadata_t o) {{
            apply {{ {deparser} b.emit(hdr); }}
        }}
        parser EP(packet_in b, out Hs hdr, inout M m, in psa_egress_parser_input_metadata_t i,
                  in N n, in E c, in E d) {{
            state start {{ b.extract(hdr.h); m.n = n.v; transition accept; }}
        }}
        control G(inout Hs hdr, inout M m, in psa_egress_input_metadata_t i,
                  inout psa_egress_output_metadata_t o) {{
            apply {{ {egress} }}
        }}
        control ED(packet_out b, out E c, out R r, inout Hs hdr, in M m,
                   in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t d) {{
            apply {{ {last} b.emit(hdr); }}
        }}
        IngressPipeline(IP(), I(), ID()) ip;
        EgressPipeline(EP(), G(), ED()) ep;
        PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;"
    )
}

fn load(parts: &Parts) -> Option<P4> {
    let (kernel, clang) = (kernel()?, clang()?);
    Some(P4::load(&kernel, &clang, &text(parts), false))
}

#[test]
fn packets_pass_both_pipelines() {
    let parts = Parts {
        body: "if (hdr.h.e == 1) { ingress_drop(o); }
               if (hdr.h.e == 2) { hdr.x.setValid(); hdr.x.v = hdr.h.d; }
               if (hdr.h.e == 3) { hdr.h.setInvalid(); hdr.x.setValid(); hdr.x.v = 0x1234; }
               m.m = 9;",
        deparser: "n.v = 0x55aa;",
        egress: "if (hdr.h.e == 4) { egress_drop(o); }
                 hdr.h.d = m.n; hdr.h.f = m.m;
                 if (i.parser_error == error.PacketTooShort) { hdr.h.setValid(); hdr.h.c = 1; }
                 hdr.h.b = (bit<32>)(PortIdUint_t)i.egress_port;",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let with = |b, d, e, f, rest: &[u8]| [&packet(3, b, 7, d, e, f)[..], rest].concat();
    let rest = &[0x77; 8][..];
    let longer = [&[0, 6][..], rest].concat();
    // The egress parser finds 14 bytes, the fewest that XDP permits, and ends at `extract`.
    let few = &[0x77; 12][..];
    let short = [&packet(0, 3, 1, 0, 0, 0)[..], &[0x12, 0x34], few].concat();
    let cases = [
        (with(5, 6, 0, 8, rest), Some((3, with(3, 0x55aa, 0, 0, rest)))),
        (with(5, 6, 1, 8, rest), None),
        (with(5, 6, 2, 8, rest), Some((3, with(3, 0x55aa, 2, 0, &longer)))),
        (with(5, 6, 4, 8, rest), None),
        (with(5, 6, 3, 8, few), Some((3, short))),
    ];
    sends(&program, &cases);
    // SWX does not check the length of packets.
    sends_in_dpdk(&text(&parts), &cases[..4]);
}

#[test]
fn packets_take_further_rounds_with_metadata() {
    let parts = Parts {
        parser: "m.m = r.v + c.v;",
        body: "if (i.packet_path == PSA_PacketPath_t.RESUBMIT) { hdr.h.b = 1; }
               if (i.packet_path == PSA_PacketPath_t.RECIRCULATE) {
                   hdr.h.b = 2; hdr.h.c = (bit<32>)(PortIdUint_t)i.ingress_port;
               }
               hdr.h.f = hdr.h.f + 1;
               if (hdr.h.e == 1 && m.m < 3) { o.resubmit = true; }
               if (hdr.h.e == 2 && hdr.h.f < 4) { send_to_port(o, PSA_PORT_RECIRCULATE); }
               if (hdr.h.e == 3) { o.resubmit = true; }
               hdr.h.d = (bit<16>)m.m;",
        deparser: "if (psa_resubmit(o)) { r.v = m.m + 1; }
                   if (psa_normal(o)) { n.v = 5; }",
        egress: "m.m = (bit<8>)m.n;",
        last: "if (psa_recirculate(o, d)) { r.v = m.m; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let port = 0xffff_fffa;
    let cases = [
        (packet(3, 0, 0, 9, 0, 0), Some((3, packet(3, 0, 0, 0, 0, 1)))),
        (packet(3, 0, 0, 9, 1, 0), Some((3, packet(3, 1, 0, 3, 1, 1)))),
        (packet(3, 0, 0, 9, 2, 0), Some((3, packet(3, 2, port, 5, 2, 4)))),
        (packet(3, 0, 0, 9, 2, 3), Some((3, packet(3, 0, 0, 0, 2, 4)))),
        (packet(3, 0, 0, 9, 3, 0), None),
    ];
    sends(&program, &cases);
    sends_in_dpdk(&text(&parts), &cases);
}

#[test]
fn externs_compute_as_specified() {
    let parts = Parts {
        locals: "Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) wide;
            Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) narrow;
            Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) pieces;
            InternetChecksum() sum; InternetChecksum() other;
            Register<bit<32>, bit<8>>(4) r;
            Random<bit<8>>(10, 12) random;
            Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.PACKETS) n;
            Digest<bit<32>>() digest;",
        body: "if (hdr.h.e == 0) {
                hdr.h.b = wide.get_hash({ hdr.h.a, hdr.h.f });
                hdr.h.d = narrow.get_hash(16w100, { hdr.h.a, hdr.h.f }, 16w7);
                pieces.clear();
                pieces.update(hdr.h.a);
                pieces.update({ hdr.h.f });
                hdr.h.c = (bit<32>)pieces.get();
            } else if (hdr.h.e == 1) {
                sum.add({ hdr.h.a, hdr.h.b });
                hdr.h.d = sum.get();
                sum.subtract({ hdr.h.b });
                sum.add({ hdr.h.c });
                other.clear();
                other.set_state(sum.get_state());
                hdr.h.c = (bit<32>)other.get();
            } else {
                bit<32> old = r.read(hdr.h.f);
                r.write(hdr.h.f, old + hdr.h.b);
                hdr.h.b = old;
                bit<8> drawn = random.read();
                if (drawn < 10 || drawn > 12) { hdr.h.c = 1; }
                n.count(hdr.h.f);
                digest.pack(hdr.h.a);
            }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let mut cases = Vec::new();
    for (a, f) in [(3u32, 1u8), (2, 0xff), (511, 0)] {
        let bytes = [&a.to_be_bytes()[..], &[f]].concat();
        let (wide, narrow) = (!crc(&bytes, 0xedb8_8320, u32::MAX), crc(&bytes, 0xa001, 0));
        let sent = packet(a, wide, narrow, 100 + (narrow % 7) as u16, 0, f);
        cases.push((packet(a, 0, 0, 0, 0, f), Some((a, sent))));
    }
    for (a, b, c) in [(3u32, 4u32, 5u32), (7, 0xffff_ffff, 0), (1, 0x8000_7fff, 0xfffe_0001)] {
        let sum = |x: u32, y: u32| internet_checksum(&[x.to_be_bytes(), y.to_be_bytes()].concat());
        let sent = packet(a, b, u32::from(sum(a, c)), sum(a, b), 1, 0);
        cases.push((packet(a, b, c, 0, 1, 0), Some((a, sent))));
    }
    for (f, b, old) in [(1, 5, 0), (1, 6, 5), (2, 7, 0), (1, 1, 11), (4, 3, 0), (4, 3, 0)] {
        cases.push((packet(3, b, 0, 0, 2, f), Some((3, packet(3, old, 0, 0, 2, f)))));
    }
    sends(&program, &cases);
}

#[test]
fn meters_see_colours_and_entries_count() {
    let parts = Parts {
        locals: "Meter<bit<8>>(2, PSA_MeterType_t.PACKETS) m;
            DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) n;
            DirectMeter(PSA_MeterType_t.BYTES) direct;
            PSA_MeterColor_t colour;
            action mark() { n.count(); colour = direct.execute(); }
            table t { key = { hdr.h.b: exact; } actions = { mark; NoAction; }
                      default_action = mark(); psa_direct_counter = n; psa_direct_meter = direct; }
            ActionProfile(4) members;
            action set(bit<8> f) { hdr.h.f = f; }
            table u { key = { hdr.h.b: lpm; } actions = { set; NoAction; }
                      psa_implementation = members; }",
        body: "colour = PSA_MeterColor_t.RED;
            if (hdr.h.e == 0) { colour = m.execute(0); }
            else if (hdr.h.e == 1) { colour = m.execute(0, PSA_MeterColor_t.YELLOW); }
            else if (hdr.h.e == 2) { t.apply(); }
            if (hdr.h.e == 3) { u.apply(); }
            else if (colour == PSA_MeterColor_t.GREEN) { hdr.h.f = 1; }
            else if (colour == PSA_MeterColor_t.YELLOW) { hdr.h.f = 2; }
            else { hdr.h.f = 3; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let meter = |committed: u64, peak: u64, cost: u64| -> Vec<u8> {
        let unit = 1u64 << 60;
        let fields = [0, committed * unit, peak * unit, cost, committed * unit, cost, peak * unit];
        fields.into_iter().flat_map(u64::to_ne_bytes).collect()
    };
    program.set("I_m", 0, &meter(2, 3, 1 << 60));
    program.write_changed("t 5 -> mark()\nu 0.0.1.0/24 -> set(7)", "I_t", |value| {
        let at = value.len() - 56;
        value[at..].copy_from_slice(&meter(1, 2, 1 << 56));
    });
    let case = |b, e, f| (packet(3, b, 0, 0, e, 9), Some((3, packet(3, b, 0, 0, e, f))));
    sends(
        &program,
        &[
            case(0, 0, 1),
            // A yellow packet takes tokens of the peak rate only.
            case(0, 1, 2),
            case(0, 0, 1),
            case(0, 0, 3),
            case(5, 2, 1),
            case(5, 2, 2),
            case(5, 2, 3),
            // Without an entry, packets are green.
            case(6, 2, 1),
            case(0x1ff, 3, 7),
            case(0x2ff, 3, 9),
        ],
    );
}

#[test]
fn a_resubmitted_packet_keeps_the_port_of_its_recirculation() {
    let parts = Parts {
        body: "if (i.ingress_port == PSA_PORT_RECIRCULATE) { hdr.h.f = 1; }
               if (i.packet_path == PSA_PacketPath_t.RESUBMIT) { hdr.h.b = 1; }
               if (i.packet_path == PSA_PacketPath_t.NORMAL) {
                   if (hdr.h.e == 1) { send_to_port(o, PSA_PORT_RECIRCULATE); }
                   if (hdr.h.e == 2) { o.resubmit = true; }
               }
               if (i.packet_path == PSA_PacketPath_t.RECIRCULATE) { o . resubmit = true; }",
        ..Parts::default()
    };
    let Some(program) = load(&parts) else { return };
    let cases = [
        (packet(3, 0, 0, 9, 0, 0), Some((3, packet(3, 0, 0, 9, 0, 0)))),
        (packet(3, 0, 0, 9, 1, 0), Some((3, packet(3, 1, 0, 9, 1, 1)))),
        (packet(3, 0, 0, 9, 2, 0), Some((3, packet(3, 1, 0, 9, 2, 0)))),
    ];
    sends(&program, &cases);
    sends_in_dpdk(&text(&parts), &cases);
}
