// Architecture of packet switches in XDP, xdp. P4_16 language specification 1.2.4, section
// "Architecture description", says how an architecture is declared. Programs may also use the
// packet filter of ebpf_model.p4.

#ifndef _XDP_MODEL_P4
#define _XDP_MODEL_P4

#include <core.p4>
#include <ebpf_model.p4>

// Decision about a packet, as in the header linux/bpf.h.
enum xdp_action {
    XDP_ABORTED,
    XDP_DROP,
    XDP_PASS,
    XDP_TX,
    XDP_REDIRECT
}

struct xdp_input {
    bit<32> input_port;
}

// The port matters for XDP_REDIRECT.
struct xdp_output {
    xdp_action output_action;
    bit<32> output_port;
}

// Checksum of an IPv4 header without options.
extern bit<16> ebpf_ipv4_checksum(in bit<4> version,
                                  in bit<4> ihl,
                                  in bit<8> diffserv,
                                  in bit<16> totalLen,
                                  in bit<16> identification,
                                  in bit<3> flags,
                                  in bit<13> fragOffset,
                                  in bit<8> ttl,
                                  in bit<8> protocol,
                                  in bit<32> srcAddr,
                                  in bit<32> dstAddr);

// Checksum after the change of a field of 2 or 4 bytes (RFC 1624).
extern bit<16> csum_replace2(in bit<16> csum, in bit<16> old, in bit<16> new);
extern bit<16> csum_replace4(in bit<16> csum, in bit<32> old, in bit<32> new);

// BPF helpers of these names.
extern bit<32> BPF_PERF_EVENT_OUTPUT();
extern bit<32> BPF_KTIME_GET_NS();

// Programmable blocks, in the order in which a packet passes them.

parser xdp_parse<H>(packet_in packet, out H headers);
control xdp_switch<H>(inout H headers, in xdp_input imd, out xdp_output omd);
control xdp_deparse<H>(in H headers, packet_out packet);

package xdp<H>(xdp_parse<H> p, xdp_switch<H> s, xdp_deparse<H> d);

#endif
