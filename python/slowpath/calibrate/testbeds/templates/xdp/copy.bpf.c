//@ include head.h

struct value {
	__u64 word[${words}];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct value);
} state SEC(".maps");

SEC("xdp")
int program(struct xdp_md *ctx)
{
	volatile struct value *value;
	__u32 zero = 0;
//@ include start.h
	volatile __u64 *word = data + ${payload};

	value = lookup(&state, &zero);
	if (!value)
		return XDP_ABORTED;
	keep(word);
//@ if component
//@ repeat words as i
	value->word[${i}] = word[${i}];
//@ end
//@ end
	return XDP_PASS;
}
//@ include foot.h
