/* Transcodes the audio of RTP packets from G.711 A-law to µ-law: up to 160 samples, one at a time,
 * each decoded to a linear value and encoded again. Loud samples have the same code in both laws.
 *
 * Sources: ITU-T G.711, both laws and the conversion between them; see rtp.h for RTP.
 *
 * Slowest path, expected: 160 samples, all in the segment for which the most comparisons are made.
 * It is satisfiable: samples are independent of each other. By bit rate it is the slowest, too,
 * because a byte of audio costs far more than a byte of header.
 */
#include "rtp.h"

#define SAME_FROM 79 /* codes without sign, from which on the recommendation converts n to n */

/* Linear values have 14 bits, the scale of µ-law, which is twice that of A-law. */
static __always_inline __u8 ulaw_of_alaw(__u8 alaw)
{
	__u8 code = alaw ^ 0x55; /* A-law inverts every other bit on the line */
	__u32 ulaw = code & 0x7f;
	__u32 segment = ulaw >> 4;
	__u32 linear = (code & 0xf) * 2 + 1;

	if (ulaw < SAME_FROM) {
		if (segment)
			linear = (linear + 32) << (segment - 1);
		linear = linear * 2 + 33;

		/* Segment n of µ-law begins at 2^(n + 5), with the bias of 33. */
		if (linear >= 4096)
			segment = 7;
		else if (linear >= 2048)
			segment = 6;
		else if (linear >= 1024)
			segment = 5;
		else if (linear >= 512)
			segment = 4;
		else if (linear >= 256)
			segment = 3;
		else if (linear >= 128)
			segment = 2;
		else if (linear >= 64)
			segment = 1;
		else
			segment = 0;
		ulaw = segment << 4 | (linear >> (segment + 1) & 0xf);
	}
	/* The sign bit is set for positive values in both laws; µ-law inverts all other bits. */
	return (code & 0x80) | (~ulaw & 0x7f);
}

SEC("xdp")
int alaw2ulaw(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct rtp_frame frame;
	__u32 i;

	if (parse_alaw(ctx, &frame) < 0)
		return XDP_PASS;
	for (i = 0; i < MAX_SAMPLES && i < frame.samples; i++) {
		__u8 *sample = frame.sample + i;

		if ((void *)(sample + 1) > end)
			break;
		*sample = ulaw_of_alaw(*sample);
	}
	return send_ulaw(&frame);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
