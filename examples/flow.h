/* The flow of a packet: addresses, ports and protocol of TCP or UDP over IPv4 or IPv6.
 *
 * firewall, ipv6_lb and flow_monitor parse with this header, so that a chain of them asks the same
 * questions about the same bytes. Not here: extension headers and options; packets that have them
 * are not classified.
 * Sources: RFC 791 (IPv4), RFC 8200 (IPv6), RFC 4291 section 2.5.5.2 (IPv4-mapped addresses).
 */
#ifndef EXAMPLES_FLOW_H
#define EXAMPLES_FLOW_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_MORE_OR_OFFSET 0x3fff /* the flag "more fragments" and the fragment offset */

struct address {
	__be32 word[4]; /* IPv4 addresses are mapped into ::ffff:0:0/96 */
};

struct flow {
	struct address source;
	struct address destination;
	__be16 source_port;
	__be16 destination_port;
	__u8 protocol;
	__u8 zero[3]; /* padding is part of the key of a map */
};

/* TCP and UDP begin with the same four bytes. */
struct ports {
	__be16 source;
	__be16 destination;
};

static __always_inline int parse_ports(struct ports *ports, void *end, __u8 protocol,
				       struct flow *flow)
{
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return -1;
	if ((void *)(ports + 1) > end)
		return -1;
	flow->source_port = ports->source;
	flow->destination_port = ports->destination;
	flow->protocol = protocol;
	return 0;
}

/* Fills `flow`, which the caller has zeroed, from an IPv4 header without options; -1 when the
 * packet has no ports: other protocols, all fragments, truncated headers.
 */
static __always_inline int parse_flow4(struct iphdr *ip, void *end, struct flow *flow)
{
	if ((void *)(ip + 1) > end)
		return -1;
	if (ip->version != 4 || ip->ihl != 5)
		return -1;
	if (ip->frag_off & bpf_htons(IP_MORE_OR_OFFSET))
		return -1;
	flow->source.word[2] = bpf_htonl(0xffff);
	flow->source.word[3] = ip->saddr;
	flow->destination.word[2] = bpf_htonl(0xffff);
	flow->destination.word[3] = ip->daddr;
	return parse_ports((void *)(ip + 1), end, ip->protocol, flow);
}

/* As parse_flow4, from an IPv6 header that is directly followed by TCP or UDP. */
static __always_inline int parse_flow6(struct ipv6hdr *ip, void *end, struct flow *flow)
{
	if ((void *)(ip + 1) > end)
		return -1;
	if (ip->version != 6)
		return -1;
	__builtin_memcpy(&flow->source, &ip->saddr, sizeof(flow->source));
	__builtin_memcpy(&flow->destination, &ip->daddr, sizeof(flow->destination));
	return parse_ports((void *)(ip + 1), end, ip->nexthdr, flow);
}

/* Bit mixer of 32 bits; the constants are those of the finaliser of MurmurHash3 (public domain). */
static __always_inline __u32 mix(__u32 hash)
{
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	hash ^= hash >> 16;
	return hash;
}

#endif
