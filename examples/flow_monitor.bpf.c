/* Flow monitor: packets, bytes and times of each TCP or UDP flow in an LRU map, and an event in a
 * ring buffer when a flow begins or begins anew after a pause. All packets pass.
 *
 * Sources: RFC 7011 section 2 (what a flow is), see flow.h.
 *
 * Slowest path, expected: the first packet of an IPv6 flow: the look-up fails, the flow is inserted
 * (which may evict another), and an event is written.
 */
#include "flow.h"

#define SECOND 1000000000ULL /* in ns */

struct record {
	__u64 packets;
	__u64 bytes;
	__u64 first; /* in ns since boot, as are all times */
	__u64 last;
};

struct event {
	struct flow flow;
	__u64 time;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow);
	__type(value, struct record);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

/* Pause in ns that ends a flow; a loader may change it before the load. */
const volatile __u64 idle = 15 * SECOND;

/* Events that found the ring buffer full. */
__u64 lost;

/* Global, so the kernel verifies it once and by its signature alone. */
__noinline int announce(const struct flow *flow, __u64 time)
{
	struct event *event;

	if (!flow)
		return -1;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&lost, 1);
		return -1;
	}
	event->flow = *flow;
	event->time = time;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("xdp")
int flow_monitor(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct record *record;
	struct flow flow = {};
	__u64 bytes, now;

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		if (parse_flow4((void *)(eth + 1), end, &flow) < 0)
			return XDP_PASS;
	} else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		if (parse_flow6((void *)(eth + 1), end, &flow) < 0)
			return XDP_PASS;
	} else {
		return XDP_PASS;
	}

	bytes = end - (void *)eth;
	now = bpf_ktime_get_ns();
	record = bpf_map_lookup_elem(&flows, &flow);
	if (!record) {
		struct record fresh = { 1, bytes, now, now };

		/* When another core was faster, its record stays and this packet is not in it. */
		if (bpf_map_update_elem(&flows, &flow, &fresh, BPF_NOEXIST) == 0)
			announce(&flow, now);
		return XDP_PASS;
	}

	if (now - record->last > idle) {
		record->first = now;
		announce(&flow, now);
	}
	record->last = now;
	__sync_fetch_and_add(&record->packets, 1);
	__sync_fetch_and_add(&record->bytes, bytes);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
