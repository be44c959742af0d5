/* Drops IPv6 packets whose source is in a list of prefixes, and counts them by prefix; others pass.
 *
 * Sources: RFC 8200; RFC 4632 (longest prefix).
 *
 * Slowest path, expected: a packet whose source is in the list.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct prefix {
	__u32 bits;
	__be32 address[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} blocked SEC(".maps");

SEC("xdp")
int blocklist(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct prefix source = { .bits = 128 };
	__u64 *packets;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IPV6) || ip->version != 6)
		return XDP_PASS;
	__builtin_memcpy(source.address, &ip->saddr, sizeof(source.address));
	packets = bpf_map_lookup_elem(&blocked, &source);
	if (!packets)
		return XDP_PASS;
	__sync_fetch_and_add(packets, 1);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
