/* Answers DNS queries over UDP and IPv4 from a cache of precomputed answers, without the host.
 *
 * Reads the name of up to 32 bytes in lower case, hashes it, and looks for the question in an array
 * indexed by the hash, then in a hash map that holds what does not fit there. The answer, 16 bytes
 * of record with one IPv4 address, is appended to the question, everything behind the question
 * (EDNS) is removed, and the packet goes back to where it came from. What is not in the cache is
 * left to the host.
 *
 * Sources: RFC 1035 sections 4.1 (format), 2.3.3 (case) and 4.1.4 (compression), RFC 1071.
 *
 * Slowest path, expected: a name of 32 bytes in capitals whose array slot holds another name that
 * differs in the last word, and whose answer is found in the hash map. Short labels cost more than
 * long ones, if the check of a length costs more than that of a letter.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "checksum.h"
#include "ethernet.h"

#define IP_MORE_OR_OFFSET 0x3fff
#define DNS_PORT 53
#define DNS_QUERY_MASK 0xf800	 /* response flag and operation, which are 0 in a query */
#define DNS_RECURSION 0x0100	 /* wanted: copied into the answer */
#define DNS_ANSWER 0x8080	 /* response; recursion is available */
#define DNS_POINTER_TO_NAME 0xc00c /* the name is that at offset 12, the question's */
#define MAX_NAME 32		 /* with the lengths of its labels and the empty one at the end */
#define MAX_LABEL 63
#define SLOTS 4096

struct dnshdr {
	__be16 id;
	__be16 flags;
	__be16 questions;
	__be16 answers;
	__be16 authorities;
	__be16 additional;
};

struct kind {
	__be16 type;
	__be16 class;
};

struct question {
	__u8 name[MAX_NAME]; /* lower case, zeros behind the end */
	struct kind kind;
	__u32 zero;
};

struct answer {
	__be32 time_to_live; /* 0: slot is free */
	__be32 address;
};

struct slot {
	struct question question;
	struct answer answer;
};

struct record {
	__be16 name;
	struct kind kind;
	__be32 time_to_live;
	__be16 length;
	__be32 address;
} __attribute__((packed, aligned(2)));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct question);
	__type(value, struct answer);
} overflow SEC(".maps");

/* The headers of a query; there are no options between them. */
struct headers {
	struct ethhdr *eth;
	struct iphdr *ip;
	struct udphdr *udp;
	struct dnshdr *dns;
	__u8 *name;
};

/* -1 when the packet is too short for them. */
static __always_inline int place_headers(struct xdp_md *ctx, struct headers *at)
{
	at->eth = (void *)(long)ctx->data;
	at->ip = (void *)(at->eth + 1);
	at->udp = (void *)(at->ip + 1);
	at->dns = (void *)(at->udp + 1);
	at->name = (void *)(at->dns + 1);
	return at->name > (__u8 *)(long)ctx->data_end ? -1 : 0;
}

static __always_inline int is_query(const struct headers *at)
{
	if (at->eth->h_proto != bpf_htons(ETH_P_IP) || at->ip->version != 4 || at->ip->ihl != 5)
		return 0;
	if (at->ip->protocol != IPPROTO_UDP || at->ip->frag_off & bpf_htons(IP_MORE_OR_OFFSET))
		return 0;
	if (at->udp->dest != bpf_htons(DNS_PORT))
		return 0;
	if (at->dns->flags & bpf_htons(DNS_QUERY_MASK))
		return 0;
	return at->dns->questions == bpf_htons(1) && !at->dns->answers && !at->dns->authorities;
}

