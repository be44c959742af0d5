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
	__u32 mask[1];
	__u32 value[1];
	__u64 action[1];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct rule);
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
	__u32 at, differs;
	__u64 found;
	struct rule *rule;

	found = 0;
	forget(found);
	for (__u32 i = 0; i < 3; i++) {
		at = i;
		rule = lookup(&table0, &at);
		if (!rule)
			return XDP_ABORTED;
		differs = (key.word[0] & rule->mask[0]) ^ rule->value[0];
		forget(differs);
		if (!differs) {
			found = rule->action[0];
			break;
		}
	}
	if (!found)
		return XDP_ABORTED;
	sum += found;
	forget(sum);
	keep(sum);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
