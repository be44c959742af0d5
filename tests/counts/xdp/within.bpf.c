/* Programs that functions call last: who called the function gets what they return. What ran is in the
 * packet. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

int other(struct xdp_md *ctx);
int deeper(struct xdp_md *ctx);
int fixed(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 5);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} jumps SEC(".maps") = { .values = { [0] = (void *)&other, [1] = (void *)&deeper, [3] = (void *)&fixed } };

static __always_inline __u8 *bytes(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return data + 24 > end ? 0 : data;
}

/* 40 to 47 where there is no program. */
static __noinline int inside(struct xdp_md *ctx, __u32 which, __u8 *seen)
{
	__u32 left = 40 + which;

	++*seen;
	bpf_tail_call(ctx, &jumps, which);
	++*seen;
	asm volatile("" : "+r"(left));
	return left;
}

__noinline int beside(struct xdp_md *ctx)
{
	__u8 *data = bytes(ctx);
	int left = 9;

	if (data)
		bpf_tail_call(ctx, &jumps, data[16] & 3);
	asm volatile("" : "+r"(left));
	return left;
}

SEC("xdp")
int other(struct xdp_md *ctx)
{
	__u8 *data = bytes(ctx);

	if (!data)
		return XDP_DROP;
	data[17]++;
	return XDP_TX;
}

/* Comes back to itself, or to what it was called for. */
SEC("xdp")
int deeper(struct xdp_md *ctx)
{
	__u8 *data = bytes(ctx), seen = 0;
	int got;

	if (!data)
		return XDP_DROP;
	data[18]++;
	got = inside(ctx, data[15] & 7, &seen);
	data = bytes(ctx);
	if (!data)
		return XDP_DROP;
	data[19] += got;
	data[20] += seen;
	return got & 3;
}

SEC("xdp")
int fixed(struct xdp_md *ctx)
{
	__u8 *data = bytes(ctx);

	if (!data)
		return XDP_DROP;
	data[21]++;
	bpf_tail_call_static(ctx, &jumps, 0);
	return XDP_ABORTED;
}

SEC("xdp")
int first(struct xdp_md *ctx)
{
	__u8 *data = bytes(ctx), seen = 0;
	int got, more;

	if (!data)
		return XDP_PASS;
	got = inside(ctx, data[14] & 7, &seen);
	more = beside(ctx);
	data = bytes(ctx);
	if (!data)
		return XDP_ABORTED;
	data[22] = got;
	data[23] = more + seen;
	return (got + more) & 3;
}

char LICENSE[] SEC("license") = "GPL";
