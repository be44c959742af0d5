/* Programs that change headroom or metadata, and programs that depend on them. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c around.bpf.c -o around.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "packet.h"

/* Uses 32 bytes of the headroom; drops packets without enough headroom. */
SEC("xdp")
int shifts(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, -32))
		return XDP_DROP;
	PACKET(ctx, 14)
	data[12] = 0xaa;
	return XDP_PASS;
}

/* Like `shifts`, but also lets packets pass that have too little headroom. */
SEC("xdp")
int grows(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, -32))
		return XDP_PASS;
	PACKET(ctx, 14)
	data[12] = 0xaa;
	return XDP_PASS;
}

/* Moves the start of some packets only. */
SEC("xdp")
int shifts_some(struct xdp_md *ctx)
{
	PACKET(ctx, 64)
	if (data[12] == 8 && bpf_xdp_adjust_head(ctx, -32))
		return XDP_DROP;
	return XDP_PASS;
}

/* Adds metadata of 4 or 8 bytes. */
SEC("xdp")
int marks(struct xdp_md *ctx)
{
	PACKET(ctx, 64)
	if (bpf_xdp_adjust_meta(ctx, data[12] == 8 ? -4 : -8))
		return XDP_DROP;
	return XDP_PASS;
}

/* Changes neither headroom nor metadata. */
SEC("xdp")
int passes(struct xdp_md *ctx)
{
	PACKET(ctx, 64)
	return XDP_PASS;
}

#define OUTWARDS(name, bytes)                                                                      \
	SEC("xdp")                                                                                 \
	int name(struct xdp_md *ctx)                                                               \
	{                                                                                          \
		if (bpf_xdp_adjust_head(ctx, -(bytes)))                                            \
			return XDP_ABORTED;                                                        \
		PACKET(ctx, 14)                                                                    \
		data[0] = 1;                                                                       \
		return XDP_TX;                                                                     \
	}

/* Use all the headroom that is left after one of the programs above, or one byte more. */
OUTWARDS(takes_184, 184)
OUTWARDS(takes_185, 185)
OUTWARDS(takes_208, 208)
OUTWARDS(takes_209, 209)
OUTWARDS(takes_216, 216)

/* Shortens packets at both ends, if they are long enough. */
SEC("xdp")
int trims(struct xdp_md *ctx)
{
	PACKET(ctx, 64)
	if (data[63])
		return XDP_DROP;
	if (bpf_xdp_adjust_head(ctx, 34))
		return XDP_ABORTED;
	if (bpf_xdp_adjust_tail(ctx, -16))
		return XDP_ABORTED;
	return XDP_TX;
}

/* Drops packets with metadata, and lets all others pass. */
SEC("xdp")
int told(struct xdp_md *ctx)
{
	__u8 *data = (__u8 *)(long)ctx->data;
	__u8 *meta = (__u8 *)(long)ctx->data_meta;

	return meta + 4 > data ? XDP_PASS : XDP_DROP;
}

/* Does the same as `told` for packets without metadata. */
SEC("xdp")
int untold(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
