/* QUIC load balancer for IPv4: sends UDP packets to port 443 or 80 to the server that their QUIC
 * connection ID names, by rewriting the destination address.
 *
 * Sources: draft-ietf-quic-load-balancers-03 (see quic_lb.h), RFC 768, RFC 791, RFC 1624.
 *
 * Slowest path, expected: a Handshake packet (long header) with an obfuscated ID, which takes a
 * modulo; its server is not in the map, so that the addresses are hashed on top; and the UDP
 * checksum is in use.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "checksum.h"
#include "ethernet.h"
#include "quic_lb.h"

#define IP_MORE_OR_OFFSET 0x3fff

struct server {
	__be32 address; /* 0: slot is free */
	struct mac mac; /* of the next hop */
	__u8 zero[2];
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

SEC("xdp")
int quic_lb(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	struct server *server = 0;
	__u64 id;

	if ((void *)(udp + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->version != 4 || ip->ihl != 5)
		return XDP_PASS;
	if (ip->protocol != IPPROTO_UDP || ip->frag_off & bpf_htons(IP_MORE_OR_OFFSET))
		return XDP_PASS;
	if (udp->dest != bpf_htons(443) && udp->dest != bpf_htons(80))
		return XDP_PASS;

	if (quic_route(udp + 1, end, &id) == 0)
		server = bpf_map_lookup_elem(&servers, &id);
	if (!server) {
		__u32 hash = ip->saddr ^ ip->daddr ^ ((__u32)udp->source << 16 | udp->dest);
		__u32 slot;

		hash ^= hash >> 16;
		hash *= 0x9e3779b1; /* 2^32 divided by the golden ratio */
		slot = hash >> 24;
		server = bpf_map_lookup_elem(&fallback, &slot);
		if (!server || !server->address)
			return XDP_PASS;
	}

	__u64 change = csum_replaced(ip->daddr, server->address);
	ip->check = csum_update(ip->check, change);
	/* Zero says that there is no checksum, so a sum of zero is sent as its other form. */
	if (udp->check) {
		__sum16 check = csum_update(udp->check, change);
		udp->check = check ? check : 0xffff;
	}
	ip->daddr = server->address;
	forward_to(eth, server->mac);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
