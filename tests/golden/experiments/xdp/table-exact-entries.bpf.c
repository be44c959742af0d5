/* A look-up in an exact-match table, by its entries
 * Made for the experiment table-exact-entries; entries = 3.
 */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]
#define __inline inline __attribute__((always_inline))
#define keep(value) asm volatile("" : : "r"(value))	/* it has to be computed */
#define forget(value) asm volatile("" : "+r"(value))	/* it may be anything */

static void *(*const lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;

/* Which of 3 values this packet has, as a load generator would choose it. */
__u32 drawn;

static __inline __u32 draw(void)
{
	__u32 values = 3;

	forget(values);
	drawn = drawn * 1664525 + 1013904223; /* a linear congruential generator */
	return (__u64)drawn * values >> 32;
}

struct key {
	__u32 word[4];
};

/* The key of a packet: the words from byte 30 on. */
static __inline void read_key(struct key *key, void *data)
{
	volatile __u32 *from = data + 30;

	key->word[0] = draw();
	key->word[1 + 0] = from[1 + 0];
	key->word[1 + 1] = from[1 + 1];
	key->word[1 + 2] = from[1 + 2];
}

struct value {
	__u64 word[8];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 3);
	__type(key, struct key);
	__type(value, struct value);
} table0 SEC(".maps");

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct key key;
	__u64 sum = 0;
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + 64 > end)
		return XDP_ABORTED;
	read_key(&key, data);
	asm volatile("" : : "r"(&key) : "memory");
	forget(sum);
	struct value *value;

	value = lookup(&table0, &key);
	if (!value)
		return XDP_ABORTED;
	sum += value->word[0];
	forget(sum);
	keep(sum);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
