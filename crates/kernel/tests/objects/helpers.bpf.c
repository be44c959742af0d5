// One small XDP program for each helper and type of map. It reads arguments from the first 64 bytes
// of the packet and writes results to the map `out`. Compiled with versions as in examples/Makefile:
//   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
//     -idirafter /usr/include/x86_64-linux-gnu -c helpers.bpf.c -o helpers.bpf.o
//   llvm-strip -g helpers.bpf.o
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "words.h"

#define __noinline __attribute__((noinline))

/* --- maps with keys ------------------------------------------------------------------------------ */

#define MAP(name, kind, keytype, valuetype, entries, bits)                                         \
	struct {                                                                                   \
		__uint(type, kind);                                                                \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, bits);                                                           \
		__type(key, keytype);                                                              \
		__type(value, valuetype);                                                          \
	} name SEC(".maps")

struct value {
	__u64 a;
	__u32 b, c;
};

/* Three operations in a row on few keys, which are therefore often equal. */
#define STEP(map, n)                                                                               \
	do {                                                                                       \
		struct value *found, fresh = { w[n], w[n] >> 3, n };                               \
		__u64 choice = w[3 + n];                                                           \
		__builtin_memset(&key, choice & 7, sizeof(key));                                   \
		switch (choice >> 8 & 3) {                                                         \
		case 0:                                                                            \
			put(n, bpf_map_update_elem(&map, &key, &fresh, w[n] & 3));                 \
			break;                                                                     \
		case 1:                                                                            \
			put(n, bpf_map_delete_elem(&map, &key));                                   \
			break;                                                                     \
		case 2:                                                                            \
			put(n, bpf_map_update_elem(&map, &key, &fresh, w[n]));                     \
			break;                                                                     \
		default:                                                                           \
			found = bpf_map_lookup_elem(&map, &key);                                   \
			put(n, !!found);                                                           \
			if (found) {                                                               \
				put(4 + n, found->a ^ found->b);                                   \
				found->c += w[n];                                                  \
			}                                                                          \
		}                                                                                  \
	} while (0)

