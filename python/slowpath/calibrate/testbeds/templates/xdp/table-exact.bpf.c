//@ include head.h
//@ include draw.h
//@ include key.h

struct value {
	__u64 word[${value_words}];
};
//@ if component
//@ repeat tables as t

struct {
	__uint(type, BPF_MAP_TYPE_${map_type});
	__uint(max_entries, ${max_entries});
	__type(key, struct key);
	__type(value, struct value);
} table${t} SEC(".maps");
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
	struct value *value;

//@ repeat tables as t
//@ repeat repeats as r
	value = lookup(&table${t}, &key);
//@ if hit
	if (!value)
		return XDP_ABORTED;
	sum += value->word[0];
	forget(sum);
//@ else
	if (value)
		return XDP_ABORTED;
	sum++;
	forget(sum);
//@ end
//@ end
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
