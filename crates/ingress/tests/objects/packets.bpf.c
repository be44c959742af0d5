/* Programs that change packets, for tests of undoing these changes. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u64);
} sources SEC(".maps");

struct headers {
	struct ethhdr eth;
	struct iphdr ip;
} __attribute__((packed));

static __always_inline struct headers *headers(struct xdp_md *ctx)
{
	struct headers *found = (void *)(long)ctx->data;

	return (void *)(found + 1) > (void *)(long)ctx->data_end ? 0 : found;
}

/* Counts packets by their source; drops those whose checksum is wrong. */
SEC("xdp")
int counts(struct xdp_md *ctx)
{
	struct headers *h = headers(ctx);
	__u16 *words = (void *)h + sizeof(struct ethhdr);
	__u64 one = 1, *count;
	__u32 sum = 0;

	if (!h)
		return XDP_ABORTED;
	for (int at = 0; at < 10; at++)
		sum += words[at];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	if (sum != 0xffff)
		return XDP_DROP;
	count = bpf_map_lookup_elem(&sources, &h->ip.saddr);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&sources, &h->ip.saddr, &one, BPF_ANY);
	h->ip.ttl -= 1;
	return XDP_PASS;
}

/* Inserts another IPv4 header before the packet, with the same source as the inner one. */
SEC("xdp")
int encapsulates(struct xdp_md *ctx)
{
	struct headers *inner = headers(ctx), *outer;
	struct headers copy;

	if (!inner)
		return XDP_ABORTED;
	copy = *inner;
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct iphdr)))
		return XDP_DROP;
	outer = headers(ctx);
	if (!outer)
		return XDP_ABORTED;
	copy.ip.protocol = 4;
	*outer = copy;
	return XDP_TX;
}

/* Removes the first header. */
SEC("xdp")
int decapsulates(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, sizeof(struct iphdr)) ? XDP_DROP : XDP_PASS;
}

/* Removes the last bytes. */
SEC("xdp")
int cuts(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_tail(ctx, -8) ? XDP_DROP : XDP_PASS;
}

/* Appends bytes to the packets of half of the flows. */
SEC("xdp")
int grows_some(struct xdp_md *ctx)
{
	struct headers *h = headers(ctx);

	if (h && (h->ip.saddr & 1))
		bpf_xdp_adjust_head(ctx, -8);
	return XDP_PASS;
}

/* Sets a random time to live. */
SEC("xdp")
int draws(struct xdp_md *ctx)
{
	struct headers *h = headers(ctx);

	if (h)
		h->ip.ttl = bpf_get_prandom_u32();
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
