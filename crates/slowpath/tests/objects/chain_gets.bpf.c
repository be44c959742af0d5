/* Second program of a chain over two devices. The number of its memory accesses shows its possible
 * inputs: metadata, another interface than in bytes 20 to 23, a packet of more than 40 bytes, and
 * room for 200 bytes in front of the packet. Compiled as chain_first.bpf.c.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

static __always_inline int slow(volatile unsigned char *data, int accesses)
{
	int sum = 0;

#pragma unroll
	for (int i = 0; i < accesses; i++)
		sum += data[i & 31];
	return sum;
}

SEC("xdp")
int gets(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	void *meta = (void *)(long)ctx->data_meta;
	int sum = 0;

	if (data + 40 > end)
		return XDP_ABORTED;
	if (meta + 4 <= data)
		sum += slow(data, 20);
	if (*(__u32 *)(data + 20) != ctx->ingress_ifindex)
		sum += slow(data, 40);
	if (data + 41 <= end)
		sum += slow(data, 80);
	if (!bpf_xdp_adjust_head(ctx, -200)) {
		data = (void *)(long)ctx->data;
		end = (void *)(long)ctx->data_end;
		if (data + 240 > end)
			return XDP_ABORTED;
		sum += slow(data, 160);
	}
	return sum & 1 ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "GPL";
