/* Programs whose guards save more or less than they cost.
 * Compiled with
 *   clang-16 -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c guards.bpf.c -o guards.bpf.o
 *   llvm-strip -g guards.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* A long computation. */
static __always_inline __u32 mixed_up(const __u8 *data)
{
	__u32 sum = 0;
	int at;

#pragma unroll
	for (at = 24; at < 34; at++)
		sum = sum * 31 + (data[at] ^ (sum >> 7));
	return sum;
}

/* Does a long computation for one value of a byte. If a fact lists other values of the byte, checking
 * all of them takes longer than testing for this one value. */
SEC("xdp")
int little(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 34 > end)
		return XDP_DROP;
	if (data[23] == 1)
		return mixed_up(data) & 1 ? XDP_TX : XDP_DROP;
	return XDP_PASS;
}

/* Adds up as many bytes as one byte says, and does a long computation for one value of another byte. */
SEC("xdp")
int mixed(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 sum = 0, words;
	int word;

	if (data + 60 > end)
		return XDP_DROP;
	words = data[14] & 15;
#pragma unroll
	for (word = 0; word < 5; word++) {
		if (word < words)
			sum += data[24 + 2 * word] * 3 + word;
	}
	if (data[23] == 1)
		sum ^= mixed_up(data);
	data[50] = sum;
	return XDP_PASS;
}

/* Tests many bytes, one after another. */
SEC("xdp")
int many(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 seen = 0;
	int at;

	if (data + 60 > end)
		return XDP_DROP;
#pragma unroll
	for (at = 16; at < 32; at++) {
		if (data[at] != at)
			return XDP_DROP;
		seen = seen * 31 + (data[at] ^ seen);
	}
	return seen & 1 ? XDP_PASS : XDP_TX;
}

char _license[] SEC("license") = "GPL";
