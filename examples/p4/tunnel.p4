/* Label switch router: packets with MPLS labels are switched by the top label, which is swapped or
 * removed. IPv4 packets enter a tunnel by their destination, and get one or two labels.
 *
 * Sources: RFC 3031 (MPLS), RFC 3032 (encoding of label stacks), RFC 3443 (time to live).
 *
 * Slowest path, expected: an IPv4 packet that gets two labels. It grows by 8 bytes.
 */
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_MPLS = 0x8847;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header mpls_t {
    bit<20> label;
    bit<3>  traffic_class;
    bit<1>  is_last;
    bit<8>  ttl;
}

header ipv4_t {
    bit<64> first;   // version to fragment offset
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    ethernet_t ethernet;
    mpls_t[3]  labels;
    ipv4_t     ipv4;
}

struct metadata_t { }
parser Headers(packet_in packet, out headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_MPLS: labels;
            ETHERTYPE_IPV4: ipv4;
            default: accept;
        }
    }

    // More than three labels are an error, and the packet is dropped.
    state labels {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.is_last) {
            1: ipv4;
            default: labels;
        }
    }

    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}

control Switch(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }

    action forward(bit<9> port, bit<48> destination) {
        standard.egress_spec = port;
        hdr.ethernet.destination = destination;
    }

    action swap(bit<20> label, bit<9> port, bit<48> destination) {
        hdr.labels[0].label = label;
        hdr.labels[0].ttl = hdr.labels[0].ttl - 1;
        forward(port, destination);
    }

    // Removes the top label. The next one, or the packet, takes over the time to live.
    action pop(bit<9> port, bit<48> destination) {
        bit<8> ttl = hdr.labels[0].ttl - 1;
        if (hdr.labels[1].isValid()) {
            hdr.labels[1].ttl = ttl;
        } else {
            hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        }
        hdr.labels.pop_front(1);
        forward(port, destination);
    }

    action push(bit<20> label, bit<1> is_last) {
        hdr.labels.push_front(1);
        hdr.labels[0].setValid();
        hdr.labels[0].label = label;
        hdr.labels[0].traffic_class = 0;
        hdr.labels[0].is_last = is_last;
        hdr.labels[0].ttl = hdr.ipv4.ttl - 1;
        hdr.ethernet.ether_type = ETHERTYPE_MPLS;
    }

    action enter(bit<20> label, bit<9> port, bit<48> destination) {
        push(label, 1);
        forward(port, destination);
    }
    // The inner label names a service, the outer one the way to its router.
    action enter_twice(bit<20> inner, bit<20> outer, bit<9> port, bit<48> destination) {
        push(inner, 1);
        push(outer, 0);
        forward(port, destination);
    }

    table labels {
        key = { hdr.labels[0].label: exact; }
        actions = { swap; pop; drop; }
        default_action = drop;
        size = 4096;
    }

    table tunnels {
        key = { hdr.ipv4.destination: lpm; }
        actions = { enter; enter_twice; drop; }
        default_action = drop;
        size = 1024;
    }

    apply {
        if (standard.parser_error != error.NoError) {
            drop();
        } else if (hdr.labels[0].isValid() && hdr.labels[0].ttl > 1) {
            labels.apply();
        } else if (!hdr.labels[0].isValid() && hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            tunnels.apply();
        } else {
            drop();
        }
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}
control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control NoCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr); }
}

V1Switch(Headers(), NoVerify(), Switch(), NoEgress(), NoCompute(), Deparse()) main;
