/* Access control list for TCP and UDP over IPv6: the first rule that fits decides by prefixes of
 * addresses, protocol and a range of ports. The program contains the first rules; the control plane
 * adds rules to the second table. Frames go from port 1 to port 2, and back.
 *
 * Sources: RFC 8200 (IPv6), RFC 9293 (TCP), RFC 768 (UDP), RFC 4291 (addresses).
 *
 * Slowest path, expected: a packet that fits no rule. It is compared with all rules of both tables.
 */
#include <core.p4>
#include <v1model.p4>

const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

enum bit<16> ether_type_t {
    IPV6 = 0x86dd
}

header ethernet_t {
    bit<48>      destination;
    bit<48>      source;
    ether_type_t ether_type;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_length;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> source;
    bit<128> destination;
}

// The first fields of TCP and UDP are the same.
header ports_t {
    bit<16> source;
    bit<16> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv6_t     ipv6;
    ports_t    ports;
}

struct metadata_t { }

parser Headers(packet_in packet, out headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ether_type_t.IPV6: ipv6;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_TCP: ports;
            PROTOCOL_UDP: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control Filter(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(2, CounterType.packets) verdicts;

    action permit() {
        verdicts.count(0);
    }

    action deny() {
        verdicts.count(1);
        mark_to_drop(standard);
        exit;
    }

    // Rules that hold everywhere.
    table fixed_rules {
        key = {
            hdr.ipv6.source      : ternary;
            hdr.ipv6.next_header : ternary;
            hdr.ports.destination: range;
        }
        actions = { permit; deny; NoAction; }
        const default_action = NoAction;
        const entries = {
            // Multicast addresses, ff00::/8, are not a source.
            (128w0xff << 120 &&& 128w0xff << 120, _, _): deny;
            // Link-local addresses, fe80::/10, reach all ports.
            (128w0xfe80 << 112 &&& 128w0xffc0 << 112, _, _): permit;
            // DNS over UDP, and HTTPS over TCP.
            (_, PROTOCOL_UDP, 53 .. 53): permit;
            (_, PROTOCOL_TCP, 443 .. 443): permit;
            // NetBIOS and SMB.
            (_, _, 137 .. 139): deny;
            (_, _, 445 .. 445): deny;
        }
    }

    table rules {
        key = {
            hdr.ipv6.source      : ternary;
            hdr.ipv6.destination : ternary;
            hdr.ipv6.next_header : ternary;
            hdr.ports.destination: range;
        }
        actions = { permit; deny; }
        default_action = deny;
        size = 64;
    }

    apply {
        standard.egress_spec = standard.ingress_port == 1 ? 9w2 : 1;
        if (hdr.ports.isValid()) {
            switch (fixed_rules.apply().action_run) {
                NoAction: {
                    rules.apply();
                }
            }
        }
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control NoCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr); }
}

V1Switch(Headers(), NoVerify(), Filter(), NoEgress(), NoCompute(), Deparse()) main;
