/* Jumps that cannot be predicted
 * Made for the experiment branches-random; count = 64.
 */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]
#define __inline inline __attribute__((always_inline))
#define keep(value) asm volatile("" : : "r"(value))	/* it has to be computed */
#define forget(value) asm volatile("" : "+r"(value))	/* it may be anything */

static void *(*const lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;

/* 64 bits, of which half are set. */
#define BITS 0x9d3c6a57e0a6b178ULL

__u32 drawn;

/* Each turn asks for each of the bits once, so however they are ordered, as many jumps are taken. */
static __inline __u64 turn(__u64 sum, __u32 order)
{
	for (__u32 i = 0; i < 64; i++) {
		__u32 at = (i * (order | 1) + (order >> 8)) & 63;
		__u64 bit = BITS >> at & 1;

		if (bit)
			asm volatile("%0 += 3" : "+r"(sum));
		forget(sum);
	}
	return sum;
}

SEC("xdp")
int program(struct xdp_md *ctx)
{
	__u64 sum = 0;
	__u32 order = 0x01234567;
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + 64 > end)
		return XDP_ABORTED;
	drawn = drawn * 1664525 + 1013904223; /* a linear congruential generator */
	order = drawn >> 8;
	forget(order);
	sum = turn(sum, order);
	keep(sum);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