#define KEYED(name, kind, bytes, entries, bits)                                                    \
	struct name##_key {                                                                        \
		__u8 b[bytes];                                                                     \
	};                                                                                         \
	MAP(name, kind, struct name##_key, struct value, entries, bits);                           \
	PROGRAM(name##_steps)                                                                      \
	{                                                                                          \
		struct name##_key key;                                                             \
		STEP(name, 0);                                                                     \
		STEP(name, 1);                                                                     \
		STEP(name, 2);                                                                     \
		return XDP_PASS;                                                                   \
	}

KEYED(hash1, BPF_MAP_TYPE_HASH, 1, 64, 0)
KEYED(hash2, BPF_MAP_TYPE_HASH, 2, 4, 0)
KEYED(hash3, BPF_MAP_TYPE_HASH, 3, 64, 0)
KEYED(hash4, BPF_MAP_TYPE_HASH, 4, 4, 1)
KEYED(hash5, BPF_MAP_TYPE_HASH, 5, 64, 0)
KEYED(hash8, BPF_MAP_TYPE_HASH, 8, 64, 0)
KEYED(hash16, BPF_MAP_TYPE_HASH, 16, 4, 1)
KEYED(hash20, BPF_MAP_TYPE_HASH, 20, 64, 0)
KEYED(hash40, BPF_MAP_TYPE_HASH, 40, 64, 0)
KEYED(per_cpu_hash, BPF_MAP_TYPE_PERCPU_HASH, 4, 64, 0)
KEYED(per_cpu_hash12, BPF_MAP_TYPE_PERCPU_HASH, 12, 64, 0)
KEYED(lru, BPF_MAP_TYPE_LRU_HASH, 8, 1024, 0)
KEYED(lru_per_cpu, BPF_MAP_TYPE_LRU_PERCPU_HASH, 8, 1024, 0)

/* Indices with the same number from 0 to 7 in each byte: only 0 is in range. Otherwise, small ones. */
#define INDEXED(name, kind)                                                                        \
	MAP(name, kind, __u32, struct value, 6, 0);                                                \
	PROGRAM(name##_steps)                                                                      \
	{                                                                                          \
		struct value *found, fresh = { w[0], w[1], 7 };                                    \
		__u32 key;                                                                         \
		STEP(name, 0);                                                                     \
		key = w[6] & 7;                                                                    \
		put(8, bpf_map_update_elem(&name, &key, &fresh, w[6] >> 8 & 3));                   \
		key = w[7] & 7;                                                                    \
		found = bpf_map_lookup_elem(&name, &key);                                          \
		if (!found)                                                                        \
			return XDP_DROP;                                                           \
		put(9, found->a);                                                                  \
		found->b++;                                                                        \
		return XDP_PASS;                                                                   \
	}

INDEXED(array, BPF_MAP_TYPE_ARRAY)
INDEXED(per_cpu_array, BPF_MAP_TYPE_PERCPU_ARRAY)

struct prefix {
	__u32 length;
	__u8 address[8];
};

MAP(routes, BPF_MAP_TYPE_LPM_TRIE, struct prefix, struct value, 64, BPF_F_NO_PREALLOC);

PROGRAM(longest_prefix)
{
	struct prefix first = { w[0] & 127, {} }, second = { w[1] & 127, {} };
	struct value *a, *b;

	__builtin_memcpy(first.address, &w[2], 8);
	__builtin_memcpy(second.address, &w[3], 8);
	a = bpf_map_lookup_elem(&routes, &first);
	b = bpf_map_lookup_elem(&routes, &second);
	put(0, !!a | !!b << 1);
	if (a)
		a->b += 1;
	/* Possibly the same element. */
	if (b) {
		put(1, b->a);
		put(2, b->b);
	}
	return XDP_PASS;
}

struct inner_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} inner_a SEC(".maps"), inner_b SEC(".maps");

struct inner_hash {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, __u64);
} inner_c SEC(".maps"), inner_d SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 5);
	__type(key, __u32);
	__array(values, struct inner_array);
} arrays SEC(".maps") = { .values = { [0] = &inner_a, [2] = &inner_b, [3] = &inner_a } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 8);
	__type(key, __u32);
	__array(values, struct inner_hash);
} hashes SEC(".maps") = { .values = { [1] = &inner_c, [2] = &inner_d, [5] = &inner_c } };

PROGRAM(array_of_maps)
{
	__u32 first = w[0] & 7, second = w[1] & 7, key = w[2] & 3;
	void *a = bpf_map_lookup_elem(&arrays, &first), *b;
	__u64 *value;

	put(0, !!a);
	if (a) {
		value = bpf_map_lookup_elem(a, &key);
		put(1, !!value);
		if (value)
			*value += w[3];
	}
	b = bpf_map_lookup_elem(&arrays, &second);
	if (!b)
		return XDP_DROP;
	put(2, bpf_map_update_elem(b, &key, &w[4], w[5] & 3));
	value = a ? bpf_map_lookup_elem(a, &key) : 0;
	put(3, value ? *value : 77);
	return XDP_PASS;
}

PROGRAM(hash_of_maps)
{
	__u32 first = w[0] & 7, second = w[1] & 7;
	__u64 key = w[2] & 3, other = w[6] & 3;
	void *a = bpf_map_lookup_elem(&hashes, &first), *b;
	__u64 *value;

	put(0, !!a);
	if (a)
		put(1, bpf_map_update_elem(a, &key, &w[3], w[5] & 3));
	b = bpf_map_lookup_elem(&hashes, &second);
	if (!b)
		return XDP_DROP;
	value = bpf_map_lookup_elem(b, &other);
	put(2, !!value);
	if (value)
		put(3, *value += 1);
	if (w[4] & 1)
		put(4, bpf_map_delete_elem(b, &key));
	return XDP_PASS;
}

/* --- redirection --------------------------------------------------------------------------------- */

MAP(devices, BPF_MAP_TYPE_DEVMAP, __u32, __u32, 5, 0);
MAP(devices_by_key, BPF_MAP_TYPE_DEVMAP_HASH, __u32, __u32, 8, 0);
MAP(cpus, BPF_MAP_TYPE_CPUMAP, __u32, __u32, 2, 0);
MAP(sockets, BPF_MAP_TYPE_XSKMAP, __u32, __u32, 4, 0);

