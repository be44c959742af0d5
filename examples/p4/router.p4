// An IPv4 router for v1model: longest prefix match, next hop, checksum, and counters by port.

#include <core.p4>
#include <v1model.p4>

#ifndef ROUTES
#define ROUTES 1024
#endif

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  dscp_ecn;
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

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {
    bit<32> next_hop;
}

parser RouterParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                    inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.type) {
            0x0800:  ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        verify(headers.ipv4.version == 4, error.NoMatch);
        transition accept;
    }
}

control VerifyChecksums(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control RouterIngress(inout headers_t headers, inout metadata_t metadata,
                      inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) sent;

    action drop() {
        mark_to_drop(standard);
    }

    action set_next_hop(bit<32> next_hop, bit<9> port) {
        metadata.next_hop = next_hop;
        standard.egress_spec = port;
        headers.ipv4.ttl = headers.ipv4.ttl - 1;
        sent.count((bit<32>)port);
    }

    table routes {
        key = { headers.ipv4.destination: lpm; }
        actions = { set_next_hop; drop; }
        size = ROUTES;
        const default_action = drop();
    }

    action set_destination(bit<48> address) {
        headers.ethernet.source = headers.ethernet.destination;
        headers.ethernet.destination = address;
    }

    table neighbours {
        key = { metadata.next_hop: exact; }
        actions = { set_destination; drop; }
        size = 512;
        const default_action = drop();
    }

    apply {
        if (headers.ipv4.isValid() && headers.ipv4.ttl > 1) {
            if (routes.apply().hit) {
                neighbours.apply();
            }
        } else {
            drop();
        }
    }
}

control RouterEgress(inout headers_t headers, inout metadata_t metadata,
                     inout standard_metadata_t standard) {
    apply { }
}

control UpdateChecksums(inout headers_t headers, inout metadata_t metadata) {
    apply {
        update_checksum(headers.ipv4.isValid(),
                        { headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.dscp_ecn,
                          headers.ipv4.total_length, headers.ipv4.identification,
                          headers.ipv4.flags, headers.ipv4.fragment_offset, headers.ipv4.ttl,
                          headers.ipv4.protocol, headers.ipv4.source, headers.ipv4.destination },
                        headers.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

V1Switch(RouterParser(), VerifyChecksums(), RouterIngress(), RouterEgress(), UpdateChecksums(),
         RouterDeparser()) main;
