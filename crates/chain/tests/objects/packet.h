/* The first byte of the packet; one that is not so long is dropped. */
#define PACKET(ctx, bytes)                                                                         \
	__u8 *data = (__u8 *)(long)(ctx)->data;                                                    \
	if (data + (bytes) > (__u8 *)(long)(ctx)->data_end)                                        \
		return XDP_DROP;
