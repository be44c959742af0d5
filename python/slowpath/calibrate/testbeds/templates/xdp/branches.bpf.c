//@ include head.h

/* 64 bits, of which half are set. */
#define BITS 0x9d3c6a57e0a6b178ULL

//@ if not predictable
__u32 drawn;

//@ end
/* Each turn asks for each of the bits once, so however they are ordered, as many jumps are taken. */
static __inline __u64 turn(__u64 sum, __u32 order)
{
	for (__u32 i = 0; i < 64; i++) {
		__u32 at = (i * (order | 1) + (order >> 8)) & 63;
		__u64 bit = BITS >> at & 1;

//@ if component
		if (bit)
			asm volatile("%0 += 3" : "+r"(sum));
//@ else
		sum += bit;
//@ end
		forget(sum);
	}
	return sum;
}

SEC("xdp")
int program(struct xdp_md *ctx)
{
	__u64 sum = 0;
	__u32 order = 0x01234567;
//@ include start.h
//@ repeat turns as t
//@ if not predictable
	drawn = drawn * 1664525 + 1013904223; /* a linear congruential generator */
	order = drawn >> 8;
//@ end
	forget(order);
	sum = turn(sum, order);
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
