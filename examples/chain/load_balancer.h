/* Load balancer for TCP services over IPv6, behind extension headers: the packet gets the address of
 * a backend, and goes back to the network.
 *
 * Services share a prefix of 112 bits; the last 16 bits of an address are the service's number. Each
 * service has 16 places in a table, filled with its backends by whoever configures it; the addresses
 * of the client and its port choose the place. A service is open to some zones, which the firewall's
 * mark names (mark.h); packets without a mark are of zone 0.
 *
 * Parses as RFC 8200 says, but no more than MAX_EXTENSIONS headers and MAX_OPTIONS destination
 * options, which are for us as the service's address is ours. What is wrong in itself or asks to be
 * discarded is dropped; what is not for this program (other protocols, routes through here,
 * fragments, more than it parses) passes. In front of each loop stands
 * UNROLL: the order to unroll it, as kernels before 5.3 need it, or nothing.
 *
 * Sources: RFC 8200 sections 4.1 (order), 4.2 (options), 4.4 to 4.6; RFC 4302 section 2.2 (length of
 * authentication headers); RFC 4942 section 2.1.9.5 (padding); RFC 6946 (atomic fragments);
 * RFC 1624 equation 3; see mark.h.
 */
#ifndef EXAMPLES_CHAIN_LOAD_BALANCER_H
#define EXAMPLES_CHAIN_LOAD_BALANCER_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "../checksum.h"
#include "../ethernet.h"
#include "mark.h"

#ifndef MAX_EXTENSIONS
#define MAX_EXTENSIONS 3 /* besides hop-by-hop options */
#endif
#ifndef MAX_OPTIONS
#define MAX_OPTIONS 8
#endif
#define MAX_HEADERS 511 /* bytes of all headers in front of TCP */
#define MAX_PADDING 5 /* of PadN; more than 7 bytes align nothing */
#define OLDEST_REVISION 5
#define PLACES 16 /* for the backends of a service */
#define MAX_SERVICES 256

#define ROUTING_SEGMENTS 0x00ff
#define FRAGMENT_OFFSET_OR_MORE 0xfff9
#define OPTION_ACTION 0xc0 /* bits of a type: what to do with an option that is not known; 0: skip */

struct address {
	__u64 half[2];
} __attribute__((aligned(2), may_alias));

struct place {
	struct address service;
	struct address backend;
	struct mac mac; /* of the next hop */
	__be16 port; /* of the service; 0: the place is free */
	__u16 zones; /* bits of those that may use it */
	/* What the backend's address in place of the service's adds to a sum of 16 bits. */
	__u16 change;
	__u32 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_SERVICES * PLACES);
	__type(key, __u32);
	__type(value, struct place);
} places SEC(".maps");

/* The beginning of all extension headers. */
struct extension {
	__u8 next;
	__u8 length; /* in units of 8 octets, without the first; in fragments reserved */
	__be16 field;
	__be32 rest;
};

/* Offsets are from the start of the packet. */
struct headers {
	void *data;
	void *end;
	__u32 position;
	__u32 options; /* where they begin; 0: there are none */
	__u32 options_end;
	__u32 mark; /* 0: there is none */
	__u8 next;
};

enum { CONTINUE = -1 }; /* beside the actions of XDP */

/* Lets the compiler forget where a value came from, so that it uses the one that was compared with a
 * limit, and does not compute it again: the kernel's verifier knows the limit of that one only.
 */
#define KEEP(value) asm volatile("" : "+r"(value))

