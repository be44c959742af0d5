//@ include head.h
//@ include draw.h
//@ include key.h
//@ if component
//@ if method == jhash

/* Jenkins's hash lookup3, as the kernel and DPDK have it. */
#define rotate(value, bits) ((value) << (bits) | (value) >> (32 - (bits)))

static __inline __u32 hash(const struct key *key)
{
	__u32 a = 0xdeadbeef + ${key_bytes}, b = a, c = a;

//@ repeat blocks as i
	a += key->word[3 * ${i}];
	b += key->word[3 * ${i} + 1];
	c += key->word[3 * ${i} + 2];
	a = (a - c) ^ rotate(c, 4), c += b;
	b = (b - a) ^ rotate(a, 6), a += c;
	c = (c - b) ^ rotate(b, 8), b += a;
	a = (a - c) ^ rotate(c, 16), c += b;
	b = (b - a) ^ rotate(a, 19), a += c;
	c = (c - b) ^ rotate(b, 4), b += a;
//@ end
	a += key->word[${rest_word}];
//@ if second_rest
	b += key->word[${rest_word} + 1];
//@ end
//@ if third_rest
	c += key->word[${rest_word} + 2];
//@ end
	c = (c ^ b) - rotate(b, 14);
	a = (a ^ c) - rotate(c, 11);
	b = (b ^ a) - rotate(a, 25);
	c = (c ^ b) - rotate(b, 16);
	a = (a ^ c) - rotate(c, 4);
	b = (b ^ a) - rotate(a, 14);
	return (c ^ b) - rotate(b, 24);
}
//@ else

static const __u32 remainder[256] = {
	${remainders}
};

static __inline __u32 hash(const struct key *key)
{
	const __u8 *byte = (const __u8 *)key;
	__u32 crc = ~0U;

//@ repeat key_bytes as i
	crc = remainder[(crc ^ byte[${i}]) & 0xff] ^ crc >> 8;
//@ end
	return ~crc;
}
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
//@ repeat hashes as i
	asm volatile("" : : "r"(&key) : "memory"); /* each hash reads the key again */
	sum += hash(&key);
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
