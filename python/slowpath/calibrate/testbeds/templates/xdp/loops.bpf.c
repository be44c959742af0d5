//@ include head.h

static long (*const loop)(__u32 turns, void *step, void *ctx, __u64 flags) = (void *)BPF_FUNC_loop;

static long step(__u32 i, __u64 *sum)
{
	*sum += i;
	return 0;
}

SEC("xdp")
int program(struct xdp_md *ctx)
{
	__u64 sum = 0;
//@ include start.h
//@ if component
//@ if method == loop
	for (__u32 i = 0; i < ${turns}; i++) {
		sum += i;
		forget(sum);
	}
//@ else
	loop(${turns}, step, &sum, 0);
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
