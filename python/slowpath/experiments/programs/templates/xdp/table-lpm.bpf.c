//@ include head.h
//@ include draw.h
//@ include key.h

struct prefix {
	__u32 bits;
	__u32 address; /* as in a packet: the first byte is the highest */
};

struct value {
	__u64 word[${value_words}];
};
//@ if component

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, ${entries});
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct value);
} table SEC(".maps");
//@ end

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct prefix prefix = { .bits = 32 };
	struct key key;
	__u64 sum = 0;
//@ include start.h
	read_key(&key, data);
	/* Prefixes are spread: an odd multiple, in the ${prefix_bits} high bits but the first one. */
	prefix.address = (key.word[0] * ${spread}U) << (33 - ${prefix_bits}) >> 1;
//@ if not hit
	prefix.address |= 1U << 31;
//@ end
	prefix.address = __builtin_bswap32(prefix.address);
	asm volatile("" : : "r"(&prefix) : "memory");
	forget(sum);
//@ if component
	struct value *value;

//@ repeat repeats as r
	value = lookup(&table, &prefix);
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
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
