// Sequences of calls that add and remove bytes of the packet. Each of its first words selects one
// call. Results go to the map `out`. Compiled like helpers.bpf.c.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "words.h"

/* Writes at the start of the packet and of its metadata. */
static __always_inline void mark(struct xdp_md *ctx, __u64 value)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *meta = (void *)(long)ctx->data_meta;

	if (data + 8 <= end)
		*(__u64 *)data = value;
	if (meta + 4 <= data)
		*(__u32 *)meta = ~value;
}

/* Bytes after the 64 bytes that all packets of these tests have. */
static __always_inline __u64 peek(struct xdp_md *ctx, __u64 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	data += at & 255;
	return data + 8 <= end ? *(__u64 *)data : 77;
}

/* Makes one call: bits 0 to 3 of the word select it, and bits 16 to 31 are its distance. */
static __always_inline void call(struct xdp_md *ctx, __u64 word, int n)
{
	__s32 far = (__s16)(word >> 16);
	__u64 value = word;

	switch (word & 15) {
	case 0:
	case 1:
		put(2 * n, bpf_xdp_adjust_head(ctx, far));
		break;
	case 2:
	case 3:
	case 4:
		put(2 * n, bpf_xdp_adjust_tail(ctx, far));
		break;
	case 5:
	case 6:
		put(2 * n, bpf_xdp_adjust_meta(ctx, far));
		break;
	case 7:
		put(2 * n, bpf_xdp_load_bytes(ctx, far, &value, 8));
		break;
	case 8:
		put(2 * n, bpf_xdp_store_bytes(ctx, far, &value, 8));
		break;
	case 9:
		put(2 * n, bpf_xdp_adjust_tail(ctx, -40));
		break;
	case 10:
		put(2 * n, bpf_xdp_adjust_tail(ctx, 33));
		break;
	case 11:
		put(2 * n, bpf_xdp_adjust_head(ctx, 14));
		break;
	case 12:
		put(2 * n, bpf_xdp_adjust_head(ctx, -12));
		break;
	case 13:
		put(2 * n, bpf_xdp_adjust_meta(ctx, -8));
		break;
	case 14:
		put(2 * n, bpf_xdp_get_buff_len(ctx));
		break;
	default:
		mark(ctx, word);
	}
	put(2 * n + 1, value ^ peek(ctx, word >> 32));
}

SEC("xdp") int five_calls(struct xdp_md *ctx)
{
	struct input in;

	if (arguments(ctx, &in))
		return XDP_DROP;
	call(ctx, in.w[0], 0);
	call(ctx, in.w[1], 1);
	call(ctx, in.w[2], 2);
	call(ctx, in.w[3], 3);
	call(ctx, in.w[4], 4);
	put(10, peek(ctx, in.w[5]));
	return XDP_TX;
}

/* The kernel fills the packet's former end with zeros when the packet grows again. */
SEC("xdp") int tail_and_back(struct xdp_md *ctx)
{
	struct input in;

	if (arguments(ctx, &in))
		return XDP_DROP;
	put(0, bpf_xdp_adjust_tail(ctx, -(__s32)(in.w[0] & 63)));
	put(1, bpf_xdp_adjust_tail(ctx, in.w[1] & 127));
	put(2, peek(ctx, in.w[2]));
	put(3, peek(ctx, in.w[3]));
	return XDP_PASS;
}

/* --- sizes that the packet says -------------------------------------------------------------------- */

/* A number up to `most` whose range is unknown to the compiler. */
static __always_inline __u32 size(__u64 word, __u32 most)
{
	__u32 bytes = word & 63;

	asm volatile("" : "+r"(bytes));
	return bytes > most ? most : bytes;
}

PROGRAM(checksum_sizes)
{
	__u32 from[5], to[10];

	__builtin_memcpy(from, w, sizeof(from));
	__builtin_memcpy(to, w + 3, sizeof(to));
	put(0, bpf_csum_diff(from, size(w[0], 20), to, size(w[1], 40), w[2]));
	put(1, bpf_csum_diff(0, 0, to, size(w[2], 40), w[3]));
	put(2, bpf_csum_diff(from, size(w[3], 20), 0, 0, w[4]));
	put(3, bpf_csum_diff(from, 8, to, size(w[4], 40), 0));
	put(4, bpf_csum_diff(from, size(w[5], 20), to, 12, 0xffffffff));
	return XDP_PASS;
}

/* The checksum of the packet itself: any sum. */
PROGRAM(checksum_of_the_packet)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 bytes = size(w[0], 60);

	if (data + 64 > end)
		return XDP_DROP;
	put(0, bpf_csum_diff(0, 0, data, bytes, 0));
	put(1, bpf_csum_diff(0, 0, data, bytes, w[1]) >> 16);
	return XDP_PASS;
}

PROGRAM(copied_sizes)
{
	__u8 buffer[24];
	__u32 bytes = size(w[0], 23) + 1;
	__u32 offset = w[2] & 1 ? w[1] >> 16 & 0xffff : w[1] >> 16;

	__builtin_memset(buffer, 9, sizeof(buffer));
	put(0, bpf_xdp_load_bytes(ctx, offset, buffer, bytes));
	put(1, *(__u64 *)buffer);
	put(2, *(__u64 *)(buffer + 16));
	buffer[3] ^= 0x55;
	bytes = size(w[3], 23) + 1;
	put(3, bpf_xdp_store_bytes(ctx, w[4] >> 16 & 127, buffer, bytes));
	return XDP_PASS;
}

