/* A value of an array that another core may change between two reads. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c read_twice.bpf.c -o read_twice.bpf.o
 *   llvm-strip -g read_twice.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps");

/* The program returns XDP_TX only if another core raises the limit between the two reads. */
SEC("xdp")
int twice(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	volatile __u64 *limit;
	__u32 key = 3;

	if (data + 64 > end)
		return XDP_DROP;
	limit = bpf_map_lookup_elem(&limits, &key);
	if (!limit)
		return XDP_DROP;
	if (*limit > 100)
		return XDP_PASS;
	if (*limit > 100) {
		for (int i = 0; i < 62; i++)
			data[i] ^= data[i + 1] * 3;
		return XDP_TX;
	}
	return XDP_DROP;
}

SEC("xdp")
int once(struct xdp_md *ctx)
{
	__u32 key = 3;
	__u64 *limit = bpf_map_lookup_elem(&limits, &key);

	return limit && *limit > 100 ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "GPL";
