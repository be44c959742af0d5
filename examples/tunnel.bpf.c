/* Entry of IPv4 tunnels: packets to a destination that has one get another IPv4 header (or one
 * with GRE) and leave through the port of the tunnel; all others pass.
 *
 * Sources: RFC 2003 (IP in IP), RFC 2784 (GRE), RFC 1624, RFC 791.
 *
 * Slowest path, expected: a packet into a GRE tunnel: 24 bytes of headers instead of 20, and the
 * same look-ups, checksums and redirection otherwise.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "checksum.h"
#include "ethernet.h"

#define IP_DF 0x4000
#define TTL 64
#define MAX_PORTS 64

struct gre {
	__be16 flags;
	__be16 type;
};

struct prefix {
	__u32 bits;
	__be32 address;
};

struct tunnel {
	__be32 local;
	__be32 remote;
	__u32 port; /* index into ports */
	__u16 gre;  /* not 0: with a GRE header */
	struct mac source;
	struct mac next_hop;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct tunnel);
} tunnels SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, MAX_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

/* Largest packet, with the new header, that the path carries; a loader may change it. */
const volatile __u32 mtu = 1500;

/* Writes the headers into the `added` new bytes in front of the packet. */
static __always_inline int encapsulate(struct xdp_md *ctx, const struct tunnel *tunnel, __u32 added,
				       __u16 length, __be16 fragments, __u8 tos)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct gre *gre = (void *)(ip + 1);

	if ((void *)(gre + 1) > end)
		return -1;
	*destination_mac(eth) = tunnel->next_hop;
	*source_mac(eth) = tunnel->source;
	eth->h_proto = bpf_htons(ETH_P_IP);

	ip->version = 4;
	ip->ihl = 5;
	ip->tos = tos;
	ip->tot_len = bpf_htons(length + added);
	ip->id = 0;
	ip->frag_off = fragments;
	ip->ttl = TTL;
	ip->protocol = IPPROTO_IPIP;
	ip->check = 0;
	ip->saddr = tunnel->local;
	ip->daddr = tunnel->remote;
	if (tunnel->gre) {
		ip->protocol = IPPROTO_GRE;
		gre->flags = 0;
		gre->type = bpf_htons(ETH_P_IP);
	}
	ip->check = ~csum_fold(bpf_csum_diff(0, 0, (__be32 *)ip, sizeof(*ip), 0));
	return 0;
}

SEC("xdp")
int tunnel(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct prefix prefix = { .bits = 32 };
	struct tunnel *tunnel;
	__u16 length;
	__be16 fragments;
	__u8 tos;
	__u32 added;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->version != 4 || ip->ihl < 5)
		return XDP_PASS;
	if (ip->ttl <= 1)
		return XDP_PASS; /* the host tells the sender */

	prefix.address = ip->daddr;
	tunnel = bpf_map_lookup_elem(&tunnels, &prefix);
	if (!tunnel)
		return XDP_PASS;
	added = sizeof(struct iphdr) + (tunnel->gre ? sizeof(struct gre) : 0);
	length = bpf_ntohs(ip->tot_len);
	if (length + added > mtu)
		return XDP_PASS; /* the host fragments, or tells the sender */

	fragments = ip->frag_off & bpf_htons(IP_DF);
	tos = ip->tos;
	/* The time to live is the upper byte of its word. */
	ip->check = csum_update(ip->check, (__u16)~bpf_htons(0x0100));
	ip->ttl--;

	if (bpf_xdp_adjust_head(ctx, -(int)added))
		return XDP_ABORTED;
	if (encapsulate(ctx, tunnel, added, length, fragments, tos) < 0)
		return XDP_ABORTED;
	return bpf_redirect_map(&ports, tunnel->port, XDP_ABORTED);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
