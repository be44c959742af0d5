/* Programs whose slow paths, with SLOW memory accesses, depend on changes of the packet's bytes or on
 * answers of the kernel.
 * Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c packet.bpf.c -o packet.bpf.o
 *   llvm-strip -g packet.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40

static __always_inline int slow(struct xdp_md *ctx)
{
	int sum = 0;

	for (int i = 0; i < SLOW; i++)
		sum += *(volatile __u32 *)&ctx->rx_queue_index;
	return sum;
}

/* The byte at an offset, or -1 behind the end. */
static __always_inline int byte(struct xdp_md *ctx, int at)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return data + at + 1 <= end ? data[at] : -1;
}

/* The slow path needs a packet of at least 60 bytes. */
#define PROGRAM(name)                                                                              \
	static __always_inline int name##_condition(struct xdp_md *ctx);                           \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		return byte(ctx, 59) >= 0 && name##_condition(ctx) ? slow(ctx) : XDP_PASS;         \
	}                                                                                          \
	static __always_inline int name##_condition(struct xdp_md *ctx)

/* Bytes that are cut off and appended again are cleared. */
PROGRAM(cleared)
{
	int n = byte(ctx, 0) & 31, before = byte(ctx, 59);
	if (before <= 0 || bpf_xdp_adjust_tail(ctx, -n) || bpf_xdp_adjust_tail(ctx, n))
		return 0;
	return byte(ctx, 59) == 0;
}

PROGRAM(not_cleared)
{
	int n = byte(ctx, 0) & 31;
	if (bpf_xdp_adjust_tail(ctx, -n) || bpf_xdp_adjust_tail(ctx, n))
		return 0;
	return byte(ctx, 59) == 0x47;
}

/* All bytes that were cut off are cleared. */
PROGRAM(never_kept)
{
	int n = byte(ctx, 0);
	if (n < 1 || n > 31 || byte(ctx, 60) >= 0)
		return 0;
	if (bpf_xdp_adjust_tail(ctx, -n) || bpf_xdp_adjust_tail(ctx, 2 * n))
		return 0;
	return byte(ctx, 59) != 0 || byte(ctx, 60) != 0;
}

PROGRAM(never_cleared_too_early)
{
	int n = byte(ctx, 0) & 31, before = byte(ctx, 28);
	if (bpf_xdp_adjust_tail(ctx, -n) || bpf_xdp_adjust_tail(ctx, n))
		return 0;
	return byte(ctx, 28) != before;
}

PROGRAM(never_cleared_by_a_failed_call)
{
	int n = byte(ctx, 0), before = byte(ctx, 59);
	if (n < 0 || bpf_xdp_adjust_tail(ctx, 3461 + n) == 0)
		return 0;
	return byte(ctx, 59) != before;
}

/* Packets have at most 3520 bytes. */
PROGRAM(longest)
{
	return bpf_xdp_adjust_tail(ctx, 2020) == 0;
}

PROGRAM(never_longer)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	int n = byte(ctx, 1) | byte(ctx, 0) << 8;
	if (data + 60 > end || bpf_xdp_adjust_tail(ctx, n))
		return 0;
	return n > 3460;
}

/* Bytes at the packet's start are kept. */
PROGRAM(never_lost_in_front)
{
	int n = byte(ctx, 0) & 31, before = byte(ctx, 3);
	if (bpf_xdp_adjust_head(ctx, n) || bpf_xdp_adjust_head(ctx, -n))
		return 0;
	return byte(ctx, 3) != before;
}

PROGRAM(in_front)
{
	int n = byte(ctx, 0) & 7;
	if (bpf_xdp_adjust_head(ctx, -n))
		return 0;
	return byte(ctx, 0) == 0x47 && byte(ctx, 1) == 0x11;
}

/* Metadata moves with the head. */
PROGRAM(metadata_moves)
{
	int n = byte(ctx, 0) & 15;
	__u32 *meta;
	if (n < 8 || bpf_xdp_adjust_meta(ctx, -4))
		return 0;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return 0;
	*meta = 0x12345678;
	if (bpf_xdp_adjust_head(ctx, n))
		return 0;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data || *meta != 0x12345678)
		return 0;
	/* The metadata is now where the packet began. */
	return bpf_xdp_adjust_meta(ctx, 4) == 0 && bpf_xdp_adjust_head(ctx, -4) == 0 &&
	       byte(ctx, 3) == 0x12;
}

PROGRAM(metadata_never_changes)
{
	int n = byte(ctx, 0) & 12;
	__u32 *meta;
	if (bpf_xdp_adjust_meta(ctx, -16))
		return 0;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 4) > (void *)(long)ctx->data)
		return 0;
	meta[1] = 0x12345678;
	if (bpf_xdp_adjust_meta(ctx, n) || bpf_xdp_adjust_meta(ctx, -n))
		return 0;
	meta = (void *)(long)ctx->data_meta;
	return (void *)(meta + 4) <= (void *)(long)ctx->data && meta[1] != 0x12345678;
}

