// Code in .text only: without a section name, the parameter determines the program type.
#include "bpf.h"

static __noinline int helper(u32 x)
{
	volatile u32 y = x;

	return y * 3;
}

int entry(struct xdp_md *ctx)
{
	return helper(ctx->rx_queue_index);
}

int unclear(void *ctx)
{
	return 2;
}
