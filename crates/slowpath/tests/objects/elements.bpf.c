/* Programs whose slow paths depend on the elements of maps and on the places of their values. The
 * number of memory accesses shows if the slow path is possible. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c elements.bpf.c -o elements.bpf.o
 *   llvm-strip -g elements.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40
#define MAP(name, map_type, entries, flags, key_type, value_type)                                  \
	struct {                                                                                   \
		__uint(type, map_type);                                                            \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, flags);                                                          \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

MAP(table, BPF_MAP_TYPE_HASH, 64, 0, __u32, __u64);
MAP(allocated, BPF_MAP_TYPE_HASH, 64, BPF_F_NO_PREALLOC, __u32, __u64);
MAP(per_cpu, BPF_MAP_TYPE_PERCPU_HASH, 64, 0, __u32, __u64);
MAP(recent, BPF_MAP_TYPE_LRU_HASH, 64, 0, __u32, __u64);
MAP(recent_per_cpu, BPF_MAP_TYPE_LRU_PERCPU_HASH, 64, 0, __u32, __u64);
MAP(one, BPF_MAP_TYPE_HASH, 1, 0, __u32, __u64);
MAP(two, BPF_MAP_TYPE_HASH, 2, 0, __u32, __u64);
MAP(bytes, BPF_MAP_TYPE_HASH, 256, 0, __u8, __u64);
MAP(plain, BPF_MAP_TYPE_ARRAY, 4, 0, __u32, __u64);

struct inner {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct inner);
} outer SEC(".maps") = {.values = {&first, &first}};

struct prefix {
	__u32 bits, address;
};

MAP(routes, BPF_MAP_TYPE_LPM_TRIE, 64, BPF_F_NO_PREALLOC, struct prefix, __u64);

#define QUEUE(name, map_type)                                                                      \
	struct {                                                                                   \
		__uint(type, map_type);                                                            \
		__uint(max_entries, 4);                                                            \
		__type(value, __u64);                                                              \
	} name SEC(".maps")

QUEUE(waiting, BPF_MAP_TYPE_QUEUE);
QUEUE(stacked, BPF_MAP_TYPE_STACK);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} ring SEC(".maps");

static __attribute__((noinline)) int slow(struct xdp_md *ctx)
{
#pragma unroll
	for (int i = 0; i < SLOW; i++)
		*(volatile __u32 *)&ctx->rx_queue_index;
	return XDP_DROP;
}

/* Reads the value of key 1 through a pointer from before its update. */
#define READ_OLD(name, map, wanted)                                                                \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		__u32 key = 1;                                                                     \
		__u64 new = 7;                                                                     \
		volatile __u64 *value = bpf_map_lookup_elem(&map, &key);                           \
                                                                                                   \
		if (!value)                                                                        \
			return XDP_PASS;                                                           \
		*value = 5;                                                                        \
		if (bpf_map_update_elem(&map, &key, &new, BPF_ANY))                                \
			return XDP_PASS;                                                           \
		if (*value != wanted)                                                              \
			return XDP_PASS;                                                           \
		return slow(ctx);                                                                  \
	}

READ_OLD(old_value_stays, table, 5)
READ_OLD(old_value_does_not_change, table, 7)
READ_OLD(old_value_stays_allocated, allocated, 5)
READ_OLD(old_value_stays_recent, recent, 5)
READ_OLD(per_cpu_value_changes, per_cpu, 7)
READ_OLD(per_cpu_value_does_not_stay, per_cpu, 5)
READ_OLD(recent_per_cpu_value_changes, recent_per_cpu, 7)
READ_OLD(array_value_changes, plain, 7)
READ_OLD(array_value_does_not_stay, plain, 5)

/* A write through an old pointer does not change the new element. */
SEC("xdp")
int written_through_old_pointer(struct xdp_md *ctx)
{
	__u32 key = 1;
	__u64 new = 7;
	volatile __u64 *value = bpf_map_lookup_elem(&table, &key), *again;

	if (!value || bpf_map_update_elem(&table, &key, &new, BPF_EXIST))
		return XDP_PASS;
	*value = 9;
	again = bpf_map_lookup_elem(&table, &key);
	if (!again || *again != 9)
		return XDP_PASS;
	return slow(ctx);
}

