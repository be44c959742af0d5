/* First program of a chain over two devices. It sends a packet of 40 bytes with metadata, which
 * begins 100 bytes before the packet that arrived. Bytes 20 to 23 hold the number of the interface
 * of the program. Compiled as chain_first.bpf.c.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int sends(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u32 *meta;

	if (data + 100 > end || data + 101 <= end)
		return XDP_DROP;
	if (bpf_xdp_adjust_head(ctx, -100) || bpf_xdp_adjust_tail(ctx, -160) ||
	    bpf_xdp_adjust_meta(ctx, -4))
		return XDP_ABORTED;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	meta = (void *)(long)ctx->data_meta;
	if (data + 40 > end || (void *)(meta + 1) > data)
		return XDP_ABORTED;
	*meta = 7;
	*(__u32 *)(data + 20) = ctx->ingress_ifindex;
	return XDP_TX;
}

char _license[] SEC("license") = "GPL";
