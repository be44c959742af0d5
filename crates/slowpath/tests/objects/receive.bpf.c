/* Programs whose slow paths, with SLOW memory accesses, depend on the way in which packets arrive.
 * Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c receive.bpf.c -o receive.bpf.o
 *   llvm-strip -g receive.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40
#define ENOTSUPP 524

static __always_inline int slow(struct xdp_md *ctx)
{
	int sum = 0;

	for (int i = 0; i < SLOW; i++)
		sum += *(volatile __u32 *)&ctx->rx_queue_index;
	return sum;
}

static __always_inline int longer(struct xdp_md *ctx, int bytes)
{
	return (void *)(long)ctx->data + bytes <= (void *)(long)ctx->data_end;
}

SEC("xdp")
int tail_is_full(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_tail(ctx, 1000) ? slow(ctx) : 2;
}

SEC("xdp")
int head_is_full(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -200) ? slow(ctx) : 2;
}

SEC("xdp")
int metadata_is_there(struct xdp_md *ctx)
{
	return ctx->data_meta != ctx->data ? slow(ctx) : 2;
}

SEC("xdp")
int metadata_is_known(struct xdp_md *ctx)
{
	__u32 *meta = (void *)(long)ctx->data_meta;

	return (void *)(meta + 1) <= (void *)(long)ctx->data && *meta == 0x12345678 ? slow(ctx) : 2;
}

SEC("xdp")
int metadata_is_refused(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_meta(ctx, -4) == -ENOTSUPP ? slow(ctx) : 2;
}

SEC("xdp")
int longer_than_a_page(struct xdp_md *ctx)
{
	return longer(ctx, 5000) ? slow(ctx) : 2;
}

SEC("xdp")
int shorter_than_a_header(struct xdp_md *ctx)
{
	return longer(ctx, 14) ? 2 : slow(ctx);
}

SEC("xdp")
int cut_far(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, 20000) ? 2 : slow(ctx);
}

SEC("xdp")
int grown_far(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_tail(ctx, 10000) ? 2 : slow(ctx);
}

SEC("xdp")
int never_full_again(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_tail(ctx, 8) || bpf_xdp_adjust_tail(ctx, -8))
		return 2;
	return bpf_xdp_adjust_tail(ctx, 8) ? slow(ctx) : 2;
}

SEC("xdp")
int never_refused_inwards(struct xdp_md *ctx)
{
	if (!longer(ctx, 60))
		return 2;
	return bpf_xdp_adjust_head(ctx, 4) || bpf_xdp_adjust_tail(ctx, -4) ? slow(ctx) : 2;
}

SEC("xdp")
int never_both_ends(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, 40))
		return 2;
	return bpf_xdp_adjust_head(ctx, -40) ? slow(ctx) : 2;
}

char _license[] SEC("license") = "GPL";
