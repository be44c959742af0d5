/* Programs that use a map several times. The result of a call limits the results of later calls.
 * The number of memory accesses shows if the slow path is possible. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c consistent.bpf.c -o consistent.bpf.o
 *   llvm-strip -g consistent.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 120
#define MAP(name, map_type, entries, flags, key_type, value_type)                                  \
	struct {                                                                                   \
		__uint(type, map_type);                                                            \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, flags);                                                          \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

struct prefix {
	__u32 bits, address;
};

MAP(two, BPF_MAP_TYPE_HASH, 2, 0, __u32, __u64);
MAP(few, BPF_MAP_TYPE_HASH, 3, 0, __u32, __u64);
MAP(many, BPF_MAP_TYPE_HASH, 64, 0, __u32, __u64);
MAP(recent, BPF_MAP_TYPE_LRU_HASH, 2, 0, __u32, __u64);
MAP(recent_per_cpu, BPF_MAP_TYPE_LRU_PERCPU_HASH, 2, 0, __u32, __u64);
MAP(routes, BPF_MAP_TYPE_LPM_TRIE, 64, BPF_F_NO_PREALLOC, struct prefix, __u64);

struct inner_table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} first_table SEC(".maps"), second_table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct inner_table);
} tables SEC(".maps") = {.values = {&first_table, &second_table}};

struct inner_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__uint(map_flags, BPF_F_INNER_MAP);
	__type(key, __u32);
	__type(value, __u64);
} first_array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct inner_array);
} arrays SEC(".maps") = {.values = {&first_array, &first_array}};

struct inner_trie {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 64);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} first_trie SEC(".maps"), second_trie SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct inner_trie);
} tries SEC(".maps") = {.values = {&first_trie, &second_trie}};

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

/* Number of elements of the maps in a map of maps. */
static __always_inline void *table(__u32 number)
{
	return bpf_map_lookup_elem(&tables, &number);
}

static __always_inline long insert(void *map, __u32 key)
{
	__u64 value = 7;

	return bpf_map_update_elem(map, &key, &value, BPF_NOEXIST);
}

#define E2BIG -7

