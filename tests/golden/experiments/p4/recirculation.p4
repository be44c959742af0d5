/* Packets that go back from the egress stage to the ingress stage
 * Made for the experiment recirculation; passes = 1. P4_16 for the architecture v1model.
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

struct headers_t {
    ethernet_t ethernet0;
    ipv4_t ipv40;
    udp_t udp0;
    vxlan_t vxlan0;
    ethernet_t ethernet1;
    ipv4_t ipv41;
    udp_t udp1;
}

struct metadata_t {
    bit<64> sum;
    bit<64> operand;
    @field_list(0)
    bit<8> passes;
}

parser Parse(packet_in packet, out headers_t h, inout metadata_t meta,
             inout standard_metadata_t standard)
{
    state start {
        packet.extract(h.ethernet0);
        packet.extract(h.ipv40);
        packet.extract(h.udp0);
        packet.extract(h.vxlan0);
        packet.extract(h.ethernet1);
        packet.extract(h.ipv41);
        packet.extract(h.udp1);
        transition accept;
    }
}

control Ingress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = standard.ingress_port;
    }
}

/* What has gone through the egress stage goes back to the ingress stage. */
control Egress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (meta.passes < 1) {
            meta.passes = meta.passes + 1;
            recirculate_preserving_field_list(0);
        }
    }
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
