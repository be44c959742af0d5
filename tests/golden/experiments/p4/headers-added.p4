/* Headers that are added
 * Made for the experiment headers-added; headers = 2. P4_16 for the architecture v1model.
 */
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  words;
    bit<8>  service;
    bit<16> length;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow;
    bit<16>  length;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> source;
    bit<128> destination;
}

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledged;
    bit<4>  words;
    bit<12> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header vxlan_t {
    bit<8>  flags;
    bit<24> reserved;
    bit<24> network;
    bit<8>  reserved2;
}

header own_t {
    bit<16> type;
    bit<48> rest;
}

struct headers_t {
    own_t[2] own;
    ethernet_t ethernet0;
    ipv4_t ipv40;
    udp_t udp0;
}

struct metadata_t {
    bit<64> sum;
    bit<64> operand;
}

parser Parse(packet_in packet, out headers_t h, inout metadata_t meta,
             inout standard_metadata_t standard)
{
    state start {
        packet.extract(h.ethernet0);
        packet.extract(h.ipv40);
        packet.extract(h.udp0);
        transition accept;
    }
}

control Ingress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        h.own[0].setValid();
        h.own[0].type = 0;
        h.own[1].setValid();
        h.own[1].type = 1;
        standard.egress_spec = standard.ingress_port;
    }
}

control Egress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control Verify(inout headers_t h, inout metadata_t meta) {
    apply { }
}

control Compute(inout headers_t h, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h);
    }
}

V1Switch(Parse(), Verify(), Ingress(), Egress(), Compute(), Deparse()) main;
