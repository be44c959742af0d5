/* QUIC load balancer for IPv6: as quic_lb, with a loop over up to 10 extension headers (hop-by-hop
 * options, destination options, routing, first fragments).
 *
 * Sources: draft-ietf-quic-load-balancers-03 (see quic_lb.h), RFC 8200 section 4, RFC 1624.
 *
 * Slowest path, expected: 10 extension headers, each of the type that is compared last, then the
 * slowest path of quic_lb; the UDP checksum changes with all four words of the address. Longer
 * extension headers cost no more, but make packets larger: by bit rate those of 8 bytes are worst.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "checksum.h"
#include "ethernet.h"
#include "quic_lb.h"

#define MAX_EXTENSIONS 10
#define FRAGMENT_OFFSET 0xfff8

#define NEXT_HOP_BY_HOP 0
#define NEXT_ROUTING 43
#define NEXT_FRAGMENT 44
#define NEXT_DESTINATION 60

struct server {
	__be32 address[4];
	struct mac mac; /* of the next hop */
	__u8 used; /* 0: slot is free */
	__u8 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct server);
} servers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FALLBACK_SIZE);
	__type(key, __u32);
	__type(value, struct server);
} fallback SEC(".maps");

struct extension {
	__u8 next;
	__u8 length; /* in units of 8 octets, without the first; reserved in fragment headers */
	__be16 fragment_offset;
	__be32 rest;
};

/* The UDP header behind the extension headers, or null. */
static __always_inline struct udphdr *find_udp(struct ipv6hdr *ip, void *end)
{
	void *position = ip + 1;
	__u8 next = ip->nexthdr;
	int i;

	for (i = 0; i < MAX_EXTENSIONS; i++) {
		struct extension *extension = position;

		if (next == IPPROTO_UDP)
			break;
		if ((void *)(extension + 1) > end)
			return 0;
		if (next == NEXT_FRAGMENT) {
			if (extension->fragment_offset & bpf_htons(FRAGMENT_OFFSET))
				return 0;
			position += sizeof(*extension);
		} else if (next == NEXT_HOP_BY_HOP || next == NEXT_DESTINATION ||
			   next == NEXT_ROUTING) {
			position += sizeof(*extension) * (1 + (__u32)extension->length);
		} else {
			return 0;
		}
		next = extension->next;
	}
	if (next != IPPROTO_UDP || position + sizeof(struct udphdr) > end)
		return 0;
	return position;
}

SEC("xdp")
int quic_lb_ipv6(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct server *server = 0;
	struct udphdr *udp;
	__u64 change = 0;
	__u64 id;
	int i;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IPV6) || ip->version != 6)
		return XDP_PASS;
	udp = find_udp(ip, end);
	if (!udp)
		return XDP_PASS;
	if (udp->dest != bpf_htons(443) && udp->dest != bpf_htons(80))
		return XDP_PASS;

	if (quic_route(udp + 1, end, &id) == 0)
		server = bpf_map_lookup_elem(&servers, &id);
	if (!server) {
		__u32 hash = (__u32)udp->source << 16 | udp->dest;
		__u32 slot;

#pragma unroll
		for (i = 0; i < 4; i++)
			hash = (hash ^ ip->saddr.in6_u.u6_addr32[i]) * 0x9e3779b1;
		slot = hash >> 24;
		server = bpf_map_lookup_elem(&fallback, &slot);
		if (!server || !server->used)
			return XDP_PASS;
	}

#pragma unroll
	for (i = 0; i < 4; i++) {
		change += csum_replaced(ip->daddr.in6_u.u6_addr32[i], server->address[i]);
		ip->daddr.in6_u.u6_addr32[i] = server->address[i];
	}
	__sum16 check = csum_update(udp->check, change);
	udp->check = check ? check : 0xffff;
	forward_to(eth, server->mac);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
