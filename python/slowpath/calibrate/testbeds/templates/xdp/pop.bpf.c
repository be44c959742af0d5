//@ include head.h

static long (*const adjust_head)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_head;

SEC("xdp")
int program(struct xdp_md *ctx)
{
//@ include start.h
//@ if component
//@ repeat headers as h
	if (adjust_head(ctx, ${header_bytes}))
		return XDP_ABORTED;
//@ end
//@ end
	return XDP_PASS;
}
//@ include foot.h
