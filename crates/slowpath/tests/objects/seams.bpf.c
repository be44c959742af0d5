/* Programs that combine two features: a pointer that a function returns and an update, callbacks in
 * callbacks, instructions that replace a call in the verifier, elements of each CPU, inner maps of
 * different sizes, and stack frames that reuse earlier ones. The number of memory accesses shows if
 * the slow path is possible. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c seams.bpf.c -o seams.bpf.o
 *   llvm-strip -g seams.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40
#define OPAQUE(pointer) asm volatile("" : : "r"(pointer) : "memory")
#define MAP(name, map_type, entries, flags)                                                        \
	struct {                                                                                   \
		__uint(type, map_type);                                                            \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, flags);                                                          \
		__type(key, __u32);                                                                \
		__type(value, __u64);                                                              \
	} name SEC(".maps")

MAP(table, BPF_MAP_TYPE_HASH, 64, 0);
MAP(plain, BPF_MAP_TYPE_ARRAY, 4, 0);
MAP(apart, BPF_MAP_TYPE_LRU_HASH, 1, BPF_F_NO_COMMON_LRU);
MAP(common, BPF_MAP_TYPE_LRU_HASH, 1, 0);
MAP(counters, BPF_MAP_TYPE_PERCPU_HASH, 4, 0);

struct inner {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} larger SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct inner);
} outer SEC(".maps") = {.values = {(void *)&larger}};

static __attribute__((noinline)) int slow(struct xdp_md *ctx)
{
#pragma unroll
	for (int i = 0; i < SLOW; i++)
		*(volatile __u32 *)&ctx->rx_queue_index;
	return XDP_DROP;
}

struct holder {
	__u64 number;
	void *pointer;
};

static __attribute__((noinline)) void *held(struct holder *holder)
{
	return holder->pointer;
}

/* A function returns the pointer. On another path, its place holds a pointer to the stack. */
SEC("xdp") int old_pointer_returned(struct xdp_md *ctx)
{
	struct holder holder;
	__u32 key = 1;
	__u64 new = 7, other = 1;
	__u64 *value = bpf_map_lookup_elem(&table, &key);

	if (!value || *value != 3)
		return XDP_PASS;
	__u32 queue = *(volatile __u32 *)&ctx->rx_queue_index;
	OPAQUE(&holder);
	OPAQUE(&other);
	if (queue < 3)
		holder.pointer = value;
	else
		holder.pointer = &other;
	OPAQUE(&holder);
	if (bpf_map_update_elem(&table, &key, &new, 0) || queue >= 3)
		return XDP_PASS;
	volatile __u64 *old = held(&holder);
	return *old == 3 ? slow(ctx) : XDP_PASS;
}

static long nothing(void *map, __u32 *key, __u64 *value, void *context)
{
	return 0;
}

static long first_key(void *map, __u32 *key, __u64 *value, int *found)
{
	bpf_for_each_map_elem(&plain, nothing, 0, 0);
	if (*(volatile __u32 *)key == 0)
		*found = 1;
	return 0;
}

SEC("xdp") int key_of_the_outer_round(struct xdp_md *ctx)
{
	int found = 0;

	bpf_for_each_map_elem(&plain, first_key, &found, 0);
	return found ? slow(ctx) : XDP_PASS;
}

static long once(__u64 round, void *context)
{
	return 1;
}

/* bpf_loop, declared with all 64 bits of the number of iterations. */
static long (*loop)(__u64 rounds, void *callback, void *context, __u64 flags) = (void *)181;

SEC("xdp") int too_many_rounds_inline(struct xdp_md *ctx)
{
	return loop(0x1000000, once, 0, 0) == 0xfffffff9 ? slow(ctx) : XDP_PASS;
}

SEC("xdp") int no_negative_error_inline(struct xdp_md *ctx)
{
	return loop(0x1000000, once, 0, 0) < 0 ? slow(ctx) : XDP_PASS;
}

SEC("xdp") int too_many_rounds_called(struct xdp_md *ctx)
{
	__u64 flags = ctx->rx_queue_index;

	return loop(0x1000000, once, 0, flags) == -7 ? slow(ctx) : XDP_PASS;
}

