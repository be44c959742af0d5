/* Second program of a chain. It is slow for IPv4, slower if the element of its array is zero, and
 * slowest if byte 20 of the packet is zero. Compiled as chain_first.bpf.c.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

static __always_inline int slow(volatile unsigned char *data, int accesses)
{
	int sum = 0;

#pragma unroll
	for (int i = 0; i < accesses; i++)
		sum += data[i & 31];
	return sum;
}

SEC("xdp")
int second(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u32 key = 0;
	__u64 *value;

	if (data + 34 > (unsigned char *)end)
		return XDP_ABORTED;
	if (data[12] == 0x08 && data[13] == 0x00)
		return slow(data, 40) ? XDP_PASS : XDP_DROP;
	if (!data[20])
		return slow(data, 160) ? XDP_PASS : XDP_DROP;
	value = bpf_map_lookup_elem(&seen, &key);
	if (value && !*value)
		return slow(data, 80) ? XDP_PASS : XDP_DROP;
	return XDP_TX;
}

char _license[] SEC("license") = "GPL";