/* --- what the kernel answers ----------------------------------------------------------------------- */

PROGRAM(routes)
{
	struct bpf_fib_lookup fib;
	__u32 flags = w[5] & 0x40 ? w[5] & 0x7f : w[5] & 0x80 ? w[5] : w[5] & 0x3f;
	int bytes = sizeof(fib) - (w[6] >> 32 & 3 ? 0 : 4);

	__builtin_memset(&fib, 0x11, sizeof(fib));
	fib.family = w[0] & 3 ? 2 + 8 * (w[0] & 1) : w[0] >> 8;
	fib.tot_len = w[1] & 1 ? 0xffff : 0;
	fib.ifindex = w[2] & 3;
	fib.tos = 0;
	if (w[3] & 1) {
		fib.ipv4_src = 0x0100007f;
		fib.ipv4_dst = 0x0100007f;
	}
	asm volatile("" : "+r"(bytes));
	bytes &= 127;
	if (bytes > (int)sizeof(fib))
		return XDP_DROP;
	put(0, bpf_fib_lookup(ctx, &fib, bytes, flags));
	put(1, fib.family | (__u64)fib.l4_protocol << 8);
	put(2, fib.sport | (__u64)fib.dport << 16);
	put(3, fib.tot_len);
	put(4, fib.ifindex);
	put(5, fib.rt_metric);
	put(6, *(__u64 *)&fib.ipv6_src);
	put(7, *(__u64 *)&fib.ipv6_src[2]);
	put(8, *(__u64 *)&fib.ipv6_dst);
	put(9, *(__u64 *)&fib.ipv6_dst[2]);
	put(10, fib.h_vlan_proto | fib.h_vlan_TCI << 16);
	put(11, *(__u64 *)fib.smac);
	return XDP_PASS;
}

PROGRAM(too_long)
{
	__u32 mtu = w[3] & 1 ? w[3] >> 16 & 0xffff : 0;

	put(0, bpf_check_mtu(ctx, w[0] & 1, &mtu, (__s16)(w[1] >> 16), w[2] & 8 ? 0 : w[2] & 1));
	put(1, mtu);
	mtu = 77;
	put(2, bpf_check_mtu(ctx, 12345 + (w[0] & 1), &mtu, 0, 0));
	put(3, mtu);
	return XDP_PASS;
}

/* Any given length and any difference, for the packet's ingress device. */
PROGRAM(as_long_as_possible)
{
	__u32 mtu = w[3];

	put(0, bpf_check_mtu(ctx, 0, &mtu, (__s32)w[1], 0));
	put(1, mtu);
	return XDP_PASS;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

PROGRAM(event)
{
	__u64 index = w[0] & 1 ? BPF_F_CURRENT_CPU : w[0] >> 16 & 7;
	__u64 bytes = w[1] >> 16 & (w[1] & 1 ? 0xfffff : 63);
	__u64 more = w[2] & 7 ? 0 : w[2] >> 52 << 52;

	put(0, bpf_perf_event_output(ctx, &events, index | bytes << 32 | more, w, 16));
	return XDP_PASS;
}

PROGRAM(socket_arguments)
{
	struct bpf_sock_tuple tuple = {};
	__u64 space = w[0] & 1 ? BPF_F_CURRENT_NETNS : w[0] & 2 ? w[1] : w[1] & 0x1ffffffff;
	struct bpf_sock *socket;
	__u32 bytes = w[2] & 1 ? sizeof(tuple.ipv4) : w[2] & 2 ? sizeof(tuple.ipv6) : 16;

	asm volatile("" : "+r"(bytes));
	bytes &= 63;
	if (bytes > sizeof(tuple) || bytes == 0)
		return XDP_DROP;
	socket = bpf_skc_lookup_tcp(ctx, &tuple, bytes, space, w[3] & 1);
	put(0, !!socket);
	if (socket)
		bpf_sk_release(socket);
	return XDP_PASS;
}

PROGRAM(texts)
{
	static const char format[] = "%d and %llx";
	char buffer[24] = {};
	__u64 values[2] = { w[0], w[1] };
	long length = bpf_snprintf(buffer, sizeof(buffer), format, values, sizeof(values));

	put(0, length > 0);
	put(1, length <= 0x7fffffff);
	return XDP_PASS;
}

PROGRAM(read_of_the_kernel)
{
	__u64 value[2] = { 3, 5 };
	long error = bpf_probe_read_kernel(&value, 12, (void *)(w[0] & 1 ? w[1] : 0));

	put(0, error);
	put(1, error ? value[0] : 0);
	put(2, value[1] >> 32);
	put(3, error ? value[1] : 0);
	return XDP_PASS;
}

PROGRAM(times)
{
	__u64 first = bpf_jiffies64(), second = bpf_jiffies64();

	put(0, second >= first);
	put(1, first >> 60);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