/* An extension header, contents left out; an action of XDP or CONTINUE. */
static __always_inline int read_extension(struct headers *headers)
{
	struct extension *extension = headers->data + headers->position;
	__u32 units;
	__u32 end;

	KEEP(extension);
	if ((void *)(extension + 1) > headers->end)
		return XDP_DROP;
	units = extension->length;
	if (headers->next == IPPROTO_AH) /* units of 4 octets, without two, but whole ones of 8 */
		units >>= 1;
	end = headers->position + 8 * (1 + units);
	if (end > MAX_HEADERS)
		return XDP_PASS;
	switch (headers->next) {
	case IPPROTO_DSTOPTS:
		if (headers->options)
			return XDP_DROP;
		headers->options = headers->position + 2;
		headers->options_end = end;
		break;
	case IPPROTO_ROUTING:
		if (extension->field & bpf_htons(ROUTING_SEGMENTS))
			return XDP_PASS;
		break;
	case IPPROTO_FRAGMENT:
		if (extension->length || extension->field & bpf_htons(FRAGMENT_OFFSET_OR_MORE))
			return XDP_PASS;
		break;
	case IPPROTO_AH:
		if (!(extension->length & 1))
			break;
		/* fall through */
	case IPPROTO_HOPOPTS: /* must be first */
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
	headers->next = extension->next;
	headers->position = end;
	KEEP(headers->position);
	return CONTINUE;
}

/* The destination options: an action of XDP, or CONTINUE if they let the packet pass. */
static __always_inline int read_options(struct headers *headers)
{
	__u32 position = headers->options;
	__u32 padded = 0; /* the option before is padding */
	int i;

UNROLL
	for (i = 0; i < MAX_OPTIONS; i++) {
		__u8 *option = headers->data + position;
		__u32 start = position;
		__u32 length;

		KEEP(option);
		if (position == headers->options_end)
			return CONTINUE;
		/* TCP behind the options is longer than what is read of each. */
		if ((void *)option + sizeof(__u64) > headers->end)
			return XDP_DROP;
		length = option[1];
		/* Without a branch, of which the verifier would follow both ways on from here. */
		position += 1 + ((option[0] + 0xff) >> 8) * (1 + length);
		KEEP(position);
		if (position > headers->options_end)
			return XDP_DROP;
		if (option[0] > OPTION_PADN) {
			padded = 0;
			if (option[0] == OPTION_MARK) {
				if (headers->mark || length != sizeof(struct mark))
					return XDP_DROP;
				headers->mark = start + 2;
			} else if (option[0] & OPTION_ACTION) {
				return XDP_DROP;
			}
			continue;
		}
		if (padded)
			return XDP_DROP;
		padded = 1;
		if (option[0] == OPTION_PADN) {
			KEEP(length);
			if (length > MAX_PADDING)
				return XDP_DROP;
			/* Behind type and length, the first bytes of the word, all are zero. */
			if ((*(__u64 *)option & ~0xffffULL) << (48 - 8 * length))
				return XDP_DROP;
		}
	}
	return position == headers->options_end ? CONTINUE : XDP_PASS;
}

/* The zone that a mark names; -1 if the mark is not to be believed. */
static __always_inline int read_mark(struct headers *headers)
{
	struct mark *mark = headers->data + headers->mark;
	__u32 crc = CRC16_START;
	__u32 zone;
	__u32 i;

	KEEP(mark);
	if ((void *)(mark + 1) > headers->end)
		return -1;
UNROLL
	for (i = 0; i < sizeof(*mark); i++)
		crc = crc16(crc, ((__u8 *)mark)[i]);
	if (crc || bpf_ntohl(mark->revision) < OLDEST_REVISION)
		return -1;
	zone = bpf_ntohl(mark->zone);
	return zone < ZONES ? (int)zone : -1;
}

static __always_inline __u32 hash_client(struct address *client, struct tcphdr *tcp)
{
	__u64 sum = client->half[0] ^ client->half[1];

	return (__u32)(sum ^ sum >> 32 ^ tcp->source) * 0x9e3779b1;
}

SEC("xdp")
int load_balancer(struct xdp_md *ctx)
{
	struct headers headers = {
		.data = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
		.position = sizeof(struct ethhdr) + sizeof(struct ipv6hdr),
	};
	struct ethhdr *eth = headers.data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct address *address = (void *)&ip->daddr;
	struct place *place;
	struct tcphdr *tcp;
	__u32 index;
	int zone = 0;
	int action;
	int i;

	if ((void *)(ip + 1) > headers.end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IPV6) || ip->version != 6)
		return XDP_PASS;
	headers.next = ip->nexthdr;
	if (headers.next == IPPROTO_HOPOPTS) { /* for routers, not for us */
		struct extension *extension = (void *)(ip + 1);

		if ((void *)(extension + 1) > headers.end)
			return XDP_DROP;
		headers.next = extension->next;
		headers.position += 8 * (1 + (__u32)extension->length);
		if (headers.position > MAX_HEADERS)
			return XDP_PASS;
	}
UNROLL
	for (i = 0; i < MAX_EXTENSIONS; i++) {
		if (headers.next != IPPROTO_TCP) {
			action = read_extension(&headers);
			if (action != CONTINUE)
				return action;
		}
	}
	if (headers.next != IPPROTO_TCP)
		return XDP_PASS;
	tcp = headers.data + headers.position;
	KEEP(tcp);
	if ((void *)(tcp + 1) > headers.end)
		return XDP_DROP;
	if (headers.options) {
		action = read_options(&headers);
		if (action != CONTINUE)
			return action;
	}
	if (headers.mark) {
		zone = read_mark(&headers);
		if (zone < 0)
			return XDP_DROP;
	}

	index = (__u32)bpf_ntohs(ip->daddr.in6_u.u6_addr16[7]) * PLACES;
	index += hash_client((void *)&ip->saddr, tcp) >> 28;
	place = bpf_map_lookup_elem(&places, &index);
	if (!place)
		return XDP_PASS;
	if (place->service.half[0] != address->half[0] ||
	    place->service.half[1] != address->half[1] || place->port != tcp->dest)
		return XDP_PASS;
	if (!(place->zones >> zone & 1))
		return XDP_DROP;

	*address = place->backend;
	tcp->check = csum_update(tcp->check, place->change);
	forward_to(eth, place->mac);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#endif
