//@ include head.h
//@ include draw.h
//@ include key.h

struct prefix {
	__u32 bits;
	__u8 address[${key_bytes}]; /* big-endian, as in a packet */
};

struct value {
	__u64 word[${value_words}];
};
//@ if component
//@ repeat tables as t

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, ${entries});
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct value);
} table${t} SEC(".maps");
//@ end
//@ end

SEC("xdp")
int program(struct xdp_md *ctx)
{
	struct prefix prefix = { .bits = ${key_bits} };
	__u32 number;
	struct key key;
	__u64 sum = 0;
//@ include start.h
	read_key(&key, data);
	/* An odd multiple spreads prefixes over the ${own_bits} high bits, except the first bit. */
	number = (key.word[0] * ${spread}U) << (33 - ${own_bits}) >> 1;
	number = __builtin_bswap32(number);
//@ if front
	/* All addresses have the same first ${front} bytes. */
	__builtin_memcpy(prefix.address, &key.word[1], ${front});
//@ end
	__builtin_memcpy(prefix.address + ${front}, &number, 4);
//@ if behind
	__builtin_memcpy(prefix.address + ${front} + 4, (void *)&key.word[1] + ${front}, ${behind});
//@ end
//@ if hit
//@ if front
	prefix.address[0] &= 0x7f;
//@ end
//@ else
	prefix.address[0] |= 0x80;
//@ end
	asm volatile("" : : "r"(&prefix) : "memory");
	forget(sum);
//@ if component
	struct value *value;

//@ repeat tables as t
//@ repeat repeats as r
	value = lookup(&table${t}, &prefix);
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
