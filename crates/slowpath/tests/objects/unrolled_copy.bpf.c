/* A copy of up to 96 bytes. The compiler copies eight bytes at a time. The loop ends when its counter
 * equals the length, rounded down to a multiple of eight. Compiled with
 *   clang-19 -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c unrolled_copy.bpf.c -o unrolled_copy.bpf.o
 *   llvm-strip -g unrolled_copy.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define MOST 96

struct name { char text[MOST]; };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct name);
	__type(value, __u32);
} names SEC(".maps");

/* The key is a text in the packet that ends with a zero. */
SEC("xdp")
int lookup(struct xdp_md *ctx)
{
	char *text = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct name key = {};
	__u32 *found;
	__u8 len = 0;

	text += 14;
	for (int i = 0; i < 127; i++) {
		if (text + i >= end || !text[i])
			break;
		len++;
	}
	if (text + len > end)
		return XDP_PASS;
	if (len > MOST)
		len = MOST;
#pragma unroll
	for (int i = 0; i < MOST; i++) {
		if (i >= len)
			break;
		key.text[i] = text[i];
	}
	found = bpf_map_lookup_elem(&names, &key);
	return found ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
