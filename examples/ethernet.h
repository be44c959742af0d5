/* Ethernet addresses, copied in words of 16 bits: packets are at least that well aligned. */
#ifndef EXAMPLES_ETHERNET_H
#define EXAMPLES_ETHERNET_H

#include <linux/if_ether.h>

struct mac {
	__u16 word[ETH_ALEN / 2];
} __attribute__((may_alias));

static __always_inline struct mac *source_mac(struct ethhdr *eth)
{
	return (void *)eth->h_source;
}

static __always_inline struct mac *destination_mac(struct ethhdr *eth)
{
	return (void *)eth->h_dest;
}

/* Sends the frame back to the neighbour it came from. */
static __always_inline void swap_macs(struct ethhdr *eth)
{
	struct mac mac = *source_mac(eth);

	*source_mac(eth) = *destination_mac(eth);
	*destination_mac(eth) = mac;
}

/* Sends the frame on from the address it came to, to the next hop `to`. */
static __always_inline void forward_to(struct ethhdr *eth, struct mac to)
{
	*source_mac(eth) = *destination_mac(eth);
	*destination_mac(eth) = to;
}

#endif