/* Copies the name; its length in bytes, or 0 when it is malformed, compressed or too long. */
static __always_inline __u32 read_name(__u8 *name, void *end, struct question *question,
				       __u32 *hash)
{
	__u32 sum = 0x811c9dc5; /* FNV-1a */
	__u32 left = 0;		/* letters until the next length */
	__u32 i;

	for (i = 0; i < MAX_NAME; i++) {
		__u8 byte;

		if ((void *)(name + i + 1) > end)
			return 0;
		byte = name[i];
		if (left) {
			left--;
			if (byte >= 'A' && byte <= 'Z')
				byte |= 0x20;
		} else {
			if (byte == 0)
				break;
			if (byte > MAX_LABEL)
				return 0;
			left = byte;
		}
		question->name[i] = byte;
		sum = (sum ^ byte) * 0x01000193;
	}
	if (i == MAX_NAME)
		return 0;
	*hash = sum;
	return i + 1;
}

static __always_inline int equal(const struct question *a, const struct question *b)
{
	const __u64 *x = (const void *)a;
	const __u64 *y = (const void *)b;
	__u32 i;

#pragma unroll
	for (i = 0; i < sizeof(*a) / sizeof(*x); i++)
		if (x[i] != y[i])
			return 0;
	return 1;
}

static __always_inline struct answer *find(struct question *question, __u32 hash)
{
	__u32 index = (hash ^ hash >> 16) % SLOTS;
	struct slot *slot = bpf_map_lookup_elem(&slots, &index);

	if (slot && slot->answer.time_to_live && equal(&slot->question, question))
		return &slot->answer;
	return bpf_map_lookup_elem(&overflow, question);
}

/* Addresses and ports swapped, lengths and checksums as for `payload` bytes of UDP. */
static __always_inline void turn_around(struct headers *at, __u16 payload)
{
	__be32 address = at->ip->saddr;
	__be16 port = at->udp->source;
	__u16 *word = (void *)at->ip;
	__u64 sum = 0;
	__u32 i;

	swap_macs(at->eth);
	at->udp->source = at->udp->dest;
	at->udp->dest = port;
	at->udp->len = bpf_htons(sizeof(struct udphdr) + payload);
	at->udp->check = 0; /* no checksum: allowed over IPv4 */
	at->ip->saddr = at->ip->daddr;
	at->ip->daddr = address;
	at->ip->tot_len = bpf_htons(sizeof(struct iphdr) + sizeof(struct udphdr) + payload);
	at->ip->ttl = 64;
	at->ip->check = 0;
#pragma unroll
	for (i = 0; i < sizeof(struct iphdr) / sizeof(*word); i++)
		sum += word[i];
	at->ip->check = ~csum_fold(sum);
}

SEC("xdp")
int dns_cache(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct question question = {};
	struct headers at;
	struct kind *kind;
	struct record *record;
	struct answer *found;
	struct answer answer;
	__u32 name, hash, payload;

	if (place_headers(ctx, &at) < 0 || !is_query(&at))
		return XDP_PASS;
	name = read_name(at.name, end, &question, &hash);
	if (!name)
		return XDP_PASS;
	kind = (void *)at.name + name;
	if ((void *)(kind + 1) > end)
		return XDP_PASS;
	question.kind = *kind;

	found = find(&question, hash);
	if (!found)
		return XDP_PASS;
	answer = *found;

	/* The packet is to end behind the record, wherever it ended before. */
	payload = sizeof(*at.dns) + name + sizeof(*kind) + sizeof(*record);
	long length = (void *)at.dns + payload - (void *)at.eth;
	if (bpf_xdp_adjust_tail(ctx, length - (end - (void *)at.eth)))
		return XDP_PASS;
	end = (void *)(long)ctx->data_end;
	if (place_headers(ctx, &at) < 0)
		return XDP_ABORTED;
	record = (void *)at.name + name + sizeof(*kind);
	if ((void *)(record + 1) > end)
		return XDP_ABORTED;

	record->name = bpf_htons(DNS_POINTER_TO_NAME);
	record->kind = question.kind;
	record->time_to_live = answer.time_to_live;
	record->length = bpf_htons(sizeof(record->address));
	record->address = answer.address;
	at.dns->flags = (at.dns->flags & bpf_htons(DNS_RECURSION)) | bpf_htons(DNS_ANSWER);
	at.dns->answers = bpf_htons(1);
	at.dns->additional = 0;
	turn_around(&at, payload);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
