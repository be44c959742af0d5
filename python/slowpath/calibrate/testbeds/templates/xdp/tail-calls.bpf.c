//@ include head.h

static long (*const tail_call)(void *ctx, void *programs, __u32 at) = (void *)BPF_FUNC_tail_call;
//@ if component

//@ repeat calls as i
int step${i}(struct xdp_md *ctx);
//@ end

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, ${calls});
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} chain SEC(".maps") = {
	.values = {
//@ repeat calls as i
		[${i}] = (void *)&step${i},
//@ end
	},
};

/* The tail call after the last program finds no program. */
//@ repeat calls as i
SEC("xdp")
int step${i}(struct xdp_md *ctx)
{
	if (${i} + 1 < ${calls})
		tail_call(ctx, &chain, ${i} + 1);
	return XDP_PASS;
}

//@ end
//@ end
SEC("xdp")
int program(struct xdp_md *ctx)
{
//@ include start.h
//@ if component
	tail_call(ctx, &chain, 0);
	return XDP_ABORTED;
//@ else
	return XDP_PASS;
//@ end
}
//@ include foot.h
