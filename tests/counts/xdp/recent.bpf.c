/* Keeps what came last in LRU maps whose entries are no multiple of a bucket: none ever refuses. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define RECENT(entries) \
	__uint(type, BPF_MAP_TYPE_LRU_HASH); \
	__uint(max_entries, entries); \
	__type(key, __u32); \
	__type(value, __u64)

struct {
	RECENT(3);
} few SEC(".maps");

struct {
	RECENT(10);
} some SEC(".maps");

static __always_inline int keep(void *map, __u32 key, __u64 value)
{
	__u64 *found;

	if (bpf_map_update_elem(map, &key, &value, BPF_ANY))
		return 0;
	found = bpf_map_lookup_elem(map, &key);
	return found && *found == value;
}

SEC("xdp")
int recent(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 18 > end)
		return XDP_PASS;
	if (!keep(&few, data[15], data[16]))
		return XDP_ABORTED;
	return keep(&some, data[16], data[17]) ? XDP_TX : XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