#define REDIRECT(map)                                                                              \
	PROGRAM(redirect_##map)                                                                    \
	{                                                                                          \
		__u64 flags = w[2] & 1 ? w[1] : w[1] & 31;                                         \
		return bpf_redirect_map(&map, w[2] & 2 ? w[0] : w[0] & 7, flags);                  \
	}

REDIRECT(devices)
REDIRECT(devices_by_key)
REDIRECT(cpus)
REDIRECT(sockets)

PROGRAM(redirect)
{
	return bpf_redirect(w[0], w[1] & 1 ? w[1] : 0);
}

/* --- the packet ---------------------------------------------------------------------------------- */

static __always_inline void put_packet(struct xdp_md *ctx, int n)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *meta = (void *)(long)ctx->data_meta;

	put(n, end - data);
	put(n + 1, data - meta);
	put(n + 2, bpf_xdp_get_buff_len(ctx));
	if (data + 4 <= end)
		put(n + 3, *(__u32 *)data);
}

PROGRAM(adjust_head)
{
	put(0, bpf_xdp_adjust_head(ctx, w[0]));
	put_packet(ctx, 1);
	put(5, bpf_xdp_adjust_head(ctx, w[1]));
	put_packet(ctx, 6);
	return XDP_TX;
}

/* Appended bytes are removed again: packets do not grow from call to call. */
static __always_inline void adjust_tail_by(struct xdp_md *ctx, int n, __s32 distance)
{
	put(n, bpf_xdp_adjust_tail(ctx, distance));
	put(n + 1, bpf_xdp_get_buff_len(ctx));
	if (distance > 0)
		bpf_xdp_adjust_tail(ctx, -distance);
}

PROGRAM(adjust_tail)
{
	adjust_tail_by(ctx, 0, w[0]);
	put_packet(ctx, 2);
	adjust_tail_by(ctx, 6, w[1]);
	put_packet(ctx, 8);
	return XDP_TX;
}

PROGRAM(adjust_tail_constant)
{
	put(0, bpf_xdp_adjust_tail(ctx, -30));
	put(1, bpf_xdp_adjust_tail(ctx, 37));
	put(2, bpf_xdp_adjust_tail(ctx, 200));
	return XDP_TX;
}

PROGRAM(adjust_head_and_tail)
{
	adjust_tail_by(ctx, 0, w[0]);
	put(2, bpf_xdp_adjust_head(ctx, w[1]));
	put_packet(ctx, 3);
	adjust_tail_by(ctx, 7, w[2]);
	put(9, bpf_xdp_adjust_head(ctx, w[3]));
	put_packet(ctx, 10);
	return XDP_TX;
}

PROGRAM(adjust_meta)
{
	__u32 *meta;

	put(0, bpf_xdp_adjust_meta(ctx, w[0]));
	put_packet(ctx, 1);
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) <= (void *)(long)ctx->data)
		*meta = w[2];
	put(5, bpf_xdp_adjust_meta(ctx, w[1]));
	put_packet(ctx, 6);
	return XDP_PASS;
}

#define COPY(n, size)                                                                              \
	case n: {                                                                                  \
		__u8 buffer[size] = { 9 };                                                            \
		put(0, bpf_xdp_load_bytes(ctx, offset, buffer, size));                             \
		put(1, buffer[0] | buffer[size - 1] << 8);                                         \
		buffer[0] ^= 0x55;                                                                 \
		put(2, bpf_xdp_store_bytes(ctx, other, buffer, size));                             \
		break;                                                                             \
	}

PROGRAM(copy_bytes)
{
	__u32 offset = w[1] & 1 ? w[0] : w[0] & 127, other = w[3] & 1 ? w[2] : w[2] & 127;

	switch (w[4] & 3) {
		COPY(0, 1)
		COPY(1, 4)
		COPY(2, 13)
		COPY(3, 64)
	}
	return XDP_PASS;
}

