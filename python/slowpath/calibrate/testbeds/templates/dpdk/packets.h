
enum { PACKETS = 256, KEY_OFFSET = ${key_offset}, STRIDE = ${stride} };
static uint8_t *packets;
static const uint8_t packet_bytes[] = { ${packet} };
//@ include draw.h

/* Returns the next packet, with bytes that vary as a load generator writes them. */
static inline uint8_t *next_packet(uint32_t number)
{
	uint8_t *packet = packets + number % PACKETS * STRIDE;
//@ if vary
	uint32_t index = draw();

	memcpy(packet + KEY_OFFSET, &index, sizeof(index));
//@ end
	return packet;
}

static int make_packets(void)
{
	packets = rte_zmalloc(NULL, PACKETS * STRIDE, 64);
	for (int i = 0; packets && i < PACKETS; i++)
		memcpy(packets + i * STRIDE, packet_bytes, sizeof(packet_bytes));
	return packets ? 0 : -1;
}
