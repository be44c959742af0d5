/* Programs that take their arguments from the first words of the packet and leave their results in
 * the map `out`. */

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

/* Copies the arguments, because later calls can move the packet. */
static __always_inline int arguments(struct xdp_md *ctx, struct input *in)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + sizeof(*in) > end)
		return -1;
	*in = *(struct input *)data;
	return 0;
}

static __always_inline void put(int n, __u64 value)
{
	__u32 zero = 0;
	struct results *results = bpf_map_lookup_elem(&out, &zero);

	if (results)
		results->w[n] = value;
}

#define PROGRAM(name)                                                                              \
	static __always_inline int name##_body(struct xdp_md *ctx, __u64 *w);                      \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		struct input in;                                                                   \
		if (arguments(ctx, &in))                                                           \
			return XDP_DROP;                                                           \
		return name##_body(ctx, in.w);                                                     \
	}                                                                                          \
	static __always_inline int name##_body(struct xdp_md *ctx, __u64 *w)
