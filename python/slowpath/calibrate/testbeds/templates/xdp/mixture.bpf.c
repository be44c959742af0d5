//@ include head.h

struct value {
	__u64 word[32];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct value);
} table SEC(".maps");

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct value *state;
	__u32 zero = 0;
//@ include start.h
	void *packet = data + ${payload};
	__u64 operand = *(volatile __u32 *)data | 3;
//@ repeat 5 as r
	__u64 value${r} = operand + ${r};
//@ end

	state = lookup(&table, &zero);
	if (!state)
		return XDP_ABORTED;
//@ repeat 5 as r
	forget(value${r});
//@ end
//@ if component
//@ if turns == 1
	${mixture}
//@ else
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < ${turns}; i++) {
	${mixture}
	}
//@ end
//@ end
//@ repeat 5 as r
	keep(value${r});
//@ end
	return XDP_PASS;
}
//@ include foot.h
