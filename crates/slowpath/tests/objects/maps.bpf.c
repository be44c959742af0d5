/* Programs whose slow paths, with SLOW memory accesses, depend on map helpers. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c maps.bpf.c -o maps.bpf.o
 *   llvm-strip -g maps.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40
#define MAP(name, map_type, entries, flags, value_type)                                            \
	struct {                                                                                   \
		__uint(type, map_type);                                                            \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, flags);                                                          \
		__type(key, __u32);                                                                \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

struct locked {
	struct bpf_spin_lock lock;
	__u32 number;
};

/* Names with another meaning for the lifter. */
MAP(packet, BPF_MAP_TYPE_ARRAY, 4, 0, __u64);
MAP(stack, BPF_MAP_TYPE_ARRAY, 4, 0, __u64);
MAP(fixed, BPF_MAP_TYPE_ARRAY, 4, 0, __u64);
MAP(with_lock, BPF_MAP_TYPE_ARRAY, 4, 0, struct locked);
MAP(allocated, BPF_MAP_TYPE_HASH, 4, BPF_F_NO_PREALLOC, __u64);

/* The loader chooses the size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
} sized_by_loader SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct inner);
} outer SEC(".maps") = {.values = {&first}};

static __always_inline int slow(struct xdp_md *ctx)
{
	int sum = 0;
#pragma unroll
	for (int i = 0; i < SLOW; i++)
		sum += *(volatile __u32 *)&ctx->rx_queue_index;
	return sum;
}

SEC("xdp")
int map_called_packet(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&packet, &key);

	if (!value || data + 8 > end || *value == *(__u64 *)data)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int map_called_stack(struct xdp_md *ctx)
{
	volatile __u64 local = 5;
	__u32 key = 1;
	__u64 *value = bpf_map_lookup_elem(&stack, &key);

	if (!value)
		return XDP_PASS;
	for (key = 0; key < 4; key++) {
		value = bpf_map_lookup_elem(&stack, &key);
		if (value)
			*value = 7;
	}
	if (local != 5)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int found_if_the_loader_says_so(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;

	if (!bpf_map_lookup_elem(&sized_by_loader, &key))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int absent_if_the_loader_says_so(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;

	if (bpf_map_lookup_elem(&sized_by_loader, &key))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int redirected_if_the_loader_says_so(struct xdp_md *ctx)
{
	if (bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS) == XDP_PASS)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int updated_under_lock(struct xdp_md *ctx)
{
	struct locked value = {.number = 7};
	__u32 key = 0;

	if (bpf_map_update_elem(&with_lock, &key, &value, BPF_F_LOCK))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int no_memory_to_replace(struct xdp_md *ctx)
{
	__u32 key = 0;
	__u64 value = 7;

	if (!bpf_map_lookup_elem(&allocated, &key))
		return XDP_PASS;
	if (!bpf_map_update_elem(&allocated, &key, &value, BPF_ANY))
		return XDP_PASS;
	return slow(ctx);
}

struct found {
	__u64 sum, again;
};

static long add(void *map, __u32 *key, __u64 *value, struct found *found)
{
	__u64 *same = bpf_map_lookup_elem(map, key);

	found->sum += *value;
	if (same)
		found->again += *same;
	return 0;
}

/* An iteration over a map and look-ups in it have the same elements. */
SEC("xdp")
int inner_elements(struct xdp_md *ctx)
{
	struct found found = {};
	__u32 key = 0;
	void *map = bpf_map_lookup_elem(&outer, &key);

	if (!map)
		return XDP_PASS;
	bpf_for_each_map_elem(map, add, &found, 0);
	if (found.sum == found.again)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int never_out_of_range(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index & 3;

	if (bpf_map_lookup_elem(&fixed, &key))
		return XDP_PASS;
	return slow(ctx);
}

char _license[] SEC("license") = "MIT";
