/* Programs that call others last: by an array that the object fills, and by one that steps.toml does.
 * What ran is in the packet. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

int again(struct xdp_md *ctx);
int done(struct xdp_md *ctx);
int mark(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 6);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} steps SEC(".maps") = { .values = { [0] = (void *)&done, [2] = (void *)&again, [3] = (void *)&mark } };

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} later SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} ran SEC(".maps");

static __always_inline __u8 *noted(struct xdp_md *ctx, __u32 which)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 *often = bpf_map_lookup_elem(&ran, &which);

	if (often)
		++*often;
	return data + 24 > end ? 0 : data;
}

/* Until it may call no more. */
SEC("xdp")
int again(struct xdp_md *ctx)
{
	__u8 *data = noted(ctx, 1);

	if (!data)
		return XDP_DROP;
	data[16]++;
	bpf_tail_call(ctx, &steps, 2);
	return XDP_TX;
}

SEC("xdp")
int done(struct xdp_md *ctx)
{
	__u8 *data = noted(ctx, 2);

	if (!data)
		return XDP_DROP;
	data[17]++;
	return XDP_PASS;
}

/* Where the other array has nothing, it goes on behind the call. */
SEC("xdp")
int mark(struct xdp_md *ctx)
{
	__u8 *data = noted(ctx, 3);

	if (!data)
		return XDP_DROP;
	data[18] = 0xa5;
	bpf_tail_call(ctx, &later, data[15] & 7);
	data = noted(ctx, 3);
	if (data)
		data[19] = 0x5a;
	return XDP_DROP;
}

SEC("xdp")
int first(struct xdp_md *ctx)
{
	__u8 *data = noted(ctx, 0);

	if (!data)
		return XDP_PASS;
	bpf_tail_call(ctx, &steps, data[14] & 7);
	data = noted(ctx, 0);
	if (!data)
		return XDP_ABORTED;
	data[20] = 0xff;
	return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "GPL";
