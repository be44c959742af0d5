//@ include head.h
//@ include draw.h
//@ include key.h

struct value {
	__u64 word[${value_words}];
};
//@ if component

struct {
	__uint(type, BPF_MAP_TYPE_${map_type});
	__uint(max_entries, ${entries});
	__type(key, __u32);
	__type(value, struct value);
} table SEC(".maps");
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
	struct value *value;

//@ repeat repeats as r
	value = lookup(&table, &key);
	if (!value)
		return XDP_ABORTED;
	sum += value->word[0];
	forget(sum);
	asm volatile("" : : "r"(&key) : "memory");
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
