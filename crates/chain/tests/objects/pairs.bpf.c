/* Pairs of programs. For packets of TCP over IPv6 with at least 100 bytes, same_NAME_* do the same as
 * NAME, and differs_NAME_* do not. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c pairs.bpf.c -o pairs.bpf.o
 *   llvm-strip -g pairs.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define ETHERNET 14
#define IPV6 40
#define TCP 6

struct key {
	__u64 low;
	__u64 high;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct key);
	__type(value, __u64);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} devices SEC(".maps");

#define PACKET(ctx)                                                                                \
	__u8 *data = (__u8 *)(long)(ctx)->data;                                                    \
	__u8 *end = (__u8 *)(long)(ctx)->data_end;                                                 \
	(void)end

/* Drops packets of fewer than 100 bytes. */
#define LONG_PACKET(ctx)                                                                           \
	PACKET(ctx);                                                                               \
	if (data + 100 > end)                                                                      \
		return XDP_DROP

#define PROGRAM(name) SEC("xdp") int name(struct xdp_md *ctx)

/* A parser, and versions of it without the checks that facts decide. */

static __always_inline int count(__u32 index, __u64 more)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &index);
	if (counter)
		*counter += more;
	return XDP_PASS;
}

PROGRAM(parser)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	if (data[12] == 0x08 && data[13] == 0x00)
		return count(0, 1);
	if (data[12] != 0x86 || data[13] != 0xdd)
		return XDP_ABORTED;
	if (data[20] != TCP)
		return count(1, 1);
	data[21] -= 1;
	return count(2, data[18]);
}

PROGRAM(same_parser_branches)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	data[21] -= 1;
	return count(2, data[18]);
}

PROGRAM(same_parser_larger_check)
{
	PACKET(ctx);
	if (data + 100 > end)
		return XDP_ABORTED;
	data[21] = data[21] + 255;
	return count(2, data[18]);
}

/* Unlike the parser, drops packets of exactly 100 bytes. */
PROGRAM(differs_parser_check_off_by_one)
{
	PACKET(ctx);
	if (data + 101 > end)
		return XDP_DROP;
	data[21] -= 1;
	return count(2, data[18]);
}

PROGRAM(differs_parser_no_store)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	return count(2, data[18]);
}

PROGRAM(differs_parser_other_byte)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	data[21] -= 1;
	return count(2, data[19]);
}

PROGRAM(differs_parser_other_counter)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	data[21] -= 1;
	return count(1, data[18]);
}

PROGRAM(differs_parser_no_counter)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	data[21] -= 1;
	return XDP_PASS;
}

/* A check that the facts do not decide. */

PROGRAM(guard)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	if (data[21] == 0)
		return XDP_DROP;
	data[21]--;
	return XDP_PASS;
}

PROGRAM(same_guard_otherwise)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_ABORTED;
	__u8 hops = data[21];
	if (!hops)
		return XDP_DROP;
	data[21] = hops - 1;
	return data[20] == TCP ? XDP_PASS : XDP_TX;
}

PROGRAM(differs_guard_dropped)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	data[21]--;
	return XDP_PASS;
}

PROGRAM(differs_guard_off_by_one)
{
	PACKET(ctx);
	if (data + ETHERNET + IPV6 > end)
		return XDP_DROP;
	if (data[21] <= 1)
		return XDP_DROP;
	data[21]--;
	return XDP_PASS;
}

/* Results that differ only if four bytes have one certain value. */

PROGRAM(magic)
{
	PACKET(ctx);
	if (data + 90 > end)
		return XDP_DROP;
	return data[80] + data[81] & 3;
}

PROGRAM(same_magic_other_order)
{
	PACKET(ctx);
	if (data + 90 > end)
		return XDP_DROP;
	return (data[81] & 3) + (data[80] & 3) & 3;
}

PROGRAM(differs_magic_once)
{
	PACKET(ctx);
	if (data + 90 > end)
		return XDP_DROP;
	if (*(__u32 *)(data + 70) * 2654435761u == 0xdeadbeef)
		return XDP_REDIRECT;
	return data[80] + data[81] & 3;
}

