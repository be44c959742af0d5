/* The length of prefixes of a table of 100, with addresses of IPv6
 * Made for the experiment table-lpm-ipv6-prefix-bits; prefix_bits = 48.
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

/* Which of 100 values this packet has, as a load generator would choose it. */
__u32 drawn;

static __inline __u32 draw(void)
{
	__u32 values = 100;

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

struct prefix {
	__u32 bits;
	__u8 address[16]; /* as in a packet: the first byte is the highest */
};

struct value {
	__u64 word[1];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 100);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct value);
} table0 SEC(".maps");

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct prefix prefix = { .bits = 128 };
	__u32 number;
	struct key key;
	__u64 sum = 0;
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + 64 > end)
		return XDP_ABORTED;
	read_key(&key, data);
	/* Prefixes are spread: an odd multiple, in the 32 high bits but the first one. */
	number = (key.word[0] * 2654435761U) << (33 - 32) >> 1;
	number = __builtin_bswap32(number);
	/* All have the 2 bytes before these in common. */
	__builtin_memcpy(prefix.address, &key.word[1], 2);
	__builtin_memcpy(prefix.address + 2, &number, 4);
	__builtin_memcpy(prefix.address + 2 + 4, (void *)&key.word[1] + 2, 10);
	prefix.address[0] &= 0x7f;
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
