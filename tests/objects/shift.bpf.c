/* A left shift by what may be 0 bits, which the compiler of the card's driver gets wrong. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c shift.bpf.c -o shift.bpf.o
 *   llvm-strip -g shift.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int shifted(struct xdp_md *ctx)
{
	unsigned char *bytes = (void *)(long)ctx->data;
	unsigned long long value, distance;

	if ((void *)(bytes + 2) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	distance = bytes[0] & 31;
	value = bytes[1];
	value <<= distance;
	return (value >> 32) & 1 ? XDP_DROP : XDP_TX;
}

char _license[] SEC("license") = "Dual MIT/GPL";