PROGRAM(length)
{
	put(0, bpf_xdp_get_buff_len(ctx));
	return XDP_PASS;
}

#define DIFF(n, from_size, to_size)                                                                \
	case n:                                                                                    \
		put(0, bpf_csum_diff(from_size ? from : 0, from_size, to_size ? to : 0, to_size,   \
				     w[1]));                                                       \
		break

SEC("xdp") int checksum(struct xdp_md *ctx)
{
	__be32 from[16], to[16];
	struct input in;
	__u64 *w = in.w;

	if (arguments(ctx, &in))
		return XDP_DROP;
	__builtin_memcpy(from, w, sizeof(from));
	__builtin_memcpy(to, w, sizeof(to));
	to[0] = to[7] ^ 0x1234;
	to[3] = ~to[6];
	switch (w[0] & 31) {
		DIFF(0, 0, 0);
		DIFF(1, 0, 4);
		DIFF(2, 0, 8);
		DIFF(3, 0, 20);
		DIFF(4, 0, 64);
		DIFF(5, 4, 0);
		DIFF(6, 8, 0);
		DIFF(7, 20, 0);
		DIFF(8, 64, 0);
		DIFF(9, 4, 4);
		DIFF(10, 8, 8);
		DIFF(11, 20, 20);
		DIFF(12, 64, 64);
		DIFF(13, 4, 8);
		DIFF(14, 8, 20);
		DIFF(15, 64, 20);
		DIFF(16, 3, 4);
		DIFF(17, 8, 6);
	default:
		put(1, bpf_csum_diff(from, 12, to, 16, bpf_csum_diff(0, 0, to, 40, w[2])));
	}
	return XDP_PASS;
}

/* --- control flow -------------------------------------------------------------------------------- */

struct sum {
	__u64 value, stop;
	__u32 calls;
};

static long add(__u32 index, void *context)
{
	struct sum *sum = context;

	sum->value += index;
	sum->calls++;
	return sum->value > sum->stop;
}

static long add_many(__u32 index, void *context)
{
	struct sum *sum = context;

	bpf_loop(index & 3, add, sum, 0);
	return index == 5;
}

PROGRAM(loop)
{
	struct sum sum = { 0, w[2] & 63, 0 };
	__u32 rounds = w[0] & 1 ? w[0] >> 1 & 15 : (1 << 23) + 1 + (w[0] >> 40);

	put(0, bpf_loop(rounds, add, &sum, w[1] & 1));
	put(1, sum.value);
	put(2, sum.calls);
	return XDP_PASS;
}

PROGRAM(nested_loop)
{
	struct sum sum = { 0, w[2] & 63, 0 };

	put(0, bpf_loop(w[0] & 15, add_many, &sum, 0));
	put(1, sum.value);
	put(2, sum.calls);
	return XDP_PASS;
}

MAP(elements, BPF_MAP_TYPE_ARRAY, __u32, __u64, 5, 0);
MAP(table, BPF_MAP_TYPE_HASH, __u32, __u64, 16, 0);

static long visit(void *map, __u32 *key, __u64 *value, struct sum *sum)
{
	sum->value += *value + *key;
	*value += 1;
	sum->calls++;
	return sum->calls > sum->stop;
}

PROGRAM(every_element)
{
	struct sum sum = { 0, w[0] & 7, 0 };

	put(0, bpf_for_each_map_elem(&elements, visit, &sum, w[1] & 1));
	put(1, sum.value);
	put(2, sum.calls);
	return XDP_PASS;
}

static long count(void *map, __u32 *key, __u64 *value, struct sum *sum)
{
	sum->calls++;
	return sum->calls > sum->stop;
}

struct long_key {
	__u64 a, b;
};

MAP(long_table, BPF_MAP_TYPE_HASH, struct long_key, __u64, 4, 0);

/* The interpreter finds no element that the kernel visits, because its key is too long to search. */
PROGRAM(undecided_every_long_key)
{
	struct sum sum = { 0, w[3] & 7, 0 };
	struct long_key key = { w[0], w[1] };

	bpf_map_update_elem(&long_table, &key, &w[2], 0);
	put(0, bpf_for_each_map_elem(&long_table, count, &sum, 0));
	return XDP_PASS;
}

