/* The mark: what the firewall tells the programs behind it about a packet, in a destination options
 * header that it inserts directly behind the IPv6 header. Nothing else is in that header: padding
 * (PadN, 4 bytes), then one option for experiments with the mark in it, which begins at 8n.
 *
 * The mark ends with a CRC of its own: the checksum of TCP does not cover extension headers, and that
 * of a link ends with the link.
 *
 * Sources: RFC 8200 sections 4.2 (options, alignment) and 4.6 (destination options), RFC 4727 section
 * 3.3 (options for experiments), ITU-T V.41 (the polynomial of the CRC).
 */
#ifndef EXAMPLES_CHAIN_MARK_H
#define EXAMPLES_CHAIN_MARK_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define OPTION_PAD1 0
#define OPTION_PADN 1
#define OPTION_MARK 0x1e /* who does not know it skips it (bits 00), and it stays as it is (bit 0) */

#define MARK_ALIGNMENT 8
#define ZONES 16

struct mark {
	__be64 policy; /* the rules that let the packet pass */
	__be32 revision; /* their revision */
	__be32 device; /* who applied them */
	__be32 zone; /* where the packet comes from; less than ZONES */
	__u16 zero;
	__be16 check; /* such that the CRC over the whole mark is 0 */
};

/* The CRC of V.41 (x^16 + x^12 + x^5 + 1, highest bit first) over one more byte, without a table. */
static __always_inline __u32 crc16(__u32 crc, __u8 byte)
{
	__u32 x = crc >> 8 ^ byte;

	x ^= x >> 4;
	return (crc << 8 ^ x << 12 ^ x << 5 ^ x) & 0xffff;
}

#define CRC16_START 0xffff

#endif
