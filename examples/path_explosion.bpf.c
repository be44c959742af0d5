/* Made to resist the search for the slowest path: 64 counters, each for one bit of the first 8
 * bytes of the packet, then 64 more if those bytes are all zero.
 *
 * Source: the program of the same name in table 1 of "Determination of Throughput Guarantees for
 * Processor-based SmartNICs" (CoNEXT 2021), written anew from its description.
 *
 * Slowest path, expected: all bits are one, or all are zero, whichever half costs more. 2^64 - 1
 * paths count at least one bit and then find the bytes to be zero. They are slower than both, or
 * nearly all of them are, but none can be taken: each is refuted by one pair of branches, a bit
 * that is one and a value that is zero.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define BITS 64

struct counters {
	__u64 one[BITS];
	__u64 zero[BITS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

SEC("xdp")
int path_explosion(struct xdp_md *ctx)
{
	__u64 *bits = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct counters *counter;
	__u32 key = 0;
	__u64 value;
	int i;

	if ((void *)(bits + 1) > end)
		return XDP_ABORTED;
	value = *bits;
	counter = bpf_map_lookup_elem(&counters, &key);
	if (!counter)
		return XDP_ABORTED;

#pragma unroll
	for (i = 0; i < BITS; i++)
		if (value & 1ULL << i)
			__sync_fetch_and_add(&counter->one[i], 1);

	if (value == 0) {
#pragma unroll
		for (i = 0; i < BITS; i++)
			__sync_fetch_and_add(&counter->zero[i], 1);
	}
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
