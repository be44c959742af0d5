/* ../dns_proxy.cc as far as the card runs it: questions whose answer the host has go to the host,
 * and are counted; all others go on to the server.
 *
 * The host does what the card cannot: an answer is longer than its question, and programs only
 * shorten packets; they neither set elements nor ask for the time, so answers are learnt, and
 * forgotten, by the host. Of 64 bits the card has no products: names have a hash of 32.
 */
#include "card.h"
#include <linux/udp.h>

#define SERVER 0x0a000201 /* 10.0.2.1 */
#define DNS_PORT 53
#define LONGEST 32 /* bytes of a name; longer ones are the host's */

struct dns {
	__be16 id;
	__be16 flags;
	__be16 questions;
	__be16 answers;
	__be16 authorities;
	__be16 additionals;
};

struct answer {
	__u32 name; /* hash */
	__u16 length;
	__be16 type;
	__u64 expires;
	__u32 hits;
	__be32 address;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENTRIES);
	__type(key, __u32);
	__type(value, struct answer);
} cache SEC(".maps");

static __always_inline int is(const struct answer *one, __u32 name, __u16 length, __be16 type)
{
#ifdef FOLLOWED /* all of the key with one command */
	__u64 window = *(const __u64 *)one;

	return (__u32)window == name && window >> 32 == ((__u32)type << 16 | length);
#else
	return one->name == name && one->length == length && one->type == type;
#endif
}

SEC("xdp")
int dns_proxy(struct xdp_md *ctx)
{
	struct headers at;
	struct dns *dns;
	struct answer *found;
	__u8 *byte;
	__be16 *type;
	__be32 before;
	__u32 name = 0x811c9dc5; /* FNV-1a */
	__u32 length, index;

	if (find_headers(ctx, &at, sizeof(struct udphdr) - sizeof(struct ports) + sizeof(*dns)) < 0)
		return XDP_PASS;
	if (at.ip->protocol != IPPROTO_UDP || at.ports->destination != bpf_htons(DNS_PORT))
		return XDP_PASS;
	dns = (void *)at.ports + sizeof(struct udphdr);
	if (dns->flags & bpf_htons(0x8000) || dns->questions != bpf_htons(1))
		return XDP_PASS;
	byte = (void *)(dns + 1);
	for (length = 0; length < LONGEST; length++) {
		if ((void *)(byte + length + 1) > at.end)
			return XDP_PASS;
		if (!byte[length])
			break;
		name = (name ^ (byte[length] | 0x20)) * 0x01000193;
	}
	if (length == LONGEST)
		return XDP_PASS;
	type = (void *)byte + length + 1;
	if ((void *)(type + 1) > at.end)
		return XDP_PASS;
	index = mixed(name) % ENTRIES;
	found = bpf_map_lookup_elem(&cache, &index);
	if (!found)
		return XDP_PASS;
	if (is(found, name, length, *type)) {
		__sync_fetch_and_add(&found->hits, 1);
		return XDP_PASS;
	}
	before = at.ip->daddr;
	at.ip->daddr = bpf_htonl(SERVER);
#ifdef FOLLOWED
	at.ip->check = corrected(at.ip->check, before, bpf_htonl(SERVER));
#else
	at.ip->check = 0;
	at.ip->check = header_sum(at.ip);
#endif
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