/* A loop. */

PROGRAM(loop)
{
	LONG_PACKET(ctx);
	__u32 sum = 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < 8; i++)
		sum += data[60 + i];
	return sum & 3;
}

PROGRAM(same_loop_unrolled)
{
	PACKET(ctx);
	__u32 sum = 0;
#pragma unroll
	for (int i = 7; i >= 0; i--)
		sum += data + 100 > end ? 0 : data[60 + i];
	return sum & 3;
}

PROGRAM(differs_loop_one_less)
{
	LONG_PACKET(ctx);
	__u32 sum = 0;
#pragma unroll
	for (int i = 0; i < 7; i++)
		sum += data[60 + i];
	return sum & 3;
}

/* Reads from memory after stores, both at variable offsets. */

PROGRAM(offset)
{
	LONG_PACKET(ctx);
	data[60 + (data[50] & 7)] = 5;
	return data[60 + (data[51] & 7)] & 3;
}

PROGRAM(same_offset_forwarded)
{
	LONG_PACKET(ctx);
	__u32 to = data[50] & 7, from = data[51] & 7;
	__u8 value = data[60 + from];
	data[60 + to] = 5;
	return to == from ? 1 : value & 3;
}

PROGRAM(differs_offset_too_early)
{
	LONG_PACKET(ctx);
	__u8 value = data[60 + (data[51] & 7)];
	data[60 + (data[50] & 7)] = 5;
	return value & 3;
}

/* A known byte is also known when it is read at a variable offset. */

PROGRAM(found)
{
	LONG_PACKET(ctx);
	return data[50] == 20 ? data[data[50]] : XDP_PASS;
}

PROGRAM(same_found_known)
{
	LONG_PACKET(ctx);
	return data[50] == 20 ? TCP : XDP_PASS;
}

PROGRAM(differs_found_other)
{
	LONG_PACKET(ctx);
	return data[50] == 20 ? TCP + 1 : XDP_PASS;
}

/* Maps in which elements are inserted and deleted. */

static __always_inline int put(struct key *key, __u64 value)
{
	return bpf_map_update_elem(&flows, key, &value, BPF_ANY);
}

#define KEY(name, at) struct key name = {*(__u64 *)(data + at), *(__u64 *)(data + at + 8)}

/* Counts a packet of a known flow; otherwise inserts the flow in both directions. */
#define TABLE(name, at, more, first, second)                                                       \
	PROGRAM(name)                                                                              \
	{                                                                                          \
		LONG_PACKET(ctx);                                                                  \
		KEY(source, 22);                                                                   \
		KEY(destination, at);                                                              \
		__u64 *known = bpf_map_lookup_elem(&flows, &source);                               \
		if (known) {                                                                       \
			*known += more;                                                            \
			return XDP_TX;                                                             \
		}                                                                                  \
		if (first)                                                                         \
			return XDP_DROP;                                                           \
		second;                                                                            \
		return XDP_PASS;                                                                   \
	}

TABLE(table, 38, 1, put(&source, 1), put(&destination, 2))

PROGRAM(same_table_reads_later)
{
	PACKET(ctx);
	if (data + 54 > end)
		return XDP_ABORTED;
	KEY(source, 22);
	__u64 *known = bpf_map_lookup_elem(&flows, &source);
	if (!known) {
		if (put(&source, 1))
			return XDP_DROP;
		KEY(destination, 38);
		put(&destination, 2);
		return XDP_PASS;
	}
	*known += 1;
	return XDP_TX;
}

TABLE(differs_table_swapped, 38, 1, put(&destination, 2), put(&source, 1))
TABLE(differs_table_other_key, 37, 1, put(&source, 1), put(&destination, 2))
TABLE(differs_table_other_value, 38, 2, put(&source, 1), put(&destination, 2))

