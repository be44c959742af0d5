/* Firewall in front of a load balancer: drops everything but TCP directly over IPv6, and marks what
 * it lets pass (mark.h) for the programs behind it on the same hook.
 *
 * What it says of a packet is fixed when it is compiled, and so is every byte of the header that it
 * inserts: next header TCP, 32 bytes, padding, the mark. TCP's checksum stays right, as its pseudo
 * header has no extension headers in it.
 *
 * Sources: RFC 8200, RFC 9293 section 3.1, see mark.h.
 *
 * Slowest path, expected: any packet that passes; 32 bytes of header are new, 54 are moved.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "mark.h"

#define POLICY 0x10203
#define REVISION 7
#define DEVICE 1
#define ZONE 3

#define MAX_PAYLOAD 0xffff

/* Ethernet and IPv6, as words to be moved. */
struct headers {
	__u64 word[6];
	__u32 last_word;
	__u16 last;
} __attribute__((packed, aligned(2), may_alias));

/* Destination options with a mark. */
struct marking {
	__u8 next;
	__u8 length; /* in units of 8 octets, without the first */
	__u8 padding[4]; /* PadN */
	__u8 type;
	__u8 mark_length;
	struct mark mark;
};

static __always_inline struct mark signed_mark(void)
{
	struct mark mark = {
		.policy = bpf_cpu_to_be64(POLICY),
		.revision = bpf_htonl(REVISION),
		.device = bpf_htonl(DEVICE),
		.zone = bpf_htonl(ZONE),
	};
	__u8 *byte = (void *)&mark;
	__u32 crc = CRC16_START;
	__u32 i;

#pragma unroll
	for (i = 0; i < sizeof(mark) - sizeof(mark.check); i++)
		crc = crc16(crc, byte[i]);
	mark.check = bpf_htons(crc);
	return mark;
}

SEC("xdp")
int firewall(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	struct marking *marking;
	struct headers *moved;
	struct headers headers;
	__u32 length;

	if ((void *)(tcp + 1) > end)
		return XDP_DROP;
	if (eth->h_proto != bpf_htons(ETH_P_IPV6) || ip->version != 6)
		return XDP_DROP;
	if (ip->nexthdr != IPPROTO_TCP)
		return XDP_DROP;
	length = bpf_ntohs(ip->payload_len);
	if (length < sizeof(*tcp) || length > MAX_PAYLOAD - sizeof(*marking))
		return XDP_DROP;

	/* Where they are now is where the new header will be: read them first. */
	headers = *(struct headers *)eth;
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*marking)))
		return XDP_ABORTED;
	end = (void *)(long)ctx->data_end;
	moved = (void *)(long)ctx->data;
	ip = (void *)moved + sizeof(*eth);
	marking = (void *)(ip + 1);
	if ((void *)(marking + 1) > end)
		return XDP_ABORTED;
	*moved = headers;
	ip->payload_len = bpf_htons(length + sizeof(*marking));
	ip->nexthdr = IPPROTO_DSTOPTS;
	*marking = (struct marking) {
		.next = IPPROTO_TCP,
		.length = sizeof(*marking) / 8 - 1,
		.padding = { OPTION_PADN, 2 },
		.type = OPTION_MARK,
		.mark_length = sizeof(marking->mark),
		.mark = signed_mark(),
	};
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
