// Maps defined by structures, without BTF: in libbpf's old form, iproute2's form and the form of the
// kernel's samples. Section names put programs into a program array.
#include "bpf.h"

struct bpf_map_def {
	u32 type, key_size, value_size, max_entries, map_flags;
};

struct bpf_elf_map {
	u32 type, size_key, size_value, max_elem, flags, id, pinning, inner_id, inner_idx;
};

struct sample_map_def {
	u32 type, key_size, value_size, max_entries, map_flags, inner_map_idx, numa_node;
};

struct bpf_map_def SEC("maps") counters = { BPF_MAP_TYPE_HASH, 4, 8, 16, 1 };
struct bpf_map_def SEC("maps") prefixes = { BPF_MAP_TYPE_LPM_TRIE, 8, 4, 32, 1 };
struct bpf_elf_map SEC("maps") tails = { BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 3, 0, 7, 2 };
struct bpf_elf_map SEC("maps") leaf = { BPF_MAP_TYPE_ARRAY, 4, 8, 5, 0, 9, 0 };
struct bpf_elf_map SEC("maps") nested = { BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 2, 0, 8, 0, 9 };
struct sample_map_def SEC("maps") by_index = { BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 6, 0, 3 };

SEC("prog")
int xdp_filter(struct xdp_md *ctx)
{
	u32 key = ctx->rx_queue_index;

	if (bpf_map_lookup_elem(&counters, &key) || bpf_map_lookup_elem(&prefixes, &key) ||
	    bpf_map_lookup_elem(&nested, &key) || bpf_map_lookup_elem(&leaf, &key) ||
	    bpf_map_lookup_elem(&by_index, &key))
		return XDP_DROP;
	bpf_tail_call(ctx, &tails, 2);
	return XDP_PASS;
}

SEC("7/2")
int tail(struct xdp_md *ctx)
{
	return XDP_DROP;
}