/* The table is empty or has some elements. */
PROGRAM(every_entry)
{
	struct sum sum = { 0, w[3] & 7, 0 };
	__u32 key = w[0] & 3;

	if (w[1] & 1)
		bpf_map_update_elem(&table, &key, &w[2], 0);
	else
		bpf_map_delete_elem(&table, &key);
	put(0, bpf_for_each_map_elem(&table, count, &sum, 0));
	put(1, sum.calls);
	return XDP_PASS;
}

int target(struct xdp_md *ctx);
int again(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 5);
	__uint(key_size, 4);
	__array(values, int(void *));
} calls SEC(".maps") = { .values = { [1] = (void *)&target, [3] = (void *)&again } };

__u32 rounds;

SEC("xdp") int target(struct xdp_md *ctx)
{
	put(3, 33);
	return XDP_TX;
}

/* Calls itself until the kernel refuses. */
SEC("xdp") int again(struct xdp_md *ctx)
{
	rounds++;
	put(4, rounds);
	bpf_tail_call(ctx, &calls, 3);
	return XDP_REDIRECT;
}

PROGRAM(tail_call)
{
	put(3, 0);
	bpf_tail_call(ctx, &calls, w[1] & 1 ? w[0] : w[0] & 7);
	return XDP_PASS;
}

static __noinline int call_inside(struct xdp_md *ctx, __u64 slot)
{
	bpf_tail_call(ctx, &calls, slot & 1);
	return 17;
}

PROGRAM(tail_call_in_function)
{
	int value = call_inside(ctx, w[0]);

	put(5, value);
	return XDP_PASS;
}

__noinline int global(struct xdp_md *ctx, __u64 a, __u32 b)
{
	return a * 3 + b + ctx->rx_queue_index;
}

static __noinline void fill(__u64 *to, __u64 from)
{
	to[0] = from;
	to[1] = ~from;
}

static __noinline __u64 both(__u64 *a, __u64 *b)
{
	fill(a, *b);
	return a[1] ^ b[0];
}

PROGRAM(functions)
{
	__u64 a[2] = {}, b[2] = { w[0], w[1] };

	put(0, both(a, b));
	put(1, a[0]);
	put(2, both(b, a));
	put(3, b[1]);
	put(4, global(ctx, w[2], w[3]));
	put(5, global(ctx, w[4], w[5]));
	return XDP_PASS;
}

#define DEPTH(n, next)                                                                             \
	static __noinline __u64 depth##n(__u64 a, __u64 *top)                                      \
	{                                                                                          \
		__u64 own[2] = { a, *top };                                                        \
		*top += n;                                                                         \
		return next + own[0] + own[1];                                                     \
	}

DEPTH(7, a * own[0])
DEPTH(6, depth7(a + 1, own))
DEPTH(5, depth6(a + 1, own) + *top)
DEPTH(4, depth5(a + 1, own))
DEPTH(3, depth4(a + 1, top))
DEPTH(2, depth3(a + 1, own))
DEPTH(1, depth2(a + 1, top))

PROGRAM(eight_frames)
{
	__u64 top = w[0];

	put(0, depth1(w[1], &top));
	put(1, top);
	return XDP_PASS;
}

