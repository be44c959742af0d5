/* A ternary look-up entry by entry, by entries
 * Made for the experiment table-ternary-linear-entries; entries = 3.
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

struct rule {
	__u32 mask;
	__u32 value;
	__u64 action;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct rule);
} rules SEC(".maps");

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct key key;
	__u64 action = 0;
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + 64 > end)
		return XDP_ABORTED;
	read_key(&key, data);
	asm volatile("" : : "r"(&key) : "memory");
	for (__u32 i = 0; i < 3; i++) {
		__u32 at = i;
		struct rule *rule = lookup(&rules, &at);

		if (!rule)
			return XDP_ABORTED;
		if ((key.word[0] & rule->mask) == rule->value) {
			action = rule->action;
			break;
		}
	}
	if (!action)
		return XDP_ABORTED;
	keep(action);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
