//@ include head.h
//@ include draw.h
//@ include key.h
//@ if component
//@ if method == linear

struct rule {
	__u32 mask[${key_words}];
	__u32 value[${key_words}];
	__u64 action[${value_words}];
};
//@ repeat tables as t

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ${entries});
	__type(key, __u32);
	__type(value, struct rule);
} table${t} SEC(".maps");
//@ end
//@ else

/* A key under one of the masks. */
struct masked {
	__u32 mask;
	__u32 value[${key_words}];
};

struct action {
	__u64 word[${value_words}];
};
//@ repeat tables as t

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ${entries});
	__type(key, struct masked);
	__type(value, struct action);
} table${t} SEC(".maps");
//@ end
//@ end
//@ end

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct key key;
	__u64 sum = 0;
//@ include start.h
	read_key(&key, data);
	asm volatile("" : : "r"(&key) : "memory");
	forget(sum);
//@ if component
//@ if method == linear
	__u32 at, differs;
	__u64 found;
	struct rule *rule;
//@ else
	struct action *action;
//@ end

//@ repeat tables as t
//@ repeat repeats as r
//@ if method == linear
	found = 0;
	forget(found);
	for (__u32 i = 0; i < ${entries}; i++) {
		at = i;
		rule = lookup(&table${t}, &at);
		if (!rule)
			return XDP_ABORTED;
		differs = (key.word[0] & rule->mask[0]) ^ rule->value[0];
		forget(differs);
//@ repeat other_words as w
		differs |= (key.word[1 + ${w}] & rule->mask[1 + ${w}]) ^ rule->value[1 + ${w}];
		forget(differs);
//@ end
		if (!differs) {
			found = rule->action[0];
			break;
		}
	}
	if (!found)
		return XDP_ABORTED;
	sum += found;
//@ else
	for (__u32 i = 0; i < ${masks}; i++) {
		struct masked masked = { i, { key.word[0] & ~0U << i } };

//@ repeat other_words as w
		masked.value[1 + ${w}] = key.word[1 + ${w}];
//@ end
		action = lookup(&table${t}, &masked);
		if (action)
			break;
	}
	if (!action)
		return XDP_ABORTED;
	sum += action->word[0];
//@ end
	forget(sum);
//@ end
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
