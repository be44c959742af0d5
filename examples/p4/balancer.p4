/* Load balancer: sends TCP and UDP packets for the address of a service to one of its servers. The
 * hash of source address and port chooses the server, so a connection stays with one. Other packets
 * go to the host.
 *
 * Sources: RFC 791 (IPv4), RFC 9293 (TCP), RFC 768 (UDP), RFC 1624 (change of checksums).
 *
 * Slowest path, expected: a UDP packet with a checksum. It looks up both tables, and changes the
 * checksums of IP and of UDP.
 */
#include <core.p4>
#include <xdp_model.p4>

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
    bit<40> up_to_identification;
    bit<3>  flags;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<64> sequence_and_acknowledgment;
    bit<32> flags_and_window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    tcp_t      tcp;
    udp_t      udp;
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
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): tcp;
            (5, 0, PROTOCOL_UDP): udp;
            default: accept;
        }
    }
    state tcp { packet.extract(hdr.tcp); transition accept; }
    state udp { packet.extract(hdr.udp); transition accept; }
}

control Balance(inout headers_t hdr, in xdp_input input, out xdp_output output) {
    bit<16> source_port;
    bit<16> port;
    bit<16> service = 0;
    bit<16> bucket = 0;
    // A service has a power of two of buckets, and each bucket a server.
    action choose(bit<16> number, bit<16> mask) {
        bit<32> hash = hdr.ipv4.source ^ (16w0 ++ source_port);
        hash = hash ^ (hash >> 16);
        hash = hash ^ (hash >> 7);
        service = number;
        bucket = hash[15:0] & mask;
    }

    action send(bit<32> address, bit<48> mac, bit<48> own_mac, bit<32> interface) {
        bit<32> old = hdr.ipv4.destination;
        hdr.ipv4.destination = address;
        hdr.ipv4.checksum = csum_replace4(hdr.ipv4.checksum, old, address);
        if (hdr.tcp.isValid()) {
            hdr.tcp.checksum = csum_replace4(hdr.tcp.checksum, old, address);
        } else if (hdr.udp.checksum != 0) {
            // UDP packets without a checksum have 0 there.
            hdr.udp.checksum = csum_replace4(hdr.udp.checksum, old, address);
        }
        hdr.ethernet.destination = mac;
        hdr.ethernet.source = own_mac;
        output.output_action = xdp_action.XDP_REDIRECT;
        output.output_port = interface;
    }

    table services {
        key = {
            hdr.ipv4.destination: exact;
            hdr.ipv4.protocol   : exact;
            port                : exact;
        }
        actions = { choose; NoAction; }
        implementation = hash_table(256);
    }

    table servers {
        key = { service: exact; bucket: exact; }
        actions = { send; NoAction; }
        implementation = hash_table(65536);
    }

    apply {
        output.output_action = xdp_action.XDP_PASS;
        output.output_port = 0;
        if (hdr.tcp.isValid()) {
            source_port = hdr.tcp.source;
            port = hdr.tcp.destination;
        } else if (hdr.udp.isValid()) {
            source_port = hdr.udp.source;
            port = hdr.udp.destination;
        } else {
            return;
        }
        if (services.apply().hit) {
            // A service whose servers are all down has no entries.
            output.output_action = xdp_action.XDP_DROP;
            servers.apply();
        }
    }
}

control Deparse(in headers_t hdr, packet_out packet) {
    apply { packet.emit(hdr); }
}

xdp(Headers(), Balance(), Deparse()) main;
