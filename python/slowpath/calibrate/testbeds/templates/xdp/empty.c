//@ include head.h

SEC("xdp")
int program(struct xdp_md *ctx)
{
	return XDP_PASS;
}
//@ include foot.h
