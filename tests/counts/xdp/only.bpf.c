/* Compiles for BPF only: because it says so, and by a builtin of that target. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#ifndef __bpf__
#error "for BPF only"
#endif

struct frame {
	__u32 data;
	__u32 data_end;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} seeds SEC(".maps");

static __always_inline __u32 castagnoli(const __u8 *data, __u32 length)
{
	__u32 crc = ~0U, at, bit;

	for (at = 0; at < length; at++) {
		crc ^= data[at];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* The same where nobody has put a seed into the map. */
static __attribute__((noinline)) __u32 seeded(const __u8 *data, __u32 length)
{
	__u32 key = 0, *seed = bpf_map_lookup_elem(&seeds, &key), crc = ~0U, at, bit;

	if (seed)
		crc = *seed;
	for (at = 0; at < length; at++) {
		crc ^= data[at];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* Nobody calls it; clang compiles it all the same. */
static __u32 width(struct frame *frame)
{
	return __builtin_preserve_field_info(frame->data, 1);
}

SEC("xdp")
int only(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, head[20];

	if (data + 20 > end)
		return XDP_PASS;
	__builtin_memcpy(head, data, 20);
	if (castagnoli(head, 20) == seeded(head, 20))
		return XDP_TX;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
