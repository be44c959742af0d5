// Bytes of packets that come, go and come back: sequences of calls that the packet itself chooses,
// one in each of its first words. Results go to the map `out`. Compiled as helpers.bpf.c.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct input {
	__u64 w[8];
};

struct results {
	__u64 w[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct results);
} out SEC(".maps");

static __always_inline void put(int n, __u64 value)
{
	__u32 zero = 0;
	struct results *results = bpf_map_lookup_elem(&out, &zero);

	if (results)
		results->w[n] = value;
}

/* A copy of the words: calls move the packet. */
static __always_inline int arguments(struct xdp_md *ctx, struct input *in)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + sizeof(*in) > end)
		return -1;
	*in = *(struct input *)data;
	return 0;
}

/* Writes at the start of the packet and of its metadata. */
static __always_inline void mark(struct xdp_md *ctx, __u64 value)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *meta = (void *)(long)ctx->data_meta;

	if (data + 8 <= end)
		*(__u64 *)data = value;
	if (meta + 4 <= data)
		*(__u32 *)meta = ~value;
}

/* The bytes behind the 64 that every packet here begins with. */
static __always_inline __u64 peek(struct xdp_md *ctx, __u64 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	data += at & 255;
	return data + 8 <= end ? *(__u64 *)data : 77;
}

/* A call: bits 0 to 3 of the word say which, bits 16 to 31 how far. */
static __always_inline void call(struct xdp_md *ctx, __u64 word, int n)
{
	__s32 far = (__s16)(word >> 16);
	__u64 value = word;

	switch (word & 15) {
	case 0:
	case 1:
		put(2 * n, bpf_xdp_adjust_head(ctx, far));
		break;
	case 2:
	case 3:
	case 4:
		put(2 * n, bpf_xdp_adjust_tail(ctx, far));
		break;
	case 5:
	case 6:
		put(2 * n, bpf_xdp_adjust_meta(ctx, far));
		break;
	case 7:
		put(2 * n, bpf_xdp_load_bytes(ctx, far, &value, 8));
		break;
	case 8:
		put(2 * n, bpf_xdp_store_bytes(ctx, far, &value, 8));
		break;
	case 9:
		put(2 * n, bpf_xdp_adjust_tail(ctx, -40));
		break;
	case 10:
		put(2 * n, bpf_xdp_adjust_tail(ctx, 33));
		break;
	case 11:
		put(2 * n, bpf_xdp_adjust_head(ctx, 14));
		break;
	case 12:
		put(2 * n, bpf_xdp_adjust_head(ctx, -12));
		break;
	case 13:
		put(2 * n, bpf_xdp_adjust_meta(ctx, -8));
		break;
	case 14:
		put(2 * n, bpf_xdp_get_buff_len(ctx));
		break;
	default:
		mark(ctx, word);
	}
	put(2 * n + 1, value ^ peek(ctx, word >> 32));
}

SEC("xdp") int five_calls(struct xdp_md *ctx)
{
	struct input in;

	if (arguments(ctx, &in))
		return XDP_DROP;
	call(ctx, in.w[0], 0);
	call(ctx, in.w[1], 1);
	call(ctx, in.w[2], 2);
	call(ctx, in.w[3], 3);
	call(ctx, in.w[4], 4);
	put(10, peek(ctx, in.w[5]));
	return XDP_TX;
}

/* The end that a packet had before is filled with zeros when it comes back. */
SEC("xdp") int tail_and_back(struct xdp_md *ctx)
{
	struct input in;

	if (arguments(ctx, &in))
		return XDP_DROP;
	put(0, bpf_xdp_adjust_tail(ctx, -(__s32)(in.w[0] & 63)));
	put(1, bpf_xdp_adjust_tail(ctx, in.w[1] & 127));
	put(2, peek(ctx, in.w[2]));
	put(3, peek(ctx, in.w[3]));
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