/* Continues after a helper has failed. */
PROGRAM(differs_table_after_failure)
{
	LONG_PACKET(ctx);
	KEY(source, 22);
	KEY(destination, 38);
	__u64 *known = bpf_map_lookup_elem(&flows, &source);
	if (known) {
		*known += 1;
		return XDP_TX;
	}
	int failed = put(&source, 1);
	put(&destination, 2);
	return failed ? XDP_DROP : XDP_PASS;
}

/* Differs from `table` only in an atomic addition, which matters only to other CPUs. */
PROGRAM(differs_table_atomically)
{
	LONG_PACKET(ctx);
	KEY(source, 22);
	KEY(destination, 38);
	__u64 *known = bpf_map_lookup_elem(&flows, &source);
	if (known) {
		__sync_fetch_and_add(known, 1);
		return XDP_TX;
	}
	if (put(&source, 1))
		return XDP_DROP;
	put(&destination, 2);
	return XDP_PASS;
}

/* Two updates of the same key. */

PROGRAM(twice)
{
	LONG_PACKET(ctx);
	KEY(source, 22);
	put(&source, 1);
	put(&source, 2);
	return XDP_PASS;
}

PROGRAM(differs_twice_swapped)
{
	LONG_PACKET(ctx);
	KEY(source, 22);
	put(&source, 2);
	put(&source, 1);
	return XDP_PASS;
}

/* Deletion of elements. */

PROGRAM(deletes)
{
	LONG_PACKET(ctx);
	KEY(source, 22);
	return bpf_map_delete_elem(&flows, &source) ? XDP_DROP : XDP_PASS;
}

PROGRAM(differs_deletes_nothing)
{
	LONG_PACKET(ctx);
	KEY(source, 22);
	return bpf_map_lookup_elem(&flows, &source) ? XDP_PASS : XDP_DROP;
}

/* An LRU map, in which look-ups have an effect. */

PROGRAM(noted)
{
	LONG_PACKET(ctx);
	__u32 key = data[30];
	return bpf_map_lookup_elem(&recent, &key) ? XDP_PASS : XDP_PASS;
}

PROGRAM(same_noted_shorter)
{
	PACKET(ctx);
	if (data + 100 > end)
		return XDP_ABORTED;
	__u32 key = *(__u32 *)(data + 30) & 0xff;
	bpf_map_lookup_elem(&recent, &key);
	return XDP_PASS;
}

PROGRAM(differs_noted_not)
{
	return XDP_PASS;
}

/* Destinations of packets. */

PROGRAM(redirects)
{
	LONG_PACKET(ctx);
	if (data[20] == TCP)
		return bpf_redirect(data[60], 0);
	return bpf_redirect(7, 0);
}

PROGRAM(same_redirects_always)
{
	PACKET(ctx);
	if (data + 61 > end)
		return XDP_DROP;
	return bpf_redirect(data[60], 0);
}

PROGRAM(differs_redirects_elsewhere)
{
	PACKET(ctx);
	if (data + 61 > end)
		return XDP_DROP;
	return bpf_redirect(data[60] & 0x7f, 0);
}

PROGRAM(differs_redirects_twice)
{
	PACKET(ctx);
	if (data + 61 > end)
		return XDP_DROP;
	bpf_redirect(data[61 - 1], 0);
	return bpf_redirect(data[60], 0);
}

PROGRAM(differs_redirects_without)
{
	return XDP_REDIRECT;
}

PROGRAM(by_map)
{
	LONG_PACKET(ctx);
	return bpf_redirect_map(&devices, data[60] & 3, XDP_DROP);
}

PROGRAM(same_by_map)
{
	PACKET(ctx);
	if (data + 100 > end)
		return XDP_TX;
	return bpf_redirect_map(&devices, data[60] % 4, XDP_DROP);
}

PROGRAM(differs_by_map_other_key)
{
	LONG_PACKET(ctx);
	return bpf_redirect_map(&devices, data[60] & 1, XDP_DROP);
}

/* Start and end of the packet. */

PROGRAM(head)
{
	if (bpf_xdp_adjust_head(ctx, -4))
		return XDP_ABORTED;
	LONG_PACKET(ctx);
	for (int i = 0; i < 4; i++)
		data[i] = data[i + 4];
	return XDP_TX;
}

