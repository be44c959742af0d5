/* Loops by helpers: over numbers, nested, ended early, too long; over elements of maps. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, __u64);
} kept SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 9);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct state {
	__u64 sum;
	__u32 last;
	__u32 inner;
};

static long add(__u32 at, struct state *state)
{
	state->sum = state->sum * 31 + at;
	return at == state->last;
}

static long nested(__u32 at, struct state *state)
{
	struct state own = { at, 0xffffffff };

	bpf_loop(state->inner, add, &own, 0);
	state->sum ^= own.sum;
	return 0;
}

static long each(struct bpf_map *map, __u32 *key, __u64 *value, struct state *state)
{
	state->sum += *key * *value;
	++*value;
	return 0;
}

static long until(struct bpf_map *map, __u32 *key, __u64 *value, struct state *state)
{
	state->sum += *value;
	return *key == state->last;
}

static long drop(struct bpf_map *map, __u32 *key, __u64 *value, struct state *state)
{
	if (*value & 1)
		bpf_map_delete_elem(map, key);
	return 0;
}

SEC("xdp")
int rounds(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct state state = { 7, 0xffffffff };
	__u32 key, turns;
	__u64 value;
	long result = -1;

	if (data + 36 > end)
		return XDP_PASS;
	turns = data[15] & 63;
	key = data[16];
	value = data[17];
	switch (data[14] & 7) {
	case 0:
		result = bpf_loop(turns, add, &state, 0);
		break;
	case 1:
		state.last = data[16] & 31;
		result = bpf_loop(turns, add, &state, data[17] & 1);
		break;
	case 2:
		result = bpf_loop((1 << 23) + 1 + turns, add, &state, 0);
		break;
	case 3:
		state.inner = data[16] & 7;
		result = bpf_loop(turns & 15, nested, &state, 0);
		break;
	case 4:
		result = bpf_for_each_map_elem(&kept, each, &state, data[17] & 1);
		break;
	case 5:
		state.last = data[16] & 15;
		result = bpf_for_each_map_elem(&counters, until, &state, 0);
		if (data[17] & 1)
			result += bpf_for_each_map_elem(&counters, each, &state, 0);
		break;
	case 6:
		result = bpf_map_update_elem(&kept, &key, &value, 0);
		break;
	case 7:
		if (data[15] < 64)
			result = bpf_for_each_map_elem(&kept, drop, &state, 0);
	}
	__builtin_memcpy(data + 18, &state.sum, 8);
	__builtin_memcpy(data + 26, &result, 8);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
