//@ include head.h

static __attribute__((noinline)) __u64 step(__u64 value)
{
	forget(value);
	return value + 1;
}

SEC("xdp")
int program(struct xdp_md *ctx)
{
	__u64 value = 0;
//@ include start.h
	value = step(value);
//@ if component
//@ repeat calls as i
	value = step(value);
//@ end
//@ end
	keep(value);
	return XDP_PASS;
}
//@ include foot.h