PROGRAM(same_head_larger_check)
{
	if (bpf_xdp_adjust_head(ctx, -4))
		return XDP_ABORTED;
	PACKET(ctx);
	if (data + 104 > end)
		return XDP_DROP;
	*(__u32 *)data = *(__u32 *)(data + 4);
	return XDP_TX;
}

PROGRAM(differs_head_other_delta)
{
	if (bpf_xdp_adjust_head(ctx, -8))
		return XDP_ABORTED;
	LONG_PACKET(ctx);
	*(__u32 *)data = *(__u32 *)(data + 4);
	return XDP_TX;
}

PROGRAM(differs_head_not_written)
{
	if (bpf_xdp_adjust_head(ctx, -4))
		return XDP_ABORTED;
	return XDP_TX;
}

PROGRAM(tail)
{
	PACKET(ctx);
	int length = end - data;
	if (bpf_xdp_adjust_tail(ctx, 10))
		return XDP_DROP;
	return length > 200 ? XDP_TX : XDP_PASS;
}

PROGRAM(same_tail)
{
	PACKET(ctx);
	int result = data + 200 < end ? XDP_TX : XDP_PASS;
	return bpf_xdp_adjust_tail(ctx, 10) ? XDP_DROP : result;
}

PROGRAM(differs_tail_one_more)
{
	PACKET(ctx);
	int result = data + 200 < end ? XDP_TX : XDP_PASS;
	return bpf_xdp_adjust_tail(ctx, 11) ? XDP_DROP : result;
}

PROGRAM(meta)
{
	if (bpf_xdp_adjust_meta(ctx, -4))
		return XDP_PASS;
	__u32 *meta = (__u32 *)(long)ctx->data_meta;
	PACKET(ctx);
	if ((__u8 *)(meta + 1) > data)
		return XDP_DROP;
	*meta = 42;
	return XDP_PASS;
}

PROGRAM(same_meta)
{
	int failed = bpf_xdp_adjust_meta(ctx, -4);
	__u8 *meta = (__u8 *)(long)ctx->data_meta;
	PACKET(ctx);
	if (failed)
		return XDP_PASS;
	if (meta + 4 > data)
		return XDP_DROP;
	meta[0] = 42;
	meta[1] = meta[2] = meta[3] = 0;
	return XDP_PASS;
}

PROGRAM(differs_meta_other_value)
{
	if (bpf_xdp_adjust_meta(ctx, -4))
		return XDP_PASS;
	__u32 *meta = (__u32 *)(long)ctx->data_meta;
	PACKET(ctx);
	if ((__u8 *)(meta + 1) > data)
		return XDP_DROP;
	*meta = 43;
	return XDP_PASS;
}

PROGRAM(differs_meta_not_moved)
{
	return XDP_PASS;
}

/* Messages to user space. */

struct event {
	__u32 first;
	__u32 second;
};

PROGRAM(tells)
{
	LONG_PACKET(ctx);
	struct event event = {data[60], data[61]};
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &event, sizeof(event));
	return XDP_PASS;
}

PROGRAM(same_tells)
{
	PACKET(ctx);
	if (data + 100 > end)
		return XDP_PASS;
	__u64 event = data[60] | (__u64)data[61] << 32;
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &event, sizeof(event));
	return XDP_PASS;
}

PROGRAM(differs_tells_other)
{
	LONG_PACKET(ctx);
	struct event event = {data[60], data[62]};
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &event, sizeof(event));
	return XDP_PASS;
}

PROGRAM(differs_tells_less)
{
	LONG_PACKET(ctx);
	struct event event = {data[60], data[61]};
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &event, 4);
	return XDP_PASS;
}

PROGRAM(reserves)
{
	LONG_PACKET(ctx);
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event)
		return XDP_PASS;
	event->first = data[60];
	event->second = data[20];
	bpf_ringbuf_submit(event, 0);
	return XDP_PASS;
}

