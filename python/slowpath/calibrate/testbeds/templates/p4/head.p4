/* ${title}
 * Made for the experiment ${experiment}; ${role}. P4_16 for the architecture v1model.
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
//@ if split

/* The part of a header in front of the key. */
header before_t {
    bit<${split_bits}> bytes;
}
//@ end
//@ if keyed

header key_t {
    bit<${key_bits}> bits;
}
//@ end
//@ if own

header own_t {
    bit<16> type;
//@ if fields
//@ repeat fields as f
    bit<16> field${f};
//@ end
//@ end
//@ if rest_bits
    bit<${rest_bits}> rest;
//@ end
}
//@ end

struct headers_t {
//@ if own
//@ if front
    own_t[${own}] own;
//@ end
//@ end
${layers}
//@ if own
//@ if not front
    own_t[${own}] own;
//@ end
//@ end
}

struct metadata_t {
    bit<64> sum;
    bit<64> operand;
//@ if metadata
//@ repeat metadata as i
    bit<16> field${i};
//@ end
//@ end
//@ if recirculated
    @field_list(0)
    bit<8> passes;
//@ end
}
