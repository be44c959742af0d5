/* QUIC-LB: finds the server that a QUIC connection ID names. Shared by quic_lb and quic_lb_ipv6.
 *
 * The two top bits of the first octet of a connection ID select one of up to four configurations
 * (key rotation); a configuration says how the octets behind it name the server:
 * - plaintext: the next octets are the server ID;
 * - obfuscated: some bits of them, taken as an integer, modulo an odd divisor. The draft allows any
 *   set of bits; here they are contiguous.
 * Not here: the encrypted variants, which need the key and a cipher.
 * Packets without such an ID (clients choose that of Initial and 0-RTT packets) are balanced by a
 * hash of addresses and ports.
 *
 * Sources: draft-ietf-quic-load-balancers-03, RFC 8999 (header invariants),
 * RFC 9000 section 17.2 (types of long header packets).
 */
#ifndef EXAMPLES_QUIC_LB_H
#define EXAMPLES_QUIC_LB_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define QUIC_LONG_HEADER 0x80
#define QUIC_FIXED_BIT 0x40
#define QUIC_LONG_TYPE(first) ((first) >> 4 & 3)
#define QUIC_HANDSHAKE 2

#define ID_OCTETS 9	 /* of a connection ID that are looked at: the first octet and 8 more */
#define FALLBACK_SIZE 256

enum algorithm {
	UNUSED,
	PLAINTEXT,
	OBFUSCATED,
};

struct config {
	__u32 algorithm;
	__u32 server_id_octets; /* plaintext: 1 to 8 */
	__u64 divisor;		/* obfuscated */
	__u64 routing_mask;	/* obfuscated: applied after the shift */
	__u32 routing_shift;
	__u32 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct config);
} configs SEC(".maps");

struct quic_long {
	__u8 first;
	__u8 version[4];
	__u8 id_length;
	__u8 id[ID_OCTETS];
};

struct quic_short {
	__u8 first;
	__u8 id[ID_OCTETS];
};

/* The server ID that `id`, ID_OCTETS long, names; -1 when it names none. */
static __always_inline int quic_decode(const __u8 *id, __u32 length, __u64 *server)
{
	__u32 rotation = id[0] >> 6;
	struct config *config = bpf_map_lookup_elem(&configs, &rotation);
	__u64 octets = 0;
	int i;

	if (!config)
		return -1;
#pragma unroll
	for (i = 1; i < ID_OCTETS; i++)
		octets = octets << 8 | id[i];

	if (config->algorithm == PLAINTEXT) {
		__u32 used = config->server_id_octets;

		if (used < 1 || used > 8 || length < 1 + used)
			return -1;
		*server = octets >> (64 - 8 * used);
		return 0;
	}
	if (config->algorithm == OBFUSCATED) {
		if (!config->divisor || length < ID_OCTETS)
			return -1;
		octets = octets >> (config->routing_shift & 63) & config->routing_mask;
		*server = octets % config->divisor;
		return 0;
	}
	return -1;
}

/* As quic_decode, for the UDP payload at `payload`. */
static __always_inline int quic_route(void *payload, void *end, __u64 *server)
{
	struct quic_short *brief = payload;
	struct quic_long *full = payload;

	if ((void *)(brief + 1) > end)
		return -1;
	if (brief->first & QUIC_LONG_HEADER) {
		if ((void *)(full + 1) > end)
			return -1;
		if (QUIC_LONG_TYPE(full->first) < QUIC_HANDSHAKE)
			return -1;
		return quic_decode(full->id, full->id_length, server);
	}
	if (!(brief->first & QUIC_FIXED_BIT))
		return -1;
	/* A short header does not tell the length of its ID; servers make them long enough. */
	return quic_decode(brief->id, ID_OCTETS, server);
}

#endif
