/* Tail calls
 * Made for the experiment tail-calls; calls = 2.
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

static long (*const tail_call)(void *ctx, void *programs, __u32 at) = (void *)BPF_FUNC_tail_call;

int step0(struct xdp_md *ctx);
int step1(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} chain SEC(".maps") = {
	.values = {
		[0] = (void *)&step0,
		[1] = (void *)&step1,
	},
};

/* The call behind the last one finds no program. */
SEC("xdp")
int step0(struct xdp_md *ctx)
{
	if (0 + 1 < 2)
		tail_call(ctx, &chain, 0 + 1);
	return XDP_PASS;
}

SEC("xdp")
int step1(struct xdp_md *ctx)
{
	if (1 + 1 < 2)
		tail_call(ctx, &chain, 1 + 1);
	return XDP_PASS;
}

SEC("xdp")
int program(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + 64 > end)
		return XDP_ABORTED;
	tail_call(ctx, &chain, 0);
	return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
