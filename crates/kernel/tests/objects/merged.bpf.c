// Calls merged from two by the compiler: callback, program array or map differ between paths.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "words.h"

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

static long twist(__u32 index, void *context)
{
	struct sum *sum = context;

	sum->value ^= index * 3;
	sum->value += 7;
	sum->calls += 256;
	return sum->value > sum->stop * 2;
}

static long stop(__u32 index, void *context)
{
	return 1;
}

/* Hides the pointer's value from the compiler. */
#define HIDE(pointer) asm volatile("" : "+r"(pointer))

PROGRAM(one_of_callbacks)
{
	struct sum sum = { 0, w[2] & 63, 0 };
	void *callback = w[1] & 1 ? (void *)add : w[1] & 2 ? (void *)twist : (void *)stop;
	__u32 rounds = w[0] & 1 ? w[0] >> 1 & 15 : (1 << 23) + 1 + (w[0] >> 40);

	HIDE(callback);
	put(0, bpf_loop(rounds, callback, &sum, 0));
	put(1, sum.value);
	put(2, sum.calls);
	return XDP_PASS;
}

/* The helper uses the low 32 bits of the number of rounds; no other code truncates it. */
PROGRAM(wide_rounds)
{
	struct sum sum = { 0, 200, 0 };
	void *callback = w[1] & 1 ? (void *)add : (void *)twist;
	__u64 rounds = (w[0] & 15) | (w[2] & 1) << 32 | (w[2] & 2) << 30;

	HIDE(callback);
	HIDE(rounds);
	put(0, ((long (*)(__u64, void *, void *, __u64))BPF_FUNC_loop)(rounds, callback, &sum, 0));
	put(1, sum.value);
	put(2, sum.calls);
	return XDP_PASS;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

static long count(void *map, __u32 *key, __u64 *value, struct sum *sum)
{
	sum->calls++;
	return sum->calls > sum->stop;
}

static long gather(void *map, __u32 *key, __u64 *value, struct sum *sum)
{
	sum->value += *value;
	sum->calls += 256;
	return 0;
}

PROGRAM(one_of_visits)
{
	struct sum sum = { 0, w[3] & 3, 0 };
	void *callback = w[1] & 1 ? (void *)count : (void *)gather;
	__u32 key = w[0] & 3;

	bpf_map_update_elem(&table, &key, &w[2], 0);
	HIDE(callback);
	put(0, bpf_for_each_map_elem(&table, callback, &sum, 0));
	put(1, sum.value);
	put(2, sum.calls);
	return XDP_PASS;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u64);
	__type(value, struct input);
} wide SEC(".maps");

/* On the path that does not use the map, its register holds a number. */
PROGRAM(one_of_maps_kept)
{
	__u64 one = w[0] & 1;
	__u64 key = w[1] & 3, *found;
	struct input value = {};
	void *kept, *map;

	value.w[0] = w[3];
	HIDE(one);
	kept = one ? (void *)&wide : (void *)w[2];
	HIDE(kept);
	put(2, w[4]);
	HIDE(one);
	map = one ? kept : (void *)&table;
	HIDE(map);
	put(0, bpf_map_update_elem(map, &key, &value, w[2] & 3));
	if (w[4] & 1)
		put(1, bpf_map_delete_elem(map, &key));
	found = bpf_map_lookup_elem(map, &key);
	put(3, found ? *found : 77);
	return XDP_PASS;
}

SEC("xdp") int limit(struct xdp_md *ctx)
{
	put(3, 33);
	return XDP_DROP;
}

SEC("xdp") int cookie(struct xdp_md *ctx)
{
	put(4, 44);
	return XDP_TX;
}

#define CALLS(name, ...)                                                                           \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                                             \
		__uint(max_entries, 4);                                                            \
		__uint(key_size, 4);                                                               \
		__array(values, int(void *));                                                      \
	} name SEC(".maps") = { .values = { __VA_ARGS__ } }

CALLS(limits, [0] = (void *)&limit);
CALLS(cookies, [1] = (void *)&cookie, [2] = (void *)&limit);

PROGRAM(one_of_arrays)
{
	void *calls = w[0] & 1 ? (void *)&limits : (void *)&cookies;

	put(3, 0);
	put(4, 0);
	HIDE(calls);
	bpf_tail_call(ctx, calls, w[1] & 3);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
