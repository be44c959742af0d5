/* Finds the G.711 audio in an RTP packet. Shared by alaw2ulaw and alaw2ulaw_opt.
 *
 * RTP has no port of its own: even UDP ports from 16384 on, where media gateways place it, are
 * looked at. Not here: contributing sources and header extensions, which calls between two parties
 * do not have, and padding.
 *
 * Sources: RFC 3550 section 5.1 (header), RFC 3551 table 4 (payload types 0: PCMU, 8: PCMA).
 */
#ifndef EXAMPLES_RTP_H
#define EXAMPLES_RTP_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "ethernet.h"

#define IP_MORE_OR_OFFSET 0x3fff
#define FIRST_PORT 16384
#define RTP_VERSION_2 0x80 /* no padding, no extension, no contributing source */
#define RTP_TYPE 0x7f
#define PCMU 0
#define PCMA 8
#define MAX_SAMPLES 160 /* 20 ms at 8 kHz */

struct rtphdr {
	__u8 version;
	__u8 type; /* marker bit and payload type */
	__be16 sequence;
	__be32 timestamp;
	__be32 source;
};

#define OVERHEAD (sizeof(struct udphdr) + sizeof(struct rtphdr)) /* in the length UDP states */

/* The headers of a frame with audio; there are no options between them. */
struct rtp_frame {
	struct ethhdr *eth;
	struct iphdr *ip;
	struct udphdr *udp;
	struct rtphdr *rtp;
	__u8 *sample;
	__u32 samples; /* up to MAX_SAMPLES, all within the frame */
};

/* 0 when the packet carries A-law samples, -1 when it is anything else. */
static __always_inline int parse_alaw(struct xdp_md *ctx, struct rtp_frame *frame)
{
	void *end = (void *)(long)ctx->data_end;
	__u16 length;

	frame->eth = (void *)(long)ctx->data;
	frame->ip = (void *)(frame->eth + 1);
	frame->udp = (void *)(frame->ip + 1);
	frame->rtp = (void *)(frame->udp + 1);
	frame->sample = (void *)(frame->rtp + 1);

	if ((void *)frame->sample > end)
		return -1;
	if (frame->eth->h_proto != bpf_htons(ETH_P_IP))
		return -1;
	if (frame->ip->version != 4 || frame->ip->ihl != 5 || frame->ip->protocol != IPPROTO_UDP)
		return -1;
	if (frame->ip->frag_off & bpf_htons(IP_MORE_OR_OFFSET))
		return -1;
	if (frame->udp->dest & bpf_htons(1) || bpf_ntohs(frame->udp->dest) < FIRST_PORT)
		return -1;
	if (frame->rtp->version != RTP_VERSION_2 || (frame->rtp->type & RTP_TYPE) != PCMA)
		return -1;
	length = bpf_ntohs(frame->udp->len);
	if (length < OVERHEAD || length > OVERHEAD + MAX_SAMPLES)
		return -1;
	frame->samples = length - OVERHEAD;
	if ((void *)(frame->sample + frame->samples) > end)
		return -1;
	return 0;
}

/* Marks the frame as µ-law and turns it around to the router it came from. */
static __always_inline int send_ulaw(struct rtp_frame *frame)
{
	frame->rtp->type = (frame->rtp->type & ~RTP_TYPE) | PCMU;
	frame->udp->check = 0; /* no checksum: allowed over IPv4 */
	swap_macs(frame->eth);
	return XDP_TX;
}

#endif
