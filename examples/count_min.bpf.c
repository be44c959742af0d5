/* Count-min sketch: counts the packets of TCP and UDP flows over IPv4 in HASHES counters each, one
 * per hash function; the least of them bounds the count of a flow from above. More hash functions
 * (1 to 32, built with -DHASHES=N) make that bound tighter and the program slower.
 *
 * Source: G. Cormode, S. Muthukrishnan: An improved data stream summary: the count-min sketch and
 * its applications, Journal of Algorithms 55 (2005).
 *
 * Slowest path, expected: any TCP or UDP packet that is counted. Each hash function adds arithmetic
 * and one atomic addition to memory, so with few of them processing is the bottleneck and with many
 * the memory is.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#ifndef HASHES
#define HASHES 4
#endif
#define COLUMNS 8192 /* a power of two, as ROWS is: the card's arrays have such sizes */
#define ROWS (HASHES > 16 ? 32 : HASHES > 8 ? 16 : HASHES > 4 ? 8 : HASHES > 2 ? 4 : HASHES)
#define IP_MORE_OR_OFFSET 0x3fff

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROWS * COLUMNS);
	__type(key, __u32);
	__type(value, __u64);
} sketch SEC(".maps");

static __always_inline __u32 mix(__u32 hash, __u32 word)
{
	hash = (hash ^ word) * 0x9e3779b1; /* 2^32 divided by the golden ratio */
	return hash ^ hash >> 15;
}

SEC("xdp")
int count_min(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	__be32 *ports = (void *)(ip + 1); /* both, of TCP or UDP */
	__u32 i;

	if ((void *)(ports + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->version != 4 || ip->ihl != 5)
		return XDP_PASS;
	if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	if (ip->frag_off & bpf_htons(IP_MORE_OR_OFFSET))
		return XDP_PASS;

	for (i = 0; i < HASHES; i++) {
		__u32 hash = mix(i, ip->protocol);
		__u64 *counter;

		hash = mix(hash, ip->saddr);
		hash = mix(hash, ip->daddr);
		hash = mix(hash, *ports);
		hash = i * COLUMNS + hash % COLUMNS;
		counter = bpf_map_lookup_elem(&sketch, &hash);
		if (counter)
			__sync_fetch_and_add(counter, 1);
	}
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
