//@ include head.h

static __s64 (*const csum_diff)(const void *from, __u32 from_size, const void *to, __u32 to_size,
				__u32 seed) = (void *)BPF_FUNC_csum_diff;

/* Folds a sum of up to 2^32 words into a 16-bit one's complement sum (RFC 1071). */
static __inline __u16 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

SEC("xdp")
int program(struct xdp_md *ctx)
{
	__u64 sum = 0;
//@ include start.h
	volatile __u32 *word = data + ${payload};

	forget(sum);
//@ if component
//@ if method == loop
//@ repeat words as i
	sum += word[${i}];
//@ end
//@ end
//@ if method == update
//@ repeat words as i
	sum += (__u64)(__u32)~word[${i}] + ${i}; /* RFC 1624, equation 3 */
	forget(sum); /* enforces this order, because other orders spill words to the stack */
//@ end
//@ end
//@ if method == helper
	sum = (__u32)csum_diff((void *)0, 0, (void *)word, ${bytes}, 0);
//@ end
//@ end
	sum = fold(sum);
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
