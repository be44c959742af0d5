/* A ternary look-up mask by mask, by masks
 * Made for the experiment table-ternary-masks; masks = 4.
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

struct key {
	__u32 word[1];
};

/* The key of a packet: the words from byte 42 on. */
static __inline void read_key(struct key *key, void *data)
{
	volatile __u32 *from = data + 42;

	key->word[0] = from[0];
}

/* What is left of a key under one of the masks. */
struct masked {
	__u32 mask;
	__u32 value[1];
};

struct action {
	__u64 word[1];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct masked);
	__type(value, struct action);
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
	struct action *action;

	for (__u32 i = 0; i < 4; i++) {
		struct masked masked = { i, { key.word[0] & ~0U << i } };

		action = lookup(&table0, &masked);
		if (action)
			break;
	}
	if (!action)
		return XDP_ABORTED;
	sum += action->word[0];
	forget(sum);
	keep(sum);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
