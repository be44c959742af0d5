/* Bloom filters whose hashes have no random seed, so that each run of the kernel has the same. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct pair {
	__u8 bytes[13];
};

struct long_key {
	__u32 words[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 40);
	__uint(map_flags, BPF_F_ZERO_SEED);
	__uint(map_extra, 3);
	__type(value, __u32);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 9);
	__uint(map_flags, BPF_F_ZERO_SEED);
	__type(value, struct pair);
} pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 100);
	__uint(map_flags, BPF_F_ZERO_SEED);
	__uint(map_extra, 15);
	__type(value, struct long_key);
} keys SEC(".maps");

SEC("xdp")
int filters(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct long_key key = {};
	struct pair pair = {};
	__u32 address;

	if (data + 40 > end)
		return XDP_PASS;
	address = data[16] & 127;
	__builtin_memset(&pair, data[17] & 15, sizeof(pair));
	key.words[6] = data[18] & 63;
	if (data[14] < 2) {
		data[20] = bpf_map_push_elem(&addresses, &address, data[15] & 1);
		data[21] = bpf_map_push_elem(&keys, &key, 0);
	}
	if (data[14] == 5)
		data[22] = bpf_map_push_elem(&pairs, &pair, 0);
	data[23] = bpf_map_peek_elem(&addresses, &address);
	data[24] = bpf_map_peek_elem(&pairs, &pair);
	data[25] = bpf_map_peek_elem(&keys, &key);
	return data[23] || data[24] || data[25] ? XDP_DROP : XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
