/* Calls helpers by what the packet says: its first byte behind Ethernet chooses, the next ones are
 * arguments. Whatever comes of it is in the packet, the result, or a map. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

struct prefix {
	__u32 bits;
	__u8 address[4];
};

struct entry {
	__u64 packets;
	__u32 last;
	__u32 kind;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct entry);
} entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__uint(key_size, 6);
	__uint(value_size, 12);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 7);
	__type(key, __u32);
	__type(value, __u32);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 512);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u32);
} prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} devices SEC(".maps");

struct request {
	__u8 kind;
	__s8 by;
	__u8 flags;
	__u8 key[6];
	__u8 bits;
};

__u32 seen[4];

static __always_inline long hashed(struct request *asked)
{
	struct entry fresh = { 1, asked->key[1], asked->kind }, *found;
	__u32 key = asked->key[0] & 31;

	if (asked->by & 1)
		return bpf_map_delete_elem(&entries, &key);
	found = bpf_map_lookup_elem(&entries, &key);
	if (found) {
		found->packets++;
		found->last = asked->key[1];
	}
	return bpf_map_update_elem(&entries, &key, &fresh, asked->flags & 3);
}

static __always_inline long lately(struct request *asked)
{
	__u32 value[3] = { asked->key[2], 7, asked->flags };
	__u8 key[6] = { asked->key[0] & 7, asked->key[1] & 1 };

	if (asked->by & 1)
		return bpf_map_delete_elem(&recent, key);
	return bpf_map_update_elem(&recent, key, value, asked->flags & 3);
}

static __always_inline long counting(struct request *asked)
{
	__u32 key = asked->key[0] & 7, *found = bpf_map_lookup_elem(&counters, &key);

	if (found)
		*found += 3;
	if (asked->by & 1)
		return bpf_map_delete_elem(&counters, &key);
	return asked->by & 2 ? bpf_map_update_elem(&counters, &key, &key, asked->flags & 3) : 0;
}

static __always_inline long routed(struct request *asked)
{
	struct prefix prefix = { asked->bits % 36, {} };
	__u32 value = asked->key[1], *found;

	prefix.address[0] = asked->key[0] & 3;
	prefix.address[1] = asked->key[1] & 3;
	prefix.address[2] = asked->key[2];
	if (asked->by & 1) {
		found = bpf_map_lookup_elem(&prefixes, &prefix);
		return found ? *found : -1;
	}
	if (asked->by & 2)
		return bpf_map_delete_elem(&prefixes, &prefix);
	return bpf_map_update_elem(&prefixes, &prefix, &value, asked->flags & 3);
}

static __always_inline long summed(struct request *asked)
{
	__u32 before = 0x01020304 * asked->bits, after[2] = { asked->key[0], 0xfffefdfc };

	return bpf_csum_diff(&before, asked->by & 4, after, asked->by & 8, asked->key[1]);
}

SEC("xdp")
int helpers(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end, *data = (void *)(long)ctx->data;
	struct request *at = data + sizeof(struct ethhdr), asked;
	long got = 0;

	if ((void *)(at + 1) > end)
		return XDP_ABORTED;
	asked = *at;
	seen[asked.kind & 3]++;
	switch (asked.kind & 15) {
	case 0:
		got = hashed(&asked);
		break;
	case 1:
		got = lately(&asked);
		break;
	case 2:
		got = counting(&asked);
		break;
	case 3:
		got = routed(&asked);
		break;
	case 4:
		got = summed(&asked);
		break;
	case 5:
		got = bpf_xdp_adjust_head(ctx, 2 * asked.by);
		break;
	case 6:
		got = bpf_xdp_adjust_tail(ctx, 32 * asked.by);
		break;
	case 7:
		got = bpf_xdp_adjust_meta(ctx, asked.by);
		got += bpf_xdp_adjust_head(ctx, asked.by >> 1);
		break;
	case 8:
		return bpf_redirect(1, asked.flags & 1);
	case 9:
		return bpf_redirect_map(&devices, asked.bits & 7, asked.flags & 3);
	case 10:
		return bpf_get_smp_processor_id() * 0 + (bpf_map_lookup_elem(&devices, &seen[0]) ? 3 : 1);
	}
	end = (void *)(long)ctx->data_end;
	data = (void *)(long)ctx->data;
	if (data + 14 > end)
		return XDP_DROP;
	__builtin_memcpy(data, &got, 8);
	return asked.bits & 1 ? XDP_TX : XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
