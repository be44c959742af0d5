/* Longest-prefix-match tries with few entries. The number of memory accesses shows if the slow path
 * is possible. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c tries.bpf.c -o tries.bpf.o
 *   llvm-strip -g tries.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40

struct prefix {
	__u32 bits, address;
};

#define TRIE(name, entries)                                                                        \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_LPM_TRIE);                                               \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, struct prefix);                                                        \
		__type(value, __u64);                                                              \
	} name SEC(".maps")

TRIE(one, 1);
TRIE(two, 2);

static __attribute__((noinline)) int slow(struct xdp_md *ctx)
{
#pragma unroll
	for (int i = 0; i < SLOW; i++)
		*(volatile __u32 *)&ctx->rx_queue_index;
	return XDP_DROP;
}

static __always_inline __u64 find(void *trie, __u32 bits, __u32 address)
{
	struct prefix key = {bits, address};
	__u64 *value = bpf_map_lookup_elem(trie, &key);

	return value ? *value : 0;
}

#define NETWORK __builtin_bswap32(0x0a000000)
#define HOST __builtin_bswap32(0x0a000001)
#define NEIGHBOUR __builtin_bswap32(0x0a000002)

SEC("xdp")
int two_prefixes_in_one(struct xdp_md *ctx)
{
	__u64 host = find(&one, 32, HOST), neighbour = find(&one, 32, NEIGHBOUR);

	if (!host || !neighbour || host == neighbour)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int one_prefix_for_two(struct xdp_md *ctx)
{
	__u64 host = find(&one, 32, HOST), neighbour = find(&one, 32, NEIGHBOUR);

	if (!host || host != neighbour)
		return XDP_PASS;
	return slow(ctx);
}

/* Without room for the host, a look-up of the host finds its network. */
SEC("xdp")
int host_missed_in_the_only_network(struct xdp_md *ctx)
{
	__u64 network = find(&one, 8, NETWORK), host = find(&one, 32, HOST);

	if (!network || host == network)
		return XDP_PASS;
	return slow(ctx);
}

/* The program has no other look-up. */
SEC("xdp")
int only_too_long_a_prefix(struct xdp_md *ctx)
{
	if (!find(&one, 33, HOST))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int two_prefixes_in_two(struct xdp_md *ctx)
{
	__u64 host = find(&two, 32, HOST), neighbour = find(&two, 32, NEIGHBOUR);

	if (!host || !neighbour || host == neighbour)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int three_prefixes_in_two(struct xdp_md *ctx)
{
	__u64 host = find(&two, 32, HOST), neighbour = find(&two, 32, NEIGHBOUR);
	__u64 network = find(&two, 8, NETWORK);

	if (!host || !neighbour || !network)
		return XDP_PASS;
	if (host == neighbour || host == network || neighbour == network)
		return XDP_PASS;
	return slow(ctx);
}
