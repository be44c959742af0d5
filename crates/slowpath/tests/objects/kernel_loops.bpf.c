/* Loops that the kernel limits, and a loop without any limit. Compiled with
 *   clang-19 -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c kernel_loops.bpf.c -o kernel_loops.bpf.o
 *   llvm-strip -g kernel_loops.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

__u64 x;

static long add(__u32 i, void *context)
{
	x += i;
	return 0;
}

/* The packet has the number of iterations. The kernel allows at most 2^23. */
SEC("xdp")
int callback(struct xdp_md *ctx)
{
	__u8 *p = (void *)(long)ctx->data;

	if (p + 20 > (__u8 *)(long)ctx->data_end)
		return XDP_DROP;
	bpf_loop(*(__u32 *)(p + 14), add, (void *)0, 0);
	return x & 1 ? XDP_DROP : XDP_PASS;
}

/* The loop ends when the kernel's budget is used up. */
SEC("xdp")
int budget(struct xdp_md *ctx)
{
	__u64 s = 0;

	for (;;) {
		asm volatile goto("may_goto %l[out]" : : : "memory" : out);
		s += s + 3;
		asm volatile("" : "+r"(s));
	}
out:
	return s & 1 ? XDP_DROP : XDP_PASS;
}

/* The kernel rejects this program. */
SEC("xdp")
int endless(struct xdp_md *ctx)
{
	volatile __u64 s = x;

	while (s != 1)
		s = s & 1 ? 3 * s + 1 : s / 2;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
