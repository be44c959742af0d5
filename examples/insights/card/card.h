/* What the programs here have in common: Ethernet, IPv4 without options and fragments, and the ports
 * of TCP or UDP, checked and found; sums of IPv4 headers, made anew or corrected; one array of state.
 *
 * Each program is one of the elements in the folder above, as far as the card runs it. By itself it
 * is written as the element is; -DORDERED has the struct in another order, and -DFOLLOWED follows all
 * advice that can be followed here (docs/explanation/insights-advice.md, Advice for XDP on the card).
 */
#ifndef EXAMPLES_INSIGHTS_CARD_H
#define EXAMPLES_INSIGHTS_CARD_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_MORE_OR_OFFSET 0x3fff
#define ENTRIES 4096 /* the firmware's array has a power of two */

struct ports {
	__be16 source;
	__be16 destination;
};

struct headers {
	struct ethhdr *eth;
	struct iphdr *ip;
	struct ports *ports;
	void *end;
};

/* -1: no IPv4, options, a fragment, or too short for ports and `more` bytes behind them. */
static __always_inline int find_headers(struct xdp_md *ctx, struct headers *at, __u32 more)
{
	at->end = (void *)(long)ctx->data_end;
	at->eth = (void *)(long)ctx->data;
	at->ip = (void *)(at->eth + 1);
	at->ports = (void *)(at->ip + 1);
	if ((void *)(at->ports + 1) + more > at->end)
		return -1;
	if (at->eth->h_proto != bpf_htons(ETH_P_IP) || at->ip->version != 4 || at->ip->ihl != 5)
		return -1;
	return at->ip->frag_off & bpf_htons(IP_MORE_OR_OFFSET) ? -1 : 0;
}

static __always_inline __u16 folded(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

/* The sum of the whole header (RFC 1071), whose own field is 0. */
static __always_inline __u16 header_sum(struct iphdr *ip)
{
	__u16 *word = (void *)ip;
	__u32 sum = 0;

#pragma unroll
	for (int at = 0; at < 10; at++)
		sum += word[at];
	return folded(sum);
}

/* A sum after 32 bits of the header have changed (RFC 1624, equation 3). */
static __always_inline __u16 corrected(__u16 sum, __u32 before, __u32 after)
{
	__u32 changed = (__u16)~sum;

	changed += (__u16)~before;
	changed += (__u16)~(before >> 16);
	changed += (__u16)after;
	changed += after >> 16;
	return folded(changed);
}

static __always_inline __u32 mixed(__u32 hash)
{
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	return hash ^ hash >> 13;
}

#endif
