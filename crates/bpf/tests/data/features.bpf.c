// Maps that BTF defines in all forms, global data, calls of all kinds, several programs.
#include "bpf.h"

struct flow_key {
	u32 source;
	u32 destination;
	u16 port;
};

struct flow {
	u64 packets;
	u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct flow_key);
	__type(value, struct flow);
	__uint(map_flags, 1);
	__uint(pinning, 1);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 16);
	__uint(max_entries, 8);
} table SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 4);
};

struct inner first SEC(".maps");
struct inner second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, u32);
	__array(values, struct inner);
} outer SEC(".maps") = {
	.values = { [0] = &first, [2] = &second },
};

int xdp_tail(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__array(values, int(struct xdp_md *));
} jumps SEC(".maps") = {
	.values = { [1] = &xdp_tail },
};

const volatile u32 limit = 1500;
const char greeting[8] = "slow";
volatile u64 counter = 7;
volatile u32 zeroed[4];

static __noinline int checksum(u32 a, u32 b)
{
	return a * 31 + b + zeroed[1];
}

__noinline int classify(struct xdp_md *ctx)
{
	volatile u32 length = ctx->data_end - ctx->data;

	if (length > limit)
		return checksum(length, 3);
	return 1;
}

__weak __noinline int replaceable(u64 x)
{
	volatile u64 y = x;

	return y == 0;
}

static long count(u32 index, void *ctx)
{
	counter += index;
	return 0;
}

SEC("xdp/main")
int xdp_main(struct xdp_md *ctx)
{
	struct flow_key key = { .source = 1, .destination = 2, .port = 3 };
	struct flow *flow = bpf_map_lookup_elem(&flows, &key);
	u32 slot = 2;

	bpf_loop(10, count, (void *)0, 0);
	if (flow)
		__sync_fetch_and_add(&flow->packets, 1);
	if (classify(ctx) > 5 || replaceable(counter))
		return XDP_DROP;
	void *inner = bpf_map_lookup_elem(&outer, &slot);
	if (inner && bpf_map_lookup_elem(inner, &slot))
		return XDP_DROP;
	bpf_tail_call(ctx, &jumps, 1);
	return checksum(bpf_ktime_get_ns(), greeting[slot & 7]);
}

SEC("xdp/tail")
int xdp_tail(struct xdp_md *ctx)
{
	u32 slot = zeroed[2];
	u32 *value = bpf_map_lookup_elem(&table, &slot);

	return value ? *value : XDP_PASS;
}

SEC("xdp/tail")
int xdp_second_of_section(struct xdp_md *ctx)
{
	return ctx->rx_queue_index ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int not_xdp(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