SEC("xdp") int rounds_of_64_bits_inline(struct xdp_md *ctx)
{
	return loop(0x100000001, once, 0, 0) != 1 ? slow(ctx) : XDP_PASS;
}

SEC("xdp") int rounds_of_32_bits_called(struct xdp_md *ctx)
{
	__u64 flags = ctx->rx_queue_index;

	return loop(0x100000001, once, 0, flags) == 1 ? slow(ctx) : XDP_PASS;
}

#define TWO_IN(map)                                                                                \
	SEC("xdp") int two_in_##map(struct xdp_md *ctx)                                            \
	{                                                                                          \
		__u32 first = 1, second = 2;                                                       \
                                                                                                   \
		if (!bpf_map_lookup_elem(&map, &first) || !bpf_map_lookup_elem(&map, &second))     \
			return XDP_PASS;                                                           \
		return slow(ctx);                                                                  \
	}

TWO_IN(apart)
TWO_IN(common)

/* Inner maps, except arrays, can have any size. */
SEC("xdp") int larger_inner_map(struct xdp_md *ctx)
{
	__u32 slot = 0, index = 7;
	__u64 value = 0;
	void *map = bpf_map_lookup_elem(&outer, &slot);

	if (!map || bpf_map_update_elem(map, &index, &value, 0))
		return XDP_PASS;
	return slow(ctx);
}

static long moves(void *map, __u32 *key, __u64 *value, void *context)
{
	__u32 next = *key + 1;
	__u64 new = 0;

	bpf_map_update_elem(&table, &next, &new, 0);
	return 0;
}

/* The number of iterations is not bounded. */
SEC("xdp") int updated_on_the_way(struct xdp_md *ctx)
{
	bpf_for_each_map_elem(&table, moves, 0, 0);
	return XDP_PASS;
}

static long overwrites(void *map, __u32 *key, __u64 *value, void *context)
{
	__u64 new = 0;

	bpf_map_update_elem(&counters, key, &new, BPF_EXIST);
	return 0;
}

SEC("xdp") int overwritten_on_the_way(struct xdp_md *ctx)
{
	return bpf_for_each_map_elem(&counters, overwrites, 0, 0) > 4 ? slow(ctx) : XDP_PASS;
}

static __attribute__((noinline)) __u64 leaves(__u64 number)
{
	volatile __u64 place = number;

	OPAQUE(&place);
	return place;
}

static __attribute__((noinline)) __u64 finds(void)
{
	__u64 number;

	asm volatile("%0 = *(u64 *)(r10 - 8)" : "=r"(number));
	return number;
}

/* The next call has overwritten the value that a function left on its stack. */
SEC("xdp") int left_by_another_function(struct xdp_md *ctx)
{
	__u32 key = 1;
	__u64 value = 3;

	leaves(5);
	bpf_map_update_elem(&table, &key, &value, 0);
	return finds() == 5 ? XDP_PASS : slow(ctx);
}

static __attribute__((noinline)) void *looks_up(__u32 number)
{
	struct {
		__u64 key;
	} place;

	asm volatile("*(u32 *)(%0 + 0) = %1" : : "r"(&place), "r"(number) : "memory");
	return bpf_map_lookup_elem(&table, (__u32 *)&place + 1);
}

/* The program never writes the key. */
SEC("xdp") int key_left_by_another_function(struct xdp_md *ctx)
{
	__u32 key = 1;
	__u64 value = 3;

	leaves(0x500000000);
	bpf_map_update_elem(&table, &key, &value, 0);
	bpf_map_delete_elem(&table, &key);
	key = 5;
	if (bpf_map_update_elem(&table, &key, &value, 0))
		return XDP_PASS;
	return looks_up(1) ? XDP_PASS : slow(ctx);
}

static __attribute__((noinline)) __u64 keeps(__u64 number)
{
	volatile __u64 place = number;

	OPAQUE(&place);
	bpf_ktime_get_ns();
	return place;
}

/* A function's own writes to its stack stay. */
SEC("xdp") int kept_by_the_function(struct xdp_md *ctx)
{
	leaves(5);
	return keeps(6) == 6 ? XDP_PASS : slow(ctx);
}

char LICENSE[] SEC("license") = "GPL";