/* The next update reuses the replaced element for its value. */
SEC("xdp")
int replaced_element_is_used_again(struct xdp_md *ctx)
{
	__u32 key = 1, other = 2;
	__u64 new = 7, newer = 8;
	volatile __u64 *value = bpf_map_lookup_elem(&table, &key);

	if (!value || bpf_map_update_elem(&table, &key, &new, BPF_EXIST) ||
	    bpf_map_update_elem(&table, &other, &newer, BPF_EXIST))
		return XDP_PASS;
	if (*value != 8)
		return XDP_PASS;
	return slow(ctx);
}

/* The next insertion reuses the deleted element. */
#define REUSE(name, map, wanted)                                                                   \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		__u32 key = 1, other = 2;                                                          \
		__u64 new = 7;                                                                     \
		volatile __u64 *value = bpf_map_lookup_elem(&map, &key);                           \
                                                                                                   \
		if (!value)                                                                        \
			return XDP_PASS;                                                           \
		*value = 5;                                                                        \
		if (bpf_map_delete_elem(&map, &key) ||                                             \
		    bpf_map_update_elem(&map, &other, &new, BPF_NOEXIST))                          \
			return XDP_PASS;                                                           \
		if (*value != wanted)                                                              \
			return XDP_PASS;                                                           \
		return slow(ctx);                                                                  \
	}

REUSE(deleted_element_is_used_again, table, 7)
REUSE(deleted_element_does_not_stay, table, 5)
REUSE(deleted_per_cpu_element_is_used_again, per_cpu, 7)

SEC("xdp")
int old_value_of_an_inner_map(struct xdp_md *ctx)
{
	__u32 key = 1;
	__u64 new = 7;
	void *map = bpf_map_lookup_elem(&outer, &key);
	volatile __u64 *value;

	if (!map)
		return XDP_PASS;
	value = bpf_map_lookup_elem(map, &key);
	if (!value)
		return XDP_PASS;
	*value = 5;
	if (bpf_map_update_elem(map, &key, &new, BPF_ANY) || *value != 5)
		return XDP_PASS;
	return slow(ctx);
}

