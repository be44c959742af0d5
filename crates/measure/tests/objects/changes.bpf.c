// One program for each kind of lasting change; repetitions of each run must take the same path.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define MAP(name, kind, size, map_key, map_value) \
	struct { \
		__uint(type, kind); \
		__uint(max_entries, size); \
		__type(key, map_key); \
		__type(value, map_value); \
	} name SEC(".maps")

#define QUEUE(name, kind, size, map_value) \
	struct { \
		__uint(type, kind); \
		__uint(max_entries, size); \
		__type(value, map_value); \
	} name SEC(".maps")

#define RING(name, size) \
	struct { \
		__uint(type, BPF_MAP_TYPE_RINGBUF); \
		__uint(max_entries, size); \
	} name SEC(".maps")

RING(small, 4096);
RING(large, 1 << 24);
MAP(ports, BPF_MAP_TYPE_DEVMAP, 4, __u32, __u32);
MAP(table, BPF_MAP_TYPE_HASH, 8, __u32, __u64);
MAP(per_cpu, BPF_MAP_TYPE_PERCPU_HASH, 8, __u32, __u64);
MAP(recent, BPF_MAP_TYPE_LRU_HASH, 1, __u32, __u64);
MAP(recent_per_cpu, BPF_MAP_TYPE_LRU_PERCPU_HASH, 64, __u32, __u64);
QUEUE(queue, BPF_MAP_TYPE_QUEUE, 4, __u32);
QUEUE(stack, BPF_MAP_TYPE_STACK, 4, __u32);

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} events SEC(".maps");

static __u64 record[4] = {1, 2, 3, 4};

SEC("xdp")
int output_small(struct xdp_md *ctx)
{
	return bpf_ringbuf_output(&small, record, sizeof(record), 0) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int output_large(struct xdp_md *ctx)
{
	return bpf_ringbuf_output(&large, record, sizeof(record), 0) ? XDP_DROP : XDP_PASS;
}

// The path is the same with and without room.
SEC("xdp")
int output_anyway(struct xdp_md *ctx)
{
	bpf_ringbuf_output(&small, record, sizeof(record), 0);
	return XDP_PASS;
}

SEC("xdp")
int reserve_two(struct xdp_md *ctx)
{
	__u64 *first = bpf_ringbuf_reserve(&small, 16, 0), *second;

	if (!first)
		return XDP_DROP;
	first[0] = record[0];
	first[1] = record[1];
	second = bpf_ringbuf_reserve(&large, 8, 0);
	if (second)
		bpf_ringbuf_discard(second, 0);
	bpf_ringbuf_submit(first, 0);
	return XDP_PASS;
}

SEC("xdp")
int reserve_most(struct xdp_md *ctx)
{
	void *most = bpf_ringbuf_reserve(&small, 3000, 0);

	if (!most)
		return XDP_DROP;
	bpf_ringbuf_discard(most, 0);
	return XDP_PASS;
}

SEC("xdp")
int insert_and_tell(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;
	__u64 value = 1;

	if (bpf_map_lookup_elem(&table, &key))
		return XDP_PASS;
	bpf_map_update_elem(&table, &key, &value, BPF_ANY);
	bpf_ringbuf_output(&small, &key, sizeof(key), 0);
	return XDP_TX;
}

SEC("xdp")
int insert_per_cpu(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;
	__u64 value = 1;

	if (bpf_map_lookup_elem(&per_cpu, &key))
		return XDP_PASS;
	bpf_map_update_elem(&per_cpu, &key, &value, BPF_ANY);
	return XDP_TX;
}

SEC("xdp")
int insert_recent(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;
	__u64 value = 1;

	if (bpf_map_lookup_elem(&recent, &key))
		return XDP_PASS;
	return bpf_map_update_elem(&recent, &key, &value, BPF_ANY) ? XDP_DROP : XDP_TX;
}

SEC("xdp")
int insert_recent_per_cpu(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;
	__u64 value = 1;

	if (bpf_map_lookup_elem(&recent_per_cpu, &key))
		return XDP_PASS;
	return bpf_map_update_elem(&recent_per_cpu, &key, &value, BPF_ANY) ? XDP_DROP : XDP_TX;
}

SEC("xdp")
int delete_element(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;

	return bpf_map_delete_elem(&table, &key) ? XDP_PASS : XDP_TX;
}

SEC("xdp")
int delete_per_cpu(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;

	return bpf_map_delete_elem(&per_cpu, &key) ? XDP_PASS : XDP_TX;
}

SEC("xdp")
int push_queue(struct xdp_md *ctx)
{
	__u32 value = 1;

	return bpf_map_push_elem(&queue, &value, 0) ? XDP_PASS : XDP_TX;
}

SEC("xdp")
int pop_queue(struct xdp_md *ctx)
{
	__u32 value;

	return bpf_map_pop_elem(&queue, &value) ? XDP_PASS : XDP_TX;
}

SEC("xdp")
int push_stack(struct xdp_md *ctx)
{
	__u32 value = 1;

	return bpf_map_push_elem(&stack, &value, 0) ? XDP_PASS : XDP_TX;
}

SEC("xdp")
int pop_stack(struct xdp_md *ctx)
{
	__u32 value;

	return bpf_map_pop_elem(&stack, &value) ? XDP_PASS : XDP_TX;
}

SEC("xdp")
int tell_event(struct xdp_md *ctx)
{
	long error = bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, record, sizeof(record));

	return error ? XDP_DROP : XDP_PASS;
}

// Changes no state.
SEC("xdp")
int redirect(struct xdp_md *ctx)
{
	return bpf_redirect_map(&ports, 3, 0);
}

char _license[] SEC("license") = "GPL";
