/* Packet filter: a rule for the exact flow of a TCP or UDP packet decides; without one, the longest
 * prefix of the source address; without that, the packet passes. Packets other than IPv4 pass.
 *
 * Sources: RFC 791 (IPv4), RFC 9293 (TCP), RFC 768 (UDP).
 *
 * Slowest path, expected: a TCP packet without a rule of its own that a prefix drops. It looks up
 * both tables, and is counted.
 */
#include <core.p4>
#include <ebpf_model.p4>

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_length;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

// The first fields of TCP and UDP are the same.
header ports_t {
    bit<16> source;
    bit<16> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ports_t    ports;
}

parser Headers(packet_in packet, out headers_t hdr) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        // Ports follow directly in first fragments of packets without options only.
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): ports;
            (5, 0, PROTOCOL_UDP): ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control Filter(inout headers_t hdr, out bool pass) {
    // Dropped packets: 0 by flow, 1 by prefix.
    CounterArray(2, false) dropped;

    action allow() {
        pass = true;
    }

    action deny(bit<32> reason) {
        pass = false;
        dropped.increment(reason);
    }

    table flows {
        key = {
            hdr.ipv4.source      : exact;
            hdr.ipv4.destination : exact;
            hdr.ipv4.protocol    : exact;
            hdr.ports.source     : exact;
            hdr.ports.destination: exact;
        }
        actions = { allow; deny; NoAction; }
        default_action = NoAction;
        implementation = hash_table(65536);
    }

    table prefixes {
        key = { hdr.ipv4.source: lpm; }
        actions = { allow; deny; NoAction; }
        default_action = NoAction;
        implementation = hash_table(1024);
    }

    apply {
        pass = true;
        if (!hdr.ipv4.isValid()) {
            return;
        }
        bool decided = false;
        if (hdr.ports.isValid()) {
            decided = flows.apply().hit;
        }
        if (!decided) {
            prefixes.apply();
        }
    }
}

ebpfFilter(Headers(), Filter()) main;
