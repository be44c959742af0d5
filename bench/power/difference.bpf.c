// A program, and the same with a little more: how small a difference `slowpath measure` tells.
// Compiled with -DALU=n (dependent additions and multiplications), -DLOOKUPS=n (of a hash map),
// -DLINES=n (cache lines of an array that are read).

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#ifndef ALU
#define ALU 0
#endif
#ifndef LOOKUPS
#define LOOKUPS 1
#endif
#ifndef LINES
#define LINES 1
#endif

struct line {
	__u64 words[8];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct line);
} lines SEC(".maps");

SEC("xdp")
int difference(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 sum = 0;

	if (data + 16 > end)
		return XDP_PASS;
#pragma clang loop unroll(full)
	for (int i = 0; i < LOOKUPS; i++) {
		__u32 key = *(__u32 *)data + i;
		__u64 *found = bpf_map_lookup_elem(&table, &key);

		if (!found)
			return XDP_DROP;
		sum += *found;
	}
#pragma clang loop unroll(full)
	for (int i = 0; i < LINES; i++) {
		__u32 index = i;
		struct line *found = bpf_map_lookup_elem(&lines, &index);

		if (!found)
			return XDP_DROP;
		sum += *(volatile __u64 *)&found->words[0];
	}
#pragma clang loop unroll(full)
	for (int i = 0; i < ALU; i++)
		asm volatile("%0 *= 3\n%0 += 7" : "+r"(sum));
	*(volatile __u64 *)(data + 8) = sum;
	return XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