SEC("xdp")
int inner_full_and_then_not(struct xdp_md *ctx)
{
	void *map = table(0);

	if (!map || insert(map, 1) != E2BIG || insert(map, 2))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int inner_full_behind_a_delete(struct xdp_md *ctx)
{
	void *map = table(0);
	__u32 key = 1;

	if (!map || bpf_map_delete_elem(map, &key) || insert(map, 2) != E2BIG)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int inner_full_behind_an_insertion(struct xdp_md *ctx)
{
	void *map = table(0);

	if (!map || insert(map, 1) || insert(map, 2) != E2BIG)
		return XDP_PASS;
	return slow(ctx);
}

/* One of two maps can be full. */
SEC("xdp")
int other_inner_full(struct xdp_md *ctx)
{
	void *map = table(0), *other = table(1);

	if (!map || !other || insert(map, 1) != E2BIG || insert(other, 2))
		return XDP_PASS;
	return slow(ctx);
}

/* Only the next update that replaces an element overwrites the old value of an element of an inner
 * map. */
#define INNER_REUSE(name, wanted)                                                                  \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		void *map = table(0);                                                              \
		__u32 key = 1, other = 2;                                                          \
		__u64 new = 7, newer = 8;                                                          \
		volatile __u64 *value;                                                             \
                                                                                                   \
		if (!map)                                                                          \
			return XDP_PASS;                                                           \
		value = bpf_map_lookup_elem(map, &key);                                            \
		if (!value)                                                                        \
			return XDP_PASS;                                                           \
		*value = 5;                                                                        \
		if (bpf_map_update_elem(map, &key, &new, BPF_EXIST) ||                             \
		    bpf_map_update_elem(map, &other, &newer, BPF_EXIST) || *value != wanted)       \
			return XDP_PASS;                                                           \
		return slow(ctx);                                                                  \
	}

INNER_REUSE(inner_element_is_used_again, 8)
INNER_REUSE(inner_element_does_not_stay, 5)

/* Sizes of the arrays in an array of maps. */
SEC("xdp")
int inner_array_grows(struct xdp_md *ctx)
{
	__u32 zero = 0, index = 5;
	void *map = bpf_map_lookup_elem(&arrays, &zero);

	if (!map || bpf_map_lookup_elem(map, &index) || !bpf_map_lookup_elem(map, &index))
		return XDP_PASS;
	return slow(ctx);
}

/* Iterations of bpf_for_each_map_elem. */
struct rounds {
	__u32 count, key, again;
};

static long note(void *map, __u32 *key, __u64 *value, struct rounds *rounds)
{
	rounds->again |= rounds->count && rounds->key == *key;
	rounds->key = *key;
	rounds->count++;
	return 0;
}

SEC("xdp")
int same_element_in_two_rounds(struct xdp_md *ctx)
{
	struct rounds rounds = {};

	bpf_for_each_map_elem(&two, note, &rounds, 0);
	if (!rounds.again)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int two_elements_in_two_rounds(struct xdp_md *ctx)
{
	struct rounds rounds = {};

	if (bpf_for_each_map_elem(&two, note, &rounds, 0) != 2 || rounds.key != 9)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int round_of_an_absent_element(struct xdp_md *ctx)
{
	struct rounds rounds = {};
	__u32 key = 1;

	if (bpf_map_lookup_elem(&two, &key))
		return XDP_PASS;
	bpf_for_each_map_elem(&two, note, &rounds, 0);
	if (rounds.key != 1)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int no_round_of_an_element(struct xdp_md *ctx)
{
	struct rounds rounds = {};
	__u32 key = 1;

	if (!bpf_map_lookup_elem(&two, &key))
		return XDP_PASS;
	if (bpf_for_each_map_elem(&two, note, &rounds, 0))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int absent_behind_its_round(struct xdp_md *ctx)
{
	struct rounds rounds = {};

	bpf_for_each_map_elem(&two, note, &rounds, 0);
	if (!rounds.count || bpf_map_lookup_elem(&two, &rounds.key))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int found_without_a_round(struct xdp_md *ctx)
{
	struct rounds rounds = {};
	__u32 key = 1;

	if (bpf_for_each_map_elem(&two, note, &rounds, 0) != 1 || rounds.key == 1)
		return XDP_PASS;
	if (!bpf_map_lookup_elem(&two, &key))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int found_in_a_round(struct xdp_md *ctx)
{
	struct rounds rounds = {};
	__u32 key = 1;

	if (!bpf_map_lookup_elem(&two, &key))
		return XDP_PASS;
	if (bpf_for_each_map_elem(&two, note, &rounds, 0) != 2 || rounds.key != 3)
		return XDP_PASS;
	return slow(ctx);
}

static long clear_others(void *map, __u32 *key, __u64 *value, struct rounds *rounds)
{
	__u32 other = !*key;

	rounds->again |= !bpf_map_delete_elem(map, &other);
	rounds->count++;
	return 0;
}

SEC("xdp")
int rounds_that_delete_others(struct xdp_md *ctx)
{
	struct rounds rounds = {};

	if (bpf_for_each_map_elem(&two, clear_others, &rounds, 0) != 2 || !rounds.again)
		return XDP_PASS;
	return slow(ctx);
}

static long remove(void *map, __u32 *key, __u64 *value, struct rounds *rounds)
{
	__u32 gone = *key;

	if (bpf_map_delete_elem(map, &gone))
		rounds->again = 1;
	rounds->count++;
	return 0;
}

SEC("xdp")
int rounds_that_delete(struct xdp_md *ctx)
{
	struct rounds rounds = {};

	if (bpf_for_each_map_elem(&two, remove, &rounds, 0) != 2 || rounds.again)
		return XDP_PASS;
	return slow(ctx);
}

/* Longest-prefix-match tries. */
#define HOST(n) __builtin_bswap32(0x0a000000 | (n))

static __always_inline __u64 *find(void *trie, __u32 bits, __u32 address)
{
	struct prefix key = {bits, address};

	return bpf_map_lookup_elem(trie, &key);
}

/* The first iteration finds the covering prefix, the last one finds no host. */
struct walk {
	__u32 host, found, missed;
};

static long step(__u32 round, struct walk *walk)
{
	if (find(&routes, round ? 32 : 8, HOST(round)))
		walk->found |= 1 << round;
	else
		walk->missed |= 1 << round;
	return 0;
}

SEC("xdp")
int missed_in_a_later_round(struct xdp_md *ctx)
{
	struct walk walk = {};

	bpf_loop(4, step, &walk, 0);
	if (!(walk.found & 1) || !(walk.missed & 8))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int found_in_a_later_round(struct xdp_md *ctx)
{
	struct walk walk = {};

	bpf_loop(4, step, &walk, 0);
	if (walk.found != 8)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int missed_in_the_eighth_round(struct xdp_md *ctx)
{
	struct walk walk = {};

	bpf_loop(8, step, &walk, 0);
	if (!(walk.found & 1) || !(walk.missed & 0x80))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int missed_in_the_tenth_round(struct xdp_md *ctx)
{
	struct walk walk = {};

	bpf_loop(10, step, &walk, 0);
	if (!(walk.found & 1) || !(walk.missed & 0x200))
		return XDP_PASS;
	return slow(ctx);
}

/* More call sites than the analysis compares. A run passes three of them. */
SEC("xdp")
int one_of_many_places(struct xdp_md *ctx)
{
	__u32 queue = ctx->rx_queue_index;
	__u64 *found;

	if (!find(&routes, 8, HOST(0)))
		return XDP_PASS;
	switch (queue) {
#define PLACE(n)                                                                                   \
	case n:                                                                                    \
		found = find(&routes, 32, HOST(n + 1));                                            \
		asm volatile("" : : "r"(found), "i"(n));                                           \
		break;
		PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4)
		PLACE(5) PLACE(6) PLACE(7) PLACE(8) PLACE(9)
	default:
		return XDP_PASS;
	}
	if (find(&routes, 32, HOST(77)))
		return XDP_PASS;
	return slow(ctx);
}

/* The answers of each trie in a map of maps are consistent. Different tries are independent. */
SEC("xdp")
int host_missed_in_an_inner_trie(struct xdp_md *ctx)
{
	__u32 zero = 0;
	void *trie = bpf_map_lookup_elem(&tries, &zero);

	if (!trie || !find(trie, 8, HOST(0)) || find(trie, 32, HOST(1)))
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int host_missed_in_another_trie(struct xdp_md *ctx)
{
	__u32 zero = 0, one = 1;
	void *trie = bpf_map_lookup_elem(&tries, &zero);
	void *other = bpf_map_lookup_elem(&tries, &one);

	if (!trie || !other || !find(trie, 8, HOST(0)) || find(other, 32, HOST(1)))
		return XDP_PASS;
	return slow(ctx);
}

/* Evictions from LRU maps. */
static __always_inline int has(void *map, __u32 key)
{
	return bpf_map_lookup_elem(map, &key) != 0;
}

#define EVICTION(name, map, key, flags, left, possible)                                            \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		__u32 place = key;                                                                 \
		__u64 new = 7;                                                                     \
                                                                                                   \
		if (!has(&map, 1) || !has(&map, 2) ||                                              \
		    bpf_map_update_elem(&map, &place, &new, flags))                                \
			return XDP_PASS;                                                           \
		if (!(left))                                                                       \
			return XDP_PASS;                                                           \
		return slow(ctx);                                                                  \
	}

EVICTION(both_survive_an_insertion, recent, 3, BPF_ANY, has(&recent, 1) && has(&recent, 2), 0)
EVICTION(one_survives_an_insertion, recent, 3, BPF_ANY, !has(&recent, 1) && has(&recent, 2), 1)
EVICTION(other_survives_a_replacement, recent, 1, BPF_EXIST, has(&recent, 2), 0)
EVICTION(per_cpu_both_survive, recent_per_cpu, 3, BPF_ANY,
	 has(&recent_per_cpu, 1) && has(&recent_per_cpu, 2), 0)
EVICTION(per_cpu_both_survive_an_update, recent_per_cpu, 1, BPF_EXIST,
	 has(&recent_per_cpu, 1) && has(&recent_per_cpu, 2), 1)

/* Known properties of rings. */
SEC("xdp")
int ring_of_another_size(struct xdp_md *ctx)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) == 65536)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int more_data_than_the_ring_has(struct xdp_md *ctx)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) <= 65536)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int unknown_query(struct xdp_md *ctx)
{
	if (!bpf_ringbuf_query(&ring, 9))
		return XDP_PASS;
	return slow(ctx);
}

char _license[] SEC("license") = "GPL";
