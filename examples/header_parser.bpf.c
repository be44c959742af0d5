/* Parses headers as deep as a switch does, and counts packets by where parsing ended and by the
 * number of headers: Ethernet, up to 2 VLAN tags, up to 3 MPLS labels, IPv4 or IPv6, then TCP, UDP
 * or ICMP, or a tunnel (GRE, VXLAN) with an inner packet, in VXLAN with its own Ethernet header.
 *
 * What is not known is not an error: parsing ends there. Truncated packets are dropped.
 *
 * Sources: the parser of switch.p4 (its depth, not its code), IEEE 802.1Q, RFC 3032 (MPLS),
 * RFC 2784 and RFC 2890 (GRE with checksum, key and sequence number), RFC 7348 (VXLAN).
 *
 * Slowest path, expected: the most headers one packet can have: two tags, three labels, an outer IP
 * header, UDP and VXLAN, inner Ethernet, IP and the protocol that is compared last. Without loops;
 * most slow paths of the graph are not satisfiable, as one field decides several branches.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAX_TAGS 2
#define MAX_LABELS 3
#define MAX_HEADERS 32
#define IP_OFFSET 0x1fff
#define MPLS_BOTTOM 0x100
#define GRE_CHECKSUM 0x8000
#define GRE_KEY 0x2000
#define GRE_SEQUENCE 0x1000
#define GRE_VERSION 0x0007
#define VXLAN_PORT 4789

enum outcome {
	TRUNCATED,
	NOT_IP, /* an EtherType, or labels over something, that is not parsed */
	TOO_DEEP, /* more tags or labels than are parsed */
	OTHER_IP, /* fragments, options, other protocols */
	TCP,
	UDP,
	ICMP,
	INNER, /* this and an outcome: that of the packet in a tunnel */
	OUTCOMES = 2 * INNER,
};

struct count {
	__u64 packets;
	__u64 bytes;
	__u64 headers[MAX_HEADERS]; /* packets by number of headers */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OUTCOMES);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

/* Where parsing is and what it has seen. */
struct cursor {
	void *position;
	void *end;
	__u32 headers;
};

struct vlan {
	__be16 control;
	__be16 type;
};

struct icmp {
	__u8 type;
	__u8 code;
	__be16 check;
};

struct gre {
	__be16 flags;
	__be16 type;
};

struct vxlan {
	__be32 flags;
	__be32 network;
};

/* The next `size` bytes, or null. */
static __always_inline void *take(struct cursor *cursor, __u32 size)
{
	void *header = cursor->position;

	if (header + size > cursor->end)
		return 0;
	cursor->position += size;
	cursor->headers++;
	return header;
}

static __always_inline enum outcome parse_l4(struct cursor *cursor, __u8 protocol, __be16 *port)
{
	struct udphdr *udp;

	switch (protocol) {
	case IPPROTO_TCP:
		return take(cursor, sizeof(struct tcphdr)) ? TCP : TRUNCATED;
	case IPPROTO_UDP:
		udp = take(cursor, sizeof(*udp));
		if (!udp)
			return TRUNCATED;
		*port = udp->dest;
		return UDP;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return take(cursor, sizeof(struct icmp)) ? ICMP : TRUNCATED;
	default:
		return OTHER_IP;
	}
}

/* IPv4 or IPv6, as the EtherType says; `protocol` is that behind it. */
static __always_inline enum outcome parse_ip(struct cursor *cursor, __be16 type, __u8 *protocol,
					     __be16 *port)
{
	if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = take(cursor, sizeof(*ip));

		if (!ip)
			return TRUNCATED;
		if (ip->version != 4 || ip->ihl != 5 || ip->frag_off & bpf_htons(IP_OFFSET))
			return OTHER_IP;
		*protocol = ip->protocol;
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = take(cursor, sizeof(*ip));

		if (!ip)
			return TRUNCATED;
		if (ip->version != 6)
			return OTHER_IP;
		*protocol = ip->nexthdr;
	} else {
		return NOT_IP;
	}
	return parse_l4(cursor, *protocol, port);
}

