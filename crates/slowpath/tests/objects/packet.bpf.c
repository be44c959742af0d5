/* Programs whose slow way, SLOW accesses of memory, depends on what becomes of the packet's bytes.
 * Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c packet.bpf.c -o packet.bpf.o
 *   llvm-strip -g packet.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40

static __always_inline int slow(struct xdp_md *ctx)
{
	int sum = 0;

	for (int i = 0; i < SLOW; i++)
		sum += *(volatile __u32 *)&ctx->rx_queue_index;
	return sum;
}

/* The byte at an offset, or -1 behind the end. */
static __always_inline int byte(struct xdp_md *ctx, int at)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return data + at + 1 <= end ? data[at] : -1;
}

/* Packets have 60 bytes here. */
#define PROGRAM(name)                                                                              \
	static __always_inline int name##_condition(struct xdp_md *ctx);                           \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		return byte(ctx, 59) >= 0 && name##_condition(ctx) ? slow(ctx) : XDP_PASS;         \
	}                                                                                          \
	static __always_inline int name##_condition(struct xdp_md *ctx)

/* Cut off, appended again: cleared. */
PROGRAM(cleared)
{
	int n = byte(ctx, 0) & 31, before = byte(ctx, 59);
	if (before <= 0 || bpf_xdp_adjust_tail(ctx, -n) || bpf_xdp_adjust_tail(ctx, n))
		return 0;
	return byte(ctx, 59) == 0;
}

PROGRAM(not_cleared)
{
	int n = byte(ctx, 0) & 31;
	if (bpf_xdp_adjust_tail(ctx, -n) || bpf_xdp_adjust_tail(ctx, n))
		return 0;
	return byte(ctx, 59) == 0x47;
}

/* All that were cut off are. */
PROGRAM(never_kept)
{
	int n = byte(ctx, 0);
	if (n < 1 || n > 31 || byte(ctx, 60) >= 0)
		return 0;
	if (bpf_xdp_adjust_tail(ctx, -n) || bpf_xdp_adjust_tail(ctx, 2 * n))
		return 0;
	return byte(ctx, 59) != 0 || byte(ctx, 60) != 0;
}

PROGRAM(never_cleared_too_early)
{
	int n = byte(ctx, 0) & 31, before = byte(ctx, 28);
	if (bpf_xdp_adjust_tail(ctx, -n) || bpf_xdp_adjust_tail(ctx, n))
		return 0;
	return byte(ctx, 28) != before;
}

PROGRAM(never_cleared_by_a_failed_call)
{
	int n = byte(ctx, 0), before = byte(ctx, 59);
	if (n < 0 || bpf_xdp_adjust_tail(ctx, 3461 + n) == 0)
		return 0;
	return byte(ctx, 59) != before;
}

/* 3520 bytes at most. */
PROGRAM(longest)
{
	return bpf_xdp_adjust_tail(ctx, 2020) == 0;
}

PROGRAM(never_longer)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	int n = byte(ctx, 1) | byte(ctx, 0) << 8;
	if (data + 60 > end || bpf_xdp_adjust_tail(ctx, n))
		return 0;
	return n > 3460;
}

/* The head is kept. */
PROGRAM(never_lost_in_front)
{
	int n = byte(ctx, 0) & 31, before = byte(ctx, 3);
	if (bpf_xdp_adjust_head(ctx, n) || bpf_xdp_adjust_head(ctx, -n))
		return 0;
	return byte(ctx, 3) != before;
}

PROGRAM(in_front)
{
	int n = byte(ctx, 0) & 7;
	if (bpf_xdp_adjust_head(ctx, -n))
		return 0;
	return byte(ctx, 0) == 0x47 && byte(ctx, 1) == 0x11;
}

/* Metadata moves with the head. */
PROGRAM(metadata_moves)
{
	int n = byte(ctx, 0) & 15;
	__u32 *meta;
	if (n < 8 || bpf_xdp_adjust_meta(ctx, -4))
		return 0;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return 0;
	*meta = 0x12345678;
	if (bpf_xdp_adjust_head(ctx, n))
		return 0;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data || *meta != 0x12345678)
		return 0;
	/* It lies over what the packet began with. */
	return bpf_xdp_adjust_meta(ctx, 4) == 0 && bpf_xdp_adjust_head(ctx, -4) == 0 &&
	       byte(ctx, 3) == 0x12;
}

PROGRAM(metadata_never_changes)
{
	int n = byte(ctx, 0) & 12;
	__u32 *meta;
	if (bpf_xdp_adjust_meta(ctx, -16))
		return 0;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 4) > (void *)(long)ctx->data)
		return 0;
	meta[1] = 0x12345678;
	if (bpf_xdp_adjust_meta(ctx, n) || bpf_xdp_adjust_meta(ctx, -n))
		return 0;
	meta = (void *)(long)ctx->data_meta;
	return (void *)(meta + 4) <= (void *)(long)ctx->data && meta[1] != 0x12345678;
}

char LICENSE[] SEC("license") = "GPL";