/* --- streams, queues, locks ---------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

PROGRAM(ring_records)
{
	__u64 *first = bpf_ringbuf_reserve(&ring, 16, 0), *second;

	put(0, !!first);
	if (!first)
		return XDP_DROP;
	first[0] = w[0];
	first[1] = w[1];
	second = bpf_ringbuf_reserve(&ring, 8, 0);
	put(1, !!second);
	if (second) {
		*second = w[2];
		put(2, *second + first[0] - first[1]);
		bpf_ringbuf_discard(second, 0);
	}
	if (w[3] & 1)
		bpf_ringbuf_submit(first, 0);
	else
		bpf_ringbuf_discard(first, 0);
	return XDP_PASS;
}

PROGRAM(ring_output)
{
	put(0, bpf_ringbuf_output(&ring, w, 24, 0));
	put(1, bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE));
	return XDP_PASS;
}

PROGRAM(perf_output)
{
	put(0, bpf_perf_event_output(ctx, &events, w[0] & 1 ? BPF_F_CURRENT_CPU : w[1], w, 16));
	return XDP_PASS;
}

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 4);
	__uint(value_size, 8);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 4);
	__uint(value_size, 8);
} stack SEC(".maps");

#define QUEUED(map)                                                                                \
	PROGRAM(map##_steps)                                                                       \
	{                                                                                          \
		__u64 value = 5;                                                                   \
		switch (w[0] & 3) {                                                                \
		case 0:                                                                            \
			put(0, bpf_map_pop_elem(&map, &value));                                    \
			break;                                                                     \
		case 1:                                                                            \
			put(0, bpf_map_peek_elem(&map, &value));                                   \
			break;                                                                     \
		case 2:                                                                            \
			put(0, bpf_map_push_elem(&map, &w[2], w[1] & 3));                          \
			break;                                                                     \
		default:                                                                           \
			put(0, bpf_map_push_elem(&map, &w[2], 0));                                 \
		}                                                                                  \
		put(1, value);                                                                     \
		return XDP_PASS;                                                                   \
	}

QUEUED(queue)
QUEUED(stack)

struct locked {
	struct bpf_spin_lock lock;
	__u32 value;
};

MAP(guarded, BPF_MAP_TYPE_ARRAY, __u32, struct locked, 2, 0);

PROGRAM(spin_lock)
{
	__u32 key = w[0] & 3;
	struct locked *locked = bpf_map_lookup_elem(&guarded, &key);

	if (!locked)
		return XDP_ABORTED;
	bpf_spin_lock(&locked->lock);
	locked->value += w[1];
	bpf_spin_unlock(&locked->lock);
	return XDP_PASS;
}

/* --- the environment ----------------------------------------------------------------------------- */

PROGRAM(clocks)
{
	__u64 first = bpf_ktime_get_ns(), second = bpf_ktime_get_ns();
	__u64 boot = bpf_ktime_get_boot_ns(), later = bpf_ktime_get_boot_ns();

	put(0, first);
	put(1, second);
	put(2, second - first);
	put(3, second >= first);
	put(4, later >= boot);
	put(5, bpf_ktime_get_coarse_ns() <= bpf_ktime_get_coarse_ns());
	put(6, bpf_ktime_get_tai_ns() <= bpf_ktime_get_tai_ns());
	put(7, bpf_jiffies64());
	return XDP_PASS;
}

PROGRAM(random)
{
	put(0, bpf_get_prandom_u32());
	put(1, bpf_get_prandom_u32() >> 31 >> 1);
	return XDP_PASS;
}

PROGRAM(processor)
{
	put(0, bpf_get_smp_processor_id() - bpf_get_smp_processor_id());
	put(1, bpf_get_smp_processor_id());
	put(2, bpf_get_numa_node_id());
	put(3, bpf_get_smp_processor_id() < 8192);
	return XDP_PASS;
}

PROGRAM(text)
{
	static const char format[] = "%d and %llx";
	char buffer[24] = {};
	__u64 values[2] = { w[0], w[1] };

	put(0, bpf_snprintf(buffer, sizeof(buffer), format, values, sizeof(values)));
	put(1, buffer[0]);
	put(2, w[0] + values[1]);
	return XDP_PASS;
}

PROGRAM(printed)
{
	char format[] = "slowpath test %d";

	put(0, bpf_trace_printk(format, sizeof(format), w[0]));
	put(1, w[1]);
	return XDP_PASS;
}

PROGRAM(printed_many)
{
	static const char format[] = "slowpath test %d %d %d %d";
	__u64 values[4] = { w[0], w[1], 3, 4 };

	put(0, bpf_trace_vprintk(format, sizeof(format), values, sizeof(values)));
	put(1, values[2]);
	return XDP_PASS;
}

