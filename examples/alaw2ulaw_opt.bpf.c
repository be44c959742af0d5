/* As alaw2ulaw, with the same output for every packet, optimised: no linear value, no search.
 *
 * Segment s > 0 and position p of A-law mean 2^s * (2p + 33) in the scale of µ-law, which adds a
 * bias of 33. So the µ-law segment is s, too, with the position (2p + 1 + 33 / 2^s) / 2; or, if
 * that is 16 or more, the value is in segment s + 1, whose steps are twice as large. Segment 0 of
 * A-law has the steps of its segment 1. A table in .rodata would be shorter still, but not every
 * card gives programs constants in memory.
 *
 * Source: as alaw2ulaw.
 *
 * Slowest path, expected: 160 samples of segments 1 to 4, all of them in the larger steps.
 */
#include "rtp.h"

#define SAME_FROM 79 /* codes without sign, from which on the recommendation converts n to n */

static __always_inline __u8 ulaw_of_alaw(__u8 alaw)
{
	__u32 code = alaw ^ 0x55; /* A-law inverts every other bit on the line */
	__u32 segment = code >> 4 & 7;
	__u32 twice = (code & 0xf) * 2 + 1;
	__u32 position;

	if ((code & 0x7f) >= SAME_FROM)
		return code ^ 0x7f;
	if (segment)
		twice += 33 >> segment;
	else
		twice = twice * 2 + 1;
	position = twice >> 1;
	if (position > 0xf)
		position = 8 + (twice >> 2); /* 16 more than in segment s + 1 */
	return ((code & 0xf0) + position) ^ 0x7f;
}

SEC("xdp")
int alaw2ulaw_opt(struct xdp_md *ctx)
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
