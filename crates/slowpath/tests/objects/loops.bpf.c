/* One XDP program for each kind of loop whose bound the analysis must find. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c loops.bpf.c -o loops.bpf.o
 *   llvm-strip -g loops.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 6);
	__type(key, __u32);
	__type(value, __u64);
} slots SEC(".maps");

static __u64 total;

#define DATA(ctx) ((void *)(long)(ctx)->data)
#define END(ctx) ((void *)(long)(ctx)->data_end)

/* A counter in a register: 17 iterations. */
SEC("xdp")
int register_counter(struct xdp_md *ctx)
{
	__u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < 17; i++) {
		total += i;
		asm volatile("" : "+r"(i));
	}
	return XDP_PASS;
}

/* A counter in the stack frame: 9 iterations. */
SEC("xdp")
int stack_counter(struct xdp_md *ctx)
{
	volatile __u32 i;

	for (i = 0; i < 9; i++)
		total++;
	return XDP_PASS;
}

/* A byte of the packet has the number of iterations, at most 40. */
SEC("xdp")
int packet_counter(struct xdp_md *ctx)
{
	__u8 *data = DATA(ctx);
	__u32 i, n;

	if ((void *)(data + 1) > END(ctx) || *data > 40)
		return XDP_DROP;
	n = *data;
#pragma clang loop unroll(disable)
	for (i = 0; i < n; i++) {
		total += i;
		asm volatile("" : "+r"(i));
	}
	return XDP_PASS;
}

/* A pointer moves from header to header. Each header has at least 16 bytes, so the packet's length
 * bounds the loop. */
SEC("xdp")
int headers(struct xdp_md *ctx)
{
	__u8 *header = DATA(ctx);
	__u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < 1000; i++) {
		if ((void *)(header + 16) > END(ctx))
			break;
		header += 16 + (header[1] & 0x70);
		total++;
		if (header > (__u8 *)DATA(ctx) + 1600)
			break;
	}
	return XDP_PASS;
}

static int visit(__u32 round, void *context)
{
	__u64 *sum = context;

	*sum += round;
	return *sum > 1000;
}

/* bpf_loop with a constant: 25 iterations. */
SEC("xdp")
int helper_loop(struct xdp_md *ctx)
{
	__u64 sum = 0;

	bpf_loop(25, visit, &sum, 0);
	total = sum;
	return XDP_PASS;
}

/* bpf_loop with a number from the packet: at most 12 iterations. */
SEC("xdp")
int helper_loop_packet(struct xdp_md *ctx)
{
	__u8 *data = DATA(ctx);
	__u64 sum = 0;

	if ((void *)(data + 1) > END(ctx) || *data > 12)
		return XDP_DROP;
	bpf_loop(*data, visit, &sum, 0);
	total = sum;
	return XDP_PASS;
}

static long add(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	*sum += *value;
	return 0;
}

/* All elements of an array: 6 iterations. */
SEC("xdp")
int elements(struct xdp_md *ctx)
{
	__u64 sum = 0;

	bpf_for_each_map_elem(&slots, add, &sum, 0);
	total = sum;
	return XDP_PASS;
}

/* Nested loops: 5 times 7 iterations. */
SEC("xdp")
int nested(struct xdp_md *ctx)
{
	__u32 i, j;

#pragma clang loop unroll(disable)
	for (i = 0; i < 5; i++) {
		asm volatile("" : "+r"(i));
#pragma clang loop unroll(disable)
		for (j = 0; j < 7; j++) {
			total += j;
			asm volatile("" : "+r"(j));
		}
	}
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
