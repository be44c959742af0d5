//@ include head.h
//@ include draw.h
//@ include key.h

struct value {
	__u64 word[${accesses}];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ${entries});
	__type(key, __u32);
	__type(value, struct value);
} state SEC(".maps");

SEC("xdp")
int program(struct xdp_md *ctx)
{
	volatile struct value *value;
	struct key key;
	__u64 sum = 1;
//@ include start.h
	read_key(&key, data);
	asm volatile("" : : "r"(&key) : "memory");
	value = lookup(&state, &key);
	if (!value)
		return XDP_ABORTED;
	forget(sum);
//@ if component
//@ repeat accesses as i
//@ if operation == read
	sum += value->word[${i}];
//@ end
//@ if operation == write
	value->word[${i}] = sum;
//@ end
//@ if operation == atomic-add
	__sync_fetch_and_add(&value->word[${i}], sum);
//@ end
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
