/* Maps of maps: some that the object fills, some that nested.toml does, and some that both do. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct leaf {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} one SEC(".maps"), two SEC(".maps");

struct line {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 3);
	__type(value, __u32);
} waiting SEC(".maps");

struct table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, __u64);
} known SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct leaf);
} leaves SEC(".maps") = { .values = { [0] = &one, [2] = &two } };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct line);
} lines SEC(".maps") = { .values = { [1] = &waiting } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 64);
	__type(key, __u32);
	__array(values, struct table);
} fixed SEC(".maps") = { .values = { [1] = &known } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 64);
	__type(key, __u32);
	__array(values, struct table);
} tables SEC(".maps");

struct pile {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 3);
	__type(value, __u32);
} heap SEC(".maps");

struct sieve {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 12);
	__uint(map_flags, BPF_F_ZERO_SEED);
	__uint(map_extra, 2);
	__type(value, __u32);
} fine SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct pile);
} piles SEC(".maps") = { .values = { [0] = &heap } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 16);
	__type(key, __u32);
	__array(values, struct sieve);
} sieves SEC(".maps") = { .values = { [1] = &fine } };

SEC("xdp")
int nested(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 which, key, out = 0;
	__u64 *value, fresh = 1;
	void *inner;

	if (data + 40 > end)
		return XDP_PASS;
	which = data[14];
	inner = bpf_map_lookup_elem(&leaves, &which);
	if (inner) {
		key = data[15] & 7;
		value = bpf_map_lookup_elem(inner, &key);
		data[20] = value ? (*value)++ : 0xff;
	}
	which &= 1;
	inner = bpf_map_lookup_elem(&lines, &which);
	if (inner) {
		key = data[16];
		data[21] = data[17] & 1 ? bpf_map_push_elem(inner, &key, 0) : bpf_map_pop_elem(inner, &out);
		data[22] = out;
	}
	inner = bpf_map_lookup_elem(&piles, &which);
	if (inner) {
		key = data[16];
		out = 0;
		if (data[17] & 2)
			data[26] = bpf_map_push_elem(inner, &key, data[17] & 8 ? BPF_EXIST : 0);
		else if (data[17] & 4)
			data[26] = bpf_map_peek_elem(inner, &out);
		else
			data[26] = bpf_map_pop_elem(inner, &out);
		data[27] = out;
	}
	inner = bpf_map_lookup_elem(&sieves, &which);
	if (inner) {
		key = data[28] & 31;
		if (data[14] == 5)
			data[29] = bpf_map_push_elem(inner, &key, 0);
		data[30] = bpf_map_peek_elem(inner, &key);
	}
	which = data[14];
	inner = bpf_map_lookup_elem(&tables, &which);
	if (!inner)
		inner = bpf_map_lookup_elem(&fixed, &which);
	if (!inner)
		return XDP_DROP;
	key = data[18] & 15;
	value = bpf_map_lookup_elem(inner, &key);
	if (value && *value > 2)
		data[23] = bpf_map_delete_elem(inner, &key);
	else if (value)
		data[24] = ++*value;
	else
		data[25] = bpf_map_update_elem(inner, &key, &fresh, 0);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
