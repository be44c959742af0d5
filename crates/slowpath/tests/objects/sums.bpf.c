/* Sums of too many bytes and texts, neither of which the analysis computes. Some slow paths depend on
 * such a result.
 * Compiled with
 *   clang -O2 -target bpf -mcpu=v3 -Wall -idirafter /usr/include/x86_64-linux-gnu \
 *     -c sums.bpf.c -o sums.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40

static __always_inline int slow(struct xdp_md *ctx)
{
	volatile __u64 word = 0;
#pragma unroll
	for (int i = 0; i < SLOW / 2; i++)
		word += i;
	return XDP_PASS;
}

/* Returns the sum of the bytes whose number is in the first byte, or -1 for a short packet. */
static __always_inline __s64 sum(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if ((void *)(data + 256) > end)
		return -1;
	return bpf_csum_diff(0, 0, (void *)data, *data & 0xfc, 0);
}

SEC("xdp") int depends_on_a_sum(struct xdp_md *ctx)
{
	return sum(ctx) == 0x1234 ? slow(ctx) : XDP_DROP;
}

SEC("xdp") int stores_a_sum(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__s64 found = sum(ctx);

	if (found < 0 || (void *)(data + 2) > end)
		return XDP_DROP;
	*(__u16 *)data = found;
	return slow(ctx);
}

SEC("xdp") int depends_on_a_text(struct xdp_md *ctx)
{
	char text[16] = {};
	__u64 number = ctx->rx_queue_index;
	static const char format[] = "%d";

	bpf_snprintf(text, sizeof(text), format, &number, sizeof(number));
	return text[0] == 'a' ? slow(ctx) : XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