PROGRAM(same_reserves)
{
	LONG_PACKET(ctx);
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (event) {
		event->second = TCP;
		event->first = data[60];
		bpf_ringbuf_submit(event, 0);
	}
	return XDP_PASS;
}

PROGRAM(differs_reserves_other)
{
	LONG_PACKET(ctx);
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (event) {
		event->second = TCP;
		event->first = data[61];
		bpf_ringbuf_submit(event, 0);
	}
	return XDP_PASS;
}

PROGRAM(differs_reserves_discarded)
{
	LONG_PACKET(ctx);
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (event) {
		event->second = TCP;
		event->first = data[60];
		bpf_ringbuf_discard(event, 0);
	}
	return XDP_PASS;
}

PROGRAM(prints)
{
	LONG_PACKET(ctx);
	bpf_printk("%u of %d%%", data[60], data[20]);
	return XDP_PASS;
}

PROGRAM(same_prints)
{
	PACKET(ctx);
	if (data + 100 > end)
		return XDP_TX;
	bpf_printk("%u of %d%%", data[60] | 0, TCP);
	return XDP_PASS;
}

PROGRAM(differs_prints_other_number)
{
	LONG_PACKET(ctx);
	bpf_printk("%u of %d%%", data[60], TCP + 1);
	return XDP_PASS;
}

PROGRAM(differs_prints_other_text)
{
	LONG_PACKET(ctx);
	bpf_printk("%u of %u%%", data[60], TCP);
	return XDP_PASS;
}

/* Results of helpers that come from outside of the program. */

PROGRAM(random)
{
	__u32 first = bpf_get_prandom_u32(), second = bpf_get_prandom_u32();
	return (first - second) & 3;
}

PROGRAM(same_random)
{
	__u32 first = bpf_get_prandom_u32() & 3, second = bpf_get_prandom_u32() & 3;
	return (first - second) & 3;
}

PROGRAM(differs_random_swapped)
{
	__u32 first = bpf_get_prandom_u32(), second = bpf_get_prandom_u32();
	return (second - first) & 3;
}

static __always_inline int route(struct xdp_md *ctx, __u8 family, __u32 flags)
{
	PACKET(ctx);
	struct bpf_fib_lookup fib = {.family = family, .ifindex = ctx->ingress_ifindex};
	if (data + 100 > end)
		return XDP_DROP;
	__builtin_memcpy(fib.ipv6_src, data + 22, 16);
	__builtin_memcpy(fib.ipv6_dst, data + 38, 16);
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), flags))
		return XDP_PASS;
	__builtin_memcpy(data, fib.dmac, 6);
	return bpf_redirect(fib.ifindex, 0);
}

PROGRAM(routed)
{
	LONG_PACKET(ctx);
	return route(ctx, data[12] == 0x86 && data[13] == 0xdd ? 10 : 2, 0);
}

PROGRAM(same_routed)
{
	return route(ctx, 10, 0);
}

PROGRAM(differs_routed_other_family)
{
	return route(ctx, 2, 0);
}

PROGRAM(differs_routed_other_flags)
{
	return route(ctx, 10, 1);
}

PROGRAM(queue)
{
	return ctx->rx_queue_index == 3 ? XDP_DROP : XDP_PASS;
}

PROGRAM(same_queue)
{
	return ctx->rx_queue_index - 3 ? XDP_PASS : XDP_DROP;
}

PROGRAM(differs_queue_other)
{
	return ctx->rx_queue_index == 2 ? XDP_DROP : XDP_PASS;
}

/* Known content of maps. */

PROGRAM(settings)
{
	__u32 index = 1;
	struct key key = {1, 2};
	__u64 *setting = bpf_map_lookup_elem(&counters, &index);
	__u64 *entry = bpf_map_lookup_elem(&flows, &key);
	if (!setting || !entry)
		return XDP_ABORTED;
	return (*setting + *entry) & 3;
}

PROGRAM(known_settings)
{
	return XDP_TX;
}

PROGRAM(other_settings)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
