/* ../web_generator.cc as far as the card runs it: data that a server sends is acknowledged, in the
 * packet that it came in.
 *
 * The host does what the card cannot: programs make no packets and only shorten those that come, so
 * connections are opened, pages asked for and connections closed by the host, which also keeps the
 * state of clients, because programs do not set elements. What is acknowledged is what came.
 */
#include "card.h"
#include "../../ethernet.h"
#include <linux/tcp.h>

#define FIRST 1024
#define WAITING 3

#if defined(ORDERED) || defined(FOLLOWED)
struct client {
	__u32 next; /* what we send next */
	__u16 window;
	__u8 state;
	__u8 retries;
	__u32 received;
	__u32 expected; /* what we expect next */
	__u32 pages;
	__u32 zero;
	__u64 opened;
	__u64 last;
};
#else
struct client {
	__u32 next;	/* what we send next */
	__u32 expected; /* what we expect next */
	__u64 opened;
	__u8 state;
	__u8 retries;
	__u16 window;
	__u32 received;
	__u32 pages;
	__u64 last;
};
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENTRIES);
	__type(key, __u32);
	__type(value, struct client);
} clients SEC(".maps");

/* What an acknowledgement needs of a client. */
struct known {
	__u32 next;
	__u16 window;
	__u8 state;
};

static __always_inline struct known known_of(const struct client *client)
{
#ifdef FOLLOWED /* all of it with one command */
	__u64 window = *(const __u64 *)client;
	struct known known = { window, window >> 32, window >> 48 };
#else
	struct known known = { client->next, client->window, client->state };
#endif
	return known;
}

SEC("xdp")
int web_generator(struct xdp_md *ctx)
{
	struct headers at;
	struct tcphdr *tcp;
	struct client *client;
	struct known known;
	__be16 port;
	__be32 address;
	__u32 index, length, all;

	if (find_headers(ctx, &at, sizeof(*tcp) - sizeof(struct ports)) < 0)
		return XDP_PASS;
	tcp = (void *)at.ports;
	if (at.ip->protocol != IPPROTO_TCP || tcp->doff != 5 || tcp->fin || tcp->syn || tcp->rst)
		return XDP_PASS;
	all = bpf_ntohs(at.ip->tot_len);
	length = all - sizeof(*at.ip) - sizeof(*tcp);
	if (all <= sizeof(*at.ip) + sizeof(*tcp))
		return XDP_PASS;
	index = bpf_ntohs(tcp->dest) - FIRST;
	if (index >= ENTRIES)
		return XDP_PASS;
	client = bpf_map_lookup_elem(&clients, &index);
	if (!client)
		return XDP_PASS;
	known = known_of(client);
	if (known.state != WAITING)
		return XDP_PASS;
	__sync_fetch_and_add(&client->received, length & 0xffff);

	swap_macs(at.eth);
	address = at.ip->saddr;
	at.ip->saddr = at.ip->daddr;
	at.ip->daddr = address;
#ifdef FOLLOWED /* addresses that change places change no sum */
	at.ip->check = corrected(at.ip->check, at.ip->tot_len, bpf_htons(40));
	at.ip->tot_len = bpf_htons(40);
#else
	at.ip->tot_len = bpf_htons(40);
	at.ip->check = 0;
	at.ip->check = header_sum(at.ip);
#endif
	port = tcp->source;
	tcp->source = tcp->dest;
	tcp->dest = port;
	tcp->ack_seq = bpf_htonl(bpf_ntohl(tcp->seq) + length);
	tcp->seq = bpf_htonl(known.next);
	tcp->window = bpf_htons(known.window);
	tcp->psh = 0;
	tcp->check = 0; /* left out, as in the element */
	return bpf_xdp_adjust_tail(ctx, -(int)length) ? XDP_DROP : XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
