/* A look-up of the longest prefix, by prefixes
 * Made for the experiment table-lpm-entries; entries = 3.
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
	__u32 word[1];
};

/* The key of a packet: the words from byte 30 on. */
static __inline void read_key(struct key *key, void *data)
{
	volatile __u32 *from = data + 30;

	key->word[0] = draw();
}

struct prefix {
	__u32 bits;
	__u8 address[4]; /* as in a packet: the first byte is the highest */
};

struct value {
	__u64 word[1];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 3);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct value);
} table0 SEC(".maps");

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct prefix prefix = { .bits = 32 };
	__u32 number;
	struct key key;
	__u64 sum = 0;
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + 64 > end)
		return XDP_ABORTED;
	read_key(&key, data);
	/* Prefixes are spread: an odd multiple, in the 24 high bits but the first one. */
	number = (key.word[0] * 2654435761U) << (33 - 24) >> 1;
	number = __builtin_bswap32(number);
	__builtin_memcpy(prefix.address + 0, &number, 4);
	asm volatile("" : : "r"(&prefix) : "memory");
	forget(sum);
	struct value *value;

	value = lookup(&table0, &prefix);
	if (!value)
		return XDP_ABORTED;
	sum += value->word[0];
	forget(sum);
	keep(sum);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