/* After any number of moves, loads and stores access the packet. */
PROGRAM(moved_often)
{
	for (int i = 0; i < 8; i++) {
		int n = byte(ctx, 1), m = byte(ctx, 2);
		if (n < 0 || m < 0)
			return 0;
		if (n & 1)
			bpf_xdp_adjust_head(ctx, n - 128);
		else
			bpf_xdp_adjust_tail(ctx, n - 128);
		if (m & 1)
			bpf_xdp_adjust_meta(ctx, -m);
		if (byte(ctx, 13) >= 0)
			((__u8 *)(long)ctx->data)[12] = 1;
	}
	return byte(ctx, 12) == 1 && byte(ctx, 13) == 2;
}

/* Sums have 16 bits for all sizes, and there are no errors. */
PROGRAM(never_a_long_sum)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 n = byte(ctx, 0) & 31;
	asm volatile("" : "+r"(n));
	if (data + 60 > end || n > 31)
		return 0;
	return (bpf_csum_diff(0, 0, (void *)data, n, 5) & ~0xffffULL) != 0;
}

PROGRAM(never_another_sum)
{
	__u32 words[2] = { 0x10001, 0x20002 }, n = byte(ctx, 0) & 7;
	long sum;
	asm volatile("" : "+r"(n));
	if (n > 7)
		return 0;
	sum = bpf_csum_diff(0, 0, words, n, 0);
	/* 1, 1 + 1, and the part of the second word. */
	return n == 0 ? sum != 0 : n == 4 ? sum != 2 : n == 6 ? sum != 4 : sum > 6;
}

PROGRAM(sum_of_six_bytes)
{
	__u32 words[2] = { 0x10001, 0x20002 }, n = byte(ctx, 0) & 7;
	asm volatile("" : "+r"(n));
	return n <= 7 && bpf_csum_diff(0, 0, words, n, 0) == 4;
}

PROGRAM(loaded_in_part)
{
	__u8 buffer[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	__u32 n = byte(ctx, 0) & 7;
	asm volatile("" : "+r"(n));
	if (n < 1 || n > 7 || bpf_xdp_load_bytes(ctx, 40, buffer, n))
		return 0;
	return buffer[4] == 77 && buffer[5] == 6;
}

PROGRAM(never_loaded_beyond)
{
	__u8 buffer[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	__u32 n = byte(ctx, 0) & 7;
	asm volatile("" : "+r"(n));
	if (n < 1 || n > 7 || bpf_xdp_load_bytes(ctx, 40, buffer, n))
		return 0;
	return buffer[7] != 8 || (n < 5 && buffer[4] != 5);
}

/* Routes. The parameters may change only if there is a route. */
static __always_inline int route(struct xdp_md *ctx, struct bpf_fib_lookup *fib, int family)
{
	__builtin_memset(fib, 0, sizeof(*fib));
	fib->family = family;
	fib->ifindex = 7;
	return bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
}

PROGRAM(never_a_device_without_route)
{
	struct bpf_fib_lookup fib;
	int code = route(ctx, &fib, 2);
	return (code < 0 || (code >= 1 && code <= 6) || code == 8) && fib.ifindex != 7;
}

PROGRAM(gateway_of_the_other_family)
{
	struct bpf_fib_lookup fib;
	return route(ctx, &fib, 2) == 0 && fib.family == 10;
}

PROGRAM(never_another_family)
{
	struct bpf_fib_lookup fib;
	return route(ctx, &fib, 7) != -97 || fib.family != 7;
}

PROGRAM(never_neighbours_without_address)
{
	struct bpf_fib_lookup fib;
	return route(ctx, &fib, 10) == BPF_FIB_LKUP_RET_NO_NEIGH && fib.smac[0] != 0;
}

/* Above 2^31 minus a header's length, the kernel's sum overflows. */
PROGRAM(never_a_longer_mtu)
{
	__u32 mtu = 0;
	return bpf_check_mtu(ctx, 0, &mtu, 0, 0) == 1 && mtu >= 1514 && mtu < 1 << 30;
}

PROGRAM(never_no_device_of_its_own)
{
	__u32 mtu = 0;
	return bpf_check_mtu(ctx, 0, &mtu, 0, 0) < 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

PROGRAM(never_an_event_beyond)
{
	int index = byte(ctx, 0);
	return index >= 4 && bpf_perf_event_output(ctx, &events, index, &index, 4) != -7;
}

PROGRAM(nobody_listens)
{
	int value = 0;
	return bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &value, 4) == -2;
}

PROGRAM(never_an_unknown_error)
{
	int value = 0;
	return bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &value, 4) == -1;
}

PROGRAM(never_a_socket_for_flags)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *socket = bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), -1, 1);
	if (!socket)
		return 0;
	bpf_sk_release(socket);
	return 1;
}

PROGRAM(never_without_head_room)
{
	int n = byte(ctx, 0);
	return n >= 0 && n <= 216 && bpf_xdp_adjust_head(ctx, -n) != 0;
}

/* An earlier program may have used the room. */
SEC("xdp/cpumap") int without_head_room(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -20) ? slow(ctx) : XDP_PASS;
}

SEC("xdp/cpumap") int without_tail_room(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_tail(ctx, 800) ? slow(ctx) : XDP_PASS;
}

SEC("xdp/cpumap") int never_without_any_room(struct xdp_md *ctx)
{
	return byte(ctx, 200) < 0 && bpf_xdp_adjust_tail(ctx, 2000) &&
			       bpf_xdp_adjust_head(ctx, -20) ?
		       slow(ctx) :
		       XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
