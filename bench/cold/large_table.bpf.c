/* Tables that are larger than last-level caches, one program each: every packet looks its flow up,
 * counts it there, and passes.
 *
 * Not here: what to do with unknown flows; the table is filled by whoever measures. Fields are
 * checked no further than it takes to read them.
 *
 * Expected: a look-up that finds what the caches do not have waits for memory. That of a hash map
 * follows the head of a chain and an element, one after the other; that of an array finds its place
 * by itself; that of a trie waits at each level.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define FLOWS (1 << 21)

struct flow {
	__be32 source, destination;
	__be16 source_port, destination_port;
	__u8 protocol;
	__u8 zero[3]; /* padding is part of the key */
};

struct counters {
	__u64 packets;
	__u64 bytes;
};

/* A line of the caches for each flow. */
struct line {
	struct counters counters;
	__u64 more[6];
};

struct prefix {
	__u32 bits;
	__be32 address;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FLOWS);
	__type(key, struct flow);
	__type(value, struct counters);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOWS / 2);
	__type(key, __u32);
	__type(value, struct line);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, FLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct counters);
} prefixes SEC(".maps");

struct headers {
	struct ethhdr ethernet;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

/* The headers of a UDP packet over IPv4 without options; NULL of another one. */
static __always_inline struct headers *parse(struct xdp_md *ctx)
{
	struct headers *headers = (void *)(long)ctx->data;

	if ((void *)(headers + 1) > (void *)(long)ctx->data_end)
		return NULL;
	if (headers->ethernet.h_proto != bpf_htons(ETH_P_IP) || headers->ip.version != 4 ||
	    headers->ip.ihl != 5 || headers->ip.protocol != IPPROTO_UDP)
		return NULL;
	return headers;
}

static __always_inline int counted(struct xdp_md *ctx, struct counters *counters)
{
	if (!counters)
		return XDP_DROP;
	counters->packets++;
	counters->bytes += ctx->data_end - ctx->data;
	return XDP_PASS;
}

SEC("xdp")
int hash(struct xdp_md *ctx)
{
	struct headers *headers = parse(ctx);
	struct flow flow = {};

	if (!headers)
		return XDP_PASS;
	flow.source = headers->ip.saddr;
	flow.destination = headers->ip.daddr;
	flow.source_port = headers->udp.source;
	flow.destination_port = headers->udp.dest;
	flow.protocol = headers->ip.protocol;
	return counted(ctx, bpf_map_lookup_elem(&flows, &flow));
}

SEC("xdp")
int array(struct xdp_md *ctx)
{
	struct headers *headers = parse(ctx);
	struct line *line;
	__u32 place;

	if (!headers)
		return XDP_PASS;
	place = bpf_ntohl(headers->ip.saddr) % (FLOWS / 2);
	line = bpf_map_lookup_elem(&places, &place);
	return counted(ctx, line ? &line->counters : NULL);
}

SEC("xdp")
int trie(struct xdp_md *ctx)
{
	struct headers *headers = parse(ctx);
	struct prefix prefix = { .bits = 32 };

	if (!headers)
		return XDP_PASS;
	prefix.address = headers->ip.saddr;
	return counted(ctx, bpf_map_lookup_elem(&prefixes, &prefix));
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
