// Code in .text only, without section names: the parameter tells the type of program.
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