/* Two different keys in a map of one element. */
SEC("xdp")
int two_elements_in_one(struct xdp_md *ctx)
{
	__u32 key = 1, other = 2;

	if (!bpf_map_lookup_elem(&one, &key) || !bpf_map_lookup_elem(&one, &other))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int two_elements_in_two(struct xdp_md *ctx)
{
	__u32 key = 1, other = 2;

	if (!bpf_map_lookup_elem(&two, &key) || !bpf_map_lookup_elem(&two, &other))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int third_element_in_two(struct xdp_md *ctx)
{
	__u32 key = 1, other = 2, third = 3;
	__u64 new = 7;

	if (!bpf_map_lookup_elem(&two, &key) || !bpf_map_lookup_elem(&two, &other))
		return XDP_PASS;
	if (bpf_map_update_elem(&two, &third, &new, BPF_ANY))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int full_behind_a_delete(struct xdp_md *ctx)
{
	__u32 key = 1, other = 2;
	__u64 new = 7;

	if (bpf_map_delete_elem(&table, &key))
		return XDP_PASS;
	if (bpf_map_update_elem(&table, &other, &new, BPF_ANY) != -7)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int full_and_then_not(struct xdp_md *ctx)
{
	__u32 key = 1, other = 2;
	__u64 new = 7;

	if (bpf_map_update_elem(&table, &key, &new, BPF_NOEXIST) != -7)
		return XDP_PASS;
	if (bpf_map_update_elem(&table, &other, &new, BPF_NOEXIST))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int full_behind_an_insertion(struct xdp_md *ctx)
{
	__u32 key = 1, other = 2;
	__u64 new = 7;

	if (bpf_map_update_elem(&table, &key, &new, BPF_NOEXIST))
		return XDP_PASS;
	if (bpf_map_update_elem(&table, &other, &new, BPF_NOEXIST) != -7)
		return XDP_PASS;
	return slow(ctx);
}

/* The map has room for every key. */
SEC("xdp")
int full_with_every_key(struct xdp_md *ctx)
{
	__u8 key = ctx->rx_queue_index;
	__u64 new = 7;

	if (bpf_map_update_elem(&bytes, &key, &new, BPF_ANY) != -7)
		return XDP_PASS;
	return slow(ctx);
}

/* BPF_F_LOCK for values without a lock. */
SEC("xdp")
int updated_without_lock(struct xdp_md *ctx)
{
	__u32 key = 1;
	__u64 new = 7;

	if (bpf_map_update_elem(&table, &key, &new, BPF_F_LOCK) &&
	    bpf_map_update_elem(&plain, &key, &new, BPF_F_LOCK))
		return XDP_PASS;
	return slow(ctx);
}

/* An insertion can evict other elements, but not the inserted one. */
SEC("xdp")
int evicted(struct xdp_md *ctx)
{
	__u32 key = 1, other = 2;
	__u64 new = 7;

	if (!bpf_map_lookup_elem(&recent, &key) ||
	    bpf_map_update_elem(&recent, &other, &new, BPF_ANY))
		return XDP_PASS;
	if (bpf_map_lookup_elem(&recent, &key))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int inserted_and_evicted(struct xdp_md *ctx)
{
	__u32 key = 1;
	__u64 new = 7;

	if (bpf_map_update_elem(&recent, &key, &new, BPF_ANY))
		return XDP_PASS;
	if (bpf_map_lookup_elem(&recent, &key))
		return XDP_PASS;
	return slow(ctx);
}

/* Longest-prefix-match tries. A look-up without a longer match finds a covering prefix. */
static __always_inline __u64 *find(__u32 bits, __u32 address)
{
	struct prefix key = {bits, address};

	return bpf_map_lookup_elem(&routes, &key);
}

#define NETWORK __builtin_bswap32(0x0a000000)
#define HOST __builtin_bswap32(0x0a000001)
#define NEIGHBOUR __builtin_bswap32(0x0a000002)

SEC("xdp")
int host_missed_in_a_known_network(struct xdp_md *ctx)
{
	if (!find(8, NETWORK) || find(32, HOST))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int network_missed_around_a_known_host(struct xdp_md *ctx)
{
	if (find(8, NETWORK) || !find(32, HOST))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int host_is_found_as_its_network(struct xdp_md *ctx)
{
	__u64 *network = find(8, NETWORK), *host = find(32, HOST);

	if (!network || !host)
		return XDP_PASS;
	*network = 5;
	if (*(volatile __u64 *)host != 5)
		return XDP_PASS;
	return slow(ctx);
}

/* 10.0.0.0/30 and longer prefixes cover only one of the two. Common prefixes are shorter. */
SEC("xdp")
int host_missed_beside_a_neighbour(struct xdp_md *ctx)
{
	__u64 *host = find(32, HOST), *neighbour = find(31, NEIGHBOUR), *network = find(30, HOST);

	if (host || !neighbour || !network)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int too_long_a_prefix(struct xdp_md *ctx)
{
	if (!find(33, HOST) || !find(32, HOST))
		return XDP_PASS;
	return slow(ctx);
}

/* Queues and stacks. */
SEC("xdp")
int empty_behind_a_push(struct xdp_md *ctx)
{
	__u64 value = 7;

	if (bpf_map_push_elem(&waiting, &value, 0) || !bpf_map_pop_elem(&waiting, &value))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int full_behind_a_pop(struct xdp_md *ctx)
{
	__u64 value = 7;

	if (bpf_map_pop_elem(&waiting, &value) || !bpf_map_push_elem(&waiting, &value, 0))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int last_in_first_out(struct xdp_md *ctx)
{
	__u64 value = 7;

	if (bpf_map_push_elem(&stacked, &value, BPF_EXIST) || bpf_map_pop_elem(&stacked, &value))
		return XDP_PASS;
	if (value == 7)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int first_in_first_out(struct xdp_md *ctx)
{
	__u64 value = 7, first;

	if (bpf_map_push_elem(&waiting, &value, BPF_EXIST) || bpf_map_pop_elem(&waiting, &first))
		return XDP_PASS;
	if (first != 9 || bpf_map_pop_elem(&waiting, &first) || first != 7)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int cleared_when_empty(struct xdp_md *ctx)
{
	__u64 value = 7;

	if (!bpf_map_peek_elem(&waiting, &value) || value == 0)
		return XDP_PASS;
	return slow(ctx);
}

/* The record is larger than the ring. */
SEC("xdp")
int record_larger_than_the_ring(struct xdp_md *ctx)
{
	void *record = bpf_ringbuf_reserve(&ring, 1 << 20, 0);

	if (!record)
		return XDP_PASS;
	bpf_ringbuf_discard(record, 0);
	return slow(ctx);
}

char _license[] SEC("license") = "GPL";
