/* Load balancer for TCP and UDP services over IPv6: consistent hashing of the flow to a backend,
 * to which the packet is sent in another IPv6 header (direct server return).
 *
 * Each service has a ring of 4093 places, filled by whoever configures it so that a backend that
 * leaves moves no flows of the others (as in Maglev). Forms a chain with firewall: both parse with
 * flow.h.
 *
 * Sources: RFC 2473 (generic packet tunnelling in IPv6); D. Eisenbud et al.: Maglev, NSDI 2016,
 * section 3.4; see flow.h.
 *
 * Slowest path, expected: any packet to a service: three look-ups, a hash over 5 words, a modulo
 * and 40 more bytes of headers. TCP and UDP differ in nothing but the comparison.
 */
#include "flow.h"
#include "ethernet.h"

#define RING_SIZE 4093 /* a prime, as Maglev's ring */
#define MAX_SERVICES 16
#define MAX_BACKENDS 256
#define HOP_LIMIT 64

struct service_key {
	struct address address;
	__be16 port;
	__u8 protocol;
	__u8 zero;
};

struct service {
	__u32 ring; /* less than MAX_SERVICES */
	__u32 zero;
	__u64 packets;
	struct address local; /* source address of the tunnel */
};

struct backend {
	struct address address;
	struct mac mac; /* of the next hop */
	__u16 used;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SERVICES);
	__type(key, struct service_key);
	__type(value, struct service);
} services SEC(".maps");

/* The index of a backend for each place of each ring. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_SERVICES * RING_SIZE);
	__type(key, __u32);
	__type(value, __u32);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_BACKENDS);
	__type(key, __u32);
	__type(value, struct backend);
} backends SEC(".maps");

static __always_inline __u32 hash_flow(const struct flow *flow)
{
	__u32 hash = mix((__u32)flow->source_port << 16 | flow->destination_port);
	int i;

#pragma unroll
	for (i = 0; i < 4; i++)
		hash = mix(hash ^ flow->source.word[i]);
	return hash;
}

static __always_inline struct backend *choose(struct flow *flow, struct service *service)
{
	__u32 place = service->ring * RING_SIZE + hash_flow(flow) % RING_SIZE;
	__u32 *index = bpf_map_lookup_elem(&rings, &place);

	return index ? bpf_map_lookup_elem(&backends, index) : 0;
}

SEC("xdp")
int ipv6_lb(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct service_key key = {};
	struct service *service;
	struct backend *backend;
	struct flow flow = {};
	struct ethhdr *outer_eth;
	struct ipv6hdr *outer;
	__u16 length;

	if ((void *)(eth + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return XDP_PASS;
	if (parse_flow6(ip, end, &flow) < 0)
		return XDP_PASS;
	length = bpf_ntohs(ip->payload_len);

	key.address = flow.destination;
	key.port = flow.destination_port;
	key.protocol = flow.protocol;
	service = bpf_map_lookup_elem(&services, &key);
	if (!service)
		return XDP_PASS;
	__sync_fetch_and_add(&service->packets, 1);
	backend = choose(&flow, service);
	if (!backend || !backend->used)
		return XDP_DROP;

	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*outer)))
		return XDP_ABORTED;
	end = (void *)(long)ctx->data_end;
	outer_eth = (void *)(long)ctx->data;
	outer = (void *)(outer_eth + 1);
	ip = (void *)(outer + 1);
	eth = (void *)ip - sizeof(*eth);
	if ((void *)(ip + 1) > end)
		return XDP_ABORTED;

	/* The old Ethernet header is where the new IPv6 header will end: read it first. */
	*destination_mac(outer_eth) = *destination_mac(eth);
	outer_eth->h_proto = bpf_htons(ETH_P_IPV6);
	forward_to(outer_eth, backend->mac);

	outer->version = 6;
	outer->priority = ip->priority;
	__builtin_memcpy(outer->flow_lbl, ip->flow_lbl, sizeof(ip->flow_lbl));
	outer->payload_len = bpf_htons(sizeof(*ip) + length);
	outer->nexthdr = IPPROTO_IPV6;
	outer->hop_limit = HOP_LIMIT;
	__builtin_memcpy(&outer->saddr, &service->local, sizeof(outer->saddr));
	__builtin_memcpy(&outer->daddr, &backend->address, sizeof(outer->daddr));
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
