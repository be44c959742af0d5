/* Counts what each kind of packet has: a look-up for each, an insertion for each new kind. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

struct counts {
	__u64 packets;
	__u64 bytes;
	__u32 last;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct counts);
} kinds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} verdicts SEC(".maps");

__u64 total;

SEC("xdp")
int table(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	__u8 *data = (void *)(long)ctx->data;
	struct counts *known;
	__u32 kind, verdict, *times;

	if (data + 15 > (__u8 *)end)
		return XDP_DROP;
	total++;
	kind = data[14];
	known = bpf_map_lookup_elem(&kinds, &kind);
	if (known) {
		known->packets++;
	} else {
		struct counts fresh = { .packets = 1 };

		bpf_map_update_elem(&kinds, &kind, &fresh, BPF_ANY);
	}
	verdict = kind & 1 ? XDP_TX : XDP_PASS;
	times = bpf_map_lookup_elem(&verdicts, &verdict);
	if (times)
		++*times;
	return verdict;
}

char LICENSE[] SEC("license") = "GPL";
