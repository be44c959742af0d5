/* Tables of 100 prefixes one after the other
 * Made for the experiment table-lpm-tables; tables = 2. P4_16 for the architecture v1model.
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

/* The part of a header in front of the key. */
header before_t {
    bit<128> bytes;
}

header key_t {
    bit<32> bits;
}

struct headers_t {
    ethernet_t ethernet0;
    before_t before;
    key_t key;
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
        packet.extract(h.before);
        packet.extract(h.key);
        transition accept;
    }
}

control Ingress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    bit<32> address;

    action hit(bit<64> data) {
        meta.sum = meta.sum + data[63:0];
    }

    table table0 {
        key = { address: lpm; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        size = 100;
    }

    table table1 {
        key = { address: lpm; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        size = 100;
    }

    apply {
        bit<32> number = h.key.bits[7:0] ++ h.key.bits[15:8] ++ h.key.bits[23:16] ++ h.key.bits[31:24];

        /* Prefixes are spread: an odd multiple, in the 24 high bits but the first one. */
        number = ((number * 2654435761) << (33 - 24)) >> 1;
        address = number;
        table0.apply();
        table1.apply();
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
