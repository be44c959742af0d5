//@ include head.h
//@ include draw.h
//@ include key.h
//@ if component
//@ if method == linear

struct rule {
	__u32 mask;
	__u32 value;
	__u64 action;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ${entries});
	__type(key, __u32);
	__type(value, struct rule);
} rules SEC(".maps");
//@ else

/* What is left of a word under one of the masks. */
struct masked {
	__u32 mask;
	__u32 value;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ${entries});
	__type(key, struct masked);
	__type(value, __u64);
} rules SEC(".maps");
//@ end
//@ end

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct key key;
	__u64 action = 0;
//@ include start.h
	read_key(&key, data);
	asm volatile("" : : "r"(&key) : "memory");
//@ if component
//@ if method == linear
	for (__u32 i = 0; i < ${entries}; i++) {
		__u32 at = i;
		struct rule *rule = lookup(&rules, &at);

		if (!rule)
			return XDP_ABORTED;
		if ((key.word[0] & rule->mask) == rule->value) {
			action = rule->action;
			break;
		}
	}
//@ else
	for (__u32 i = 0; i < ${masks}; i++) {
		struct masked masked = { i, key.word[0] & ~0U << i };
		__u64 *found = lookup(&rules, &masked);

		if (found) {
			action = *found;
			break;
		}
	}
//@ end
	if (!action)
		return XDP_ABORTED;
//@ end
	keep(action);
	return XDP_PASS;
}
//@ include foot.h