PROGRAM(mtu)
{
	__u32 mtu = w[3] & 1 ? w[3] & 0xfff : 0;

	put(0, bpf_check_mtu(ctx, w[0] & 15, &mtu, (__s32)(w[1] % 3000) - 1000, w[2] & 1));
	put(1, mtu);
	return XDP_PASS;
}

PROGRAM(route)
{
	struct bpf_fib_lookup fib;

	__builtin_memset(&fib, 0, sizeof(fib));
	fib.family = (w[0] & 3) == 0 ? 2 : (w[0] & 3) == 1 ? 10 : w[0];
	fib.l4_protocol = w[0] >> 8;
	fib.sport = w[0] >> 16;
	fib.dport = w[0] >> 32;
	fib.tot_len = w[1];
	fib.ifindex = w[2] & 3;
	fib.tos = w[1] >> 16;
	__builtin_memcpy(&fib.ipv4_src, &w[3], 4);
	__builtin_memcpy(&fib.ipv4_dst, &w[4], 4);
	put(0, bpf_fib_lookup(ctx, &fib, sizeof(fib), w[5] & 31));
	put(1, fib.family | (__u64)fib.l4_protocol << 8);
	put(2, fib.sport | (__u64)fib.dport << 16);
	put(3, fib.tot_len);
	put(4, fib.ifindex);
	put(5, fib.ipv4_src);
	return XDP_PASS;
}

/* --- sockets, connections ------------------------------------------------------------------------- */

#define SOCKET(name, find)                                                                         \
	PROGRAM(name)                                                                              \
	{                                                                                          \
		struct bpf_sock_tuple tuple = {};                                                  \
		struct bpf_sock *socket;                                                           \
		tuple.ipv4.saddr = w[0];                                                           \
		tuple.ipv4.daddr = w[1];                                                           \
		tuple.ipv4.sport = w[2];                                                           \
		tuple.ipv4.dport = w[3];                                                           \
		socket = find(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, w[4] & 1);     \
		put(0, !!socket);                                                                  \
		if (!socket)                                                                       \
			return XDP_DROP;                                                           \
		put(1, socket->state);                                                             \
		bpf_sk_release(socket);                                                            \
		return XDP_PASS;                                                                   \
	}

SOCKET(tcp_socket, bpf_sk_lookup_tcp)
SOCKET(udp_socket, bpf_sk_lookup_udp)
SOCKET(any_tcp_socket, bpf_skc_lookup_tcp)

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>

struct headers {
	struct iphdr ip;
	struct ipv6hdr ip6;
	struct tcphdr tcp;
};

static __always_inline void headers(struct headers *h, __u64 *w)
{
	__builtin_memset(h, 0, sizeof(*h));
	h->ip.version = 4;
	h->ip.ihl = 5;
	h->ip6.version = 6;
	h->ip.saddr = w[0];
	h->tcp.doff = 5;
	h->tcp.syn = w[1];
	h->tcp.ack = w[1] >> 1;
	h->tcp.seq = w[2];
	h->tcp.ack_seq = w[3];
}

#define COOKIE_SOCKET(name, call)                                                                  \
	PROGRAM(name)                                                                              \
	{                                                                                          \
		struct bpf_sock_tuple tuple = {};                                                  \
		struct bpf_sock *socket;                                                           \
		struct headers h;                                                                  \
		headers(&h, w);                                                                    \
		socket = bpf_skc_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS,  \
					    0);                                                    \
		if (!socket)                                                                       \
			return XDP_DROP;                                                           \
		put(0, call(socket, &h.ip, sizeof(h.ip), &h.tcp, sizeof(h.tcp)));                  \
		bpf_sk_release(socket);                                                            \
		return XDP_PASS;                                                                   \
	}

COOKIE_SOCKET(check_cookie, bpf_tcp_check_syncookie)
COOKIE_SOCKET(make_cookie, bpf_tcp_gen_syncookie)

PROGRAM(raw_cookies)
{
	struct headers h;

	headers(&h, w);
	put(0, bpf_tcp_raw_gen_syncookie_ipv4(&h.ip, &h.tcp, sizeof(h.tcp)));
	put(1, bpf_tcp_raw_gen_syncookie_ipv6(&h.ip6, &h.tcp, sizeof(h.tcp)));
	put(2, bpf_tcp_raw_check_syncookie_ipv4(&h.ip, &h.tcp));
	put(3, bpf_tcp_raw_check_syncookie_ipv6(&h.ip6, &h.tcp));
	put(4, h.tcp.seq);
	return XDP_PASS;
}

