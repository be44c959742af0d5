// Calls on a longest-prefix-match trie: each packet makes up to two.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "words.h"

struct prefix {
	__u32 length;
	__u8 address[8];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 6);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} routes SEC(".maps");

/* Few prefixes, which are therefore often equal. */
static __always_inline struct prefix prefix(__u64 length, __u64 address)
{
	struct prefix prefix = { length & 7 ? length & 31 : length & 127, {} };

	address &= 0x0303;
	__builtin_memcpy(prefix.address, &address, 8);
	return prefix;
}

static __always_inline __u64 looked_up(struct prefix *key, __u64 *value)
{
	__u64 *found = bpf_map_lookup_elem(&routes, key);

	if (found)
		*value = *found;
	return !!found;
}

PROGRAM(updates)
{
	struct prefix key = prefix(w[0], w[1]);

	put(0, bpf_map_update_elem(&routes, &key, &w[3], w[2] & 3));
	return XDP_PASS;
}

PROGRAM(deletes)
{
	struct prefix key = prefix(w[0], w[1]);

	put(0, bpf_map_delete_elem(&routes, &key));
	return XDP_PASS;
}

PROGRAM(updates_and_looks)
{
	struct prefix key = prefix(w[0], w[1]), other = prefix(w[4], w[5]);
	__u64 value = 0;

	put(0, looked_up(&other, &value));
	put(1, bpf_map_update_elem(&routes, &key, &w[3], w[2] & 3));
	put(2, looked_up(&key, &value));
	put(3, looked_up(&other, &value));
	return XDP_PASS;
}

PROGRAM(looks_and_deletes)
{
	struct prefix key = prefix(w[0], w[1]), other = prefix(w[4], w[5]);
	__u64 value = 0;

	put(0, looked_up(&key, &value));
	put(1, bpf_map_delete_elem(&routes, &key));
	put(2, bpf_map_update_elem(&routes, &other, &w[3], w[2] & 3));
	put(3, looked_up(&other, &value));
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