/* Behind Ethernet: tags, labels and IP. */
static __always_inline enum outcome parse_l3(struct cursor *cursor, __be16 type, __u8 *protocol,
					     __be16 *port)
{
	__u8 *version;
	int i;

#pragma unroll
	for (i = 0; i < MAX_TAGS; i++) {
		struct vlan *vlan;

		if (type != bpf_htons(ETH_P_8021Q) && type != bpf_htons(ETH_P_8021AD))
			break;
		vlan = take(cursor, sizeof(*vlan));
		if (!vlan)
			return TRUNCATED;
		type = vlan->type;
	}
	if (type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD))
		return TOO_DEEP;
	if (type != bpf_htons(ETH_P_MPLS_UC))
		return parse_ip(cursor, type, protocol, port);

#pragma unroll
	for (i = 0; i < MAX_LABELS; i++) {
		__be32 *label = take(cursor, sizeof(*label));

		if (!label)
			return TRUNCATED;
		if (*label & bpf_htonl(MPLS_BOTTOM))
			break;
	}
	if (i == MAX_LABELS)
		return TOO_DEEP;
	/* Labels do not say what is under them; like switches, look at the IP version. */
	version = cursor->position;
	if ((void *)(version + 1) > cursor->end)
		return TRUNCATED;
	if (*version >> 4 == 4)
		type = bpf_htons(ETH_P_IP);
	else if (*version >> 4 == 6)
		type = bpf_htons(ETH_P_IPV6);
	else
		return NOT_IP;
	return parse_ip(cursor, type, protocol, port);
}

/* The packet in a tunnel: no tags and labels there, and no further tunnels. */
static __noinline enum outcome parse_inner(void *position, void *end, __be16 type, __u32 *headers)
{
	struct cursor cursor = { position, end, 0 };
	enum outcome outcome;
	__u8 protocol;
	__be16 port;

	if (type == bpf_htons(ETH_P_TEB)) {
		struct ethhdr *eth = take(&cursor, sizeof(*eth));

		if (!eth)
			return TRUNCATED;
		type = eth->h_proto;
	}
	outcome = parse_ip(&cursor, type, &protocol, &port);
	*headers += cursor.headers;
	return outcome;
}

static __always_inline enum outcome parse(struct cursor *cursor)
{
	struct ethhdr *eth = take(cursor, sizeof(*eth));
	enum outcome outcome;
	__u8 protocol = 0;
	__be16 port = 0;
	__be16 inner;

	if (!eth)
		return TRUNCATED;
	outcome = parse_l3(cursor, eth->h_proto, &protocol, &port);

	if (outcome == OTHER_IP && protocol == IPPROTO_GRE) {
		struct gre *gre = take(cursor, sizeof(*gre));
		__be16 flags;

		if (!gre)
			return TRUNCATED;
		flags = gre->flags;
		inner = gre->type;
		if (flags & bpf_htons(GRE_VERSION))
			return OTHER_IP;
		if (flags & bpf_htons(GRE_CHECKSUM))
			cursor->position += 4;
		if (flags & bpf_htons(GRE_KEY))
			cursor->position += 4;
		if (flags & bpf_htons(GRE_SEQUENCE))
			cursor->position += 4;
	} else if (outcome == UDP && port == bpf_htons(VXLAN_PORT)) {
		if (!take(cursor, sizeof(struct vxlan)))
			return TRUNCATED;
		inner = bpf_htons(ETH_P_TEB);
	} else {
		return outcome;
	}
	return INNER + parse_inner(cursor->position, cursor->end, inner, &cursor->headers);
}

SEC("xdp")
int header_parser(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct cursor cursor = { data, (void *)(long)ctx->data_end, 0 };
	__u32 outcome = parse(&cursor);
	struct count *count = bpf_map_lookup_elem(&counts, &outcome);

	if (count) {
		count->packets++;
		count->bytes += cursor.end - data;
		if (cursor.headers < MAX_HEADERS)
			count->headers[cursor.headers]++;
	}
	return outcome == TRUNCATED || outcome == INNER + TRUNCATED ? XDP_DROP : XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