PROGRAM(probe_read)
{
	__u64 value = 3;

	put(0, bpf_probe_read_kernel(&value, sizeof(value), (void *)w[0]));
	put(1, value);
	put(2, w[1]);
	return XDP_PASS;
}

/* No kernel allows these calls in XDP programs. Objects for other hooks contain them. */
SEC("xdp") int lifted_only(struct xdp_md *ctx)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *socket = bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), 0, 0), *full;
	struct bpf_tcp_sock *tcp;

	if (!socket)
		return XDP_DROP;
	full = bpf_sk_fullsock(socket);
	tcp = bpf_tcp_sock(socket);
	if (full && tcp && bpf_get_listener_sock(socket))
		put(0, tcp->snd_cwnd + full->state);
	bpf_sk_release(socket);
	return XDP_PASS;
}

/* --- global data --------------------------------------------------------------------------------- */

const volatile __u32 limits[4] = { 3, 0xffffffff, 17, 0 };
static const volatile __s16 negative = -5;
__u64 initialised = 40;
static volatile __u32 counter;
static __u8 bytes[7] = { 1, 2, 3 };

PROGRAM(globals)
{
	__u32 index = w[0] & 3;

	if (limits[3])
		put(9, 9);
	put(0, limits[index]);
	put(1, (__s64)negative);
	initialised += w[1];
	counter++;
	put(2, initialised);
	put(3, counter);
	bytes[w[2] & 3] ^= w[3];
	put(4, bytes[2] + bytes[0]);
	return limits[0];
}

/* --- texts --------------------------------------------------------------------------------------- */

PROGRAM(texts)
{
	char text[8] = "abcdefg";
	__u64 first = w[0] & 7, second = w[0] >> 3 & 7, third = w[3] & 7, fourth = w[3] & 3;

	/* Opaque offsets: clang would add them with `|`, which the verifier refuses. */
	asm volatile("" : "+r"(first), "+r"(second), "+r"(third), "+r"(fourth));
	text[first] ^= w[1] & 3;
	text[second] -= w[1] >> 2 & 1;
	put(0, bpf_strncmp(text, 8, "abcdefg"));
	put(1, bpf_strncmp(text, 3, "abcdefg"));
	put(2, bpf_strncmp(text, 8, "abcd"));
	put(3, bpf_strncmp(text, (w[2] & 7) + 1, "abc"));
	text[third] = w[4];
	put(4, bpf_strncmp(text, 4, "abcdefg"));
	text[fourth] = 0;
	put(5, bpf_strncmp(text, 8, "ab"));
	put(6, bpf_strncmp(text, 1, ""));
	return XDP_PASS;
}

/* --- timers -------------------------------------------------------------------------------------- */

struct timed {
	struct bpf_timer timer;
	__u32 number;
};

MAP(timers, BPF_MAP_TYPE_ARRAY, __u32, struct timed, 4, 0);

static int expired(void *map, __u32 *key, struct timed *timed)
{
	timed->number++;
	return 0;
}

/* Timers expire in decades, also those with a time since boot (BPF_F_TIMER_ABS). */
PROGRAM(timer_calls)
{
	__u32 key = w[0] & 3;
	struct timed *timed = bpf_map_lookup_elem(&timers, &key);

	if (!timed)
		return XDP_DROP;
	if (w[1] & 1)
		put(0, bpf_timer_init(&timed->timer, &timers, w[1] >> 1 & 3));
	if (w[2] & 1)
		put(1, bpf_timer_set_callback(&timed->timer, expired));
	if (w[3] & 1)
		put(2, bpf_timer_start(&timed->timer, 1ull << 61, w[3] >> 1 & 7));
	if (w[4] & 3)
		put(3, bpf_timer_cancel(&timed->timer));
	put(4, ++timed->number);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
