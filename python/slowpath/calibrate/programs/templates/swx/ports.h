
enum {
	PACKETS = 64,	/* number of packet buffers of a pipeline, which processes up to 16 at a time */
	HEADROOM = 256,	/* bytes before the packet, for added headers */
	FRONT = 64,	/* number of first bytes that are restored for each packet */
	LONGEST = 16384,
	PATH = 4096,
	STEP = 1000,	/* number of instructions that a pipeline runs per call */
	KEY_OFFSET = ${key_offset},
};

/* A pipeline with its ports. */
struct side {
	struct rte_swx_pipeline *pipeline;
	uint8_t *room;			/* buffers of the packets */
	uint64_t received, sent, copies;
	int closed;			/* nonzero: no more packets arrive */
	struct rte_swx_pkt last;	/* last packet that was sent */
	uint8_t *expected;		/* expected content of sent packets */
	long expected_length;
};

static struct side sides[2];	/* without the component (0) and with it (1) */
static uint32_t passed;		/* number of packets in the last run of a pipeline */
static uint8_t *packets;	/* packets that the ports receive, repeatedly */
static uint8_t *arriving;	/* content of an arriving packet */
static struct rte_mbuf dropped;	/* buffer that DPDK frees for each dropped packet */
static long length, stride;
//@ include ../dpdk/draw.h

/* Returns the number of key bytes before the bytes that vary. */
static inline uint32_t front_of_key(void)
{
//@ if kind == table-lpm
	return prefix_bits > 32 ? (prefix_bits - 25) / 8 : 0;
//@ else
	return 0;
//@ end
}
//@ if kind == table-lpm

/* Writes an odd multiple of the number, which spreads prefixes, into their last 32 bits; the first
 * bit of the address stays 0. */
static inline void write_number(uint8_t *address, uint32_t number)
{
	uint32_t front = front_of_key();
	uint32_t own_bits = prefix_bits - 8 * front;
	uint32_t spread = rte_cpu_to_be_32((uint32_t)(number * ${spread}U << (33 - own_bits)) >> 1);

	memcpy(address + front, &spread, sizeof(spread));
	address[0] &= 0x7f;
}
//@ end

//@ if vary
/* Writes the key of a packet. */
static inline void write_key(uint8_t *key, uint32_t number)
{
//@ if kind == table-lpm
	write_number(key, number);
//@ if not hit
	key[0] |= 0x80; /* no entry has this bit */
//@ end
//@ else
//@ if kind == table-exact
//@ if not hit
	number |= 1U << 31; /* no entry has this bit */
//@ end
//@ end
//@ if indexed
	number = rte_cpu_to_be_32(number);
//@ end
	memcpy(key, &number, sizeof(number));
//@ end
}
//@ end

static int receive(void *port, struct rte_swx_pkt *packet)
{
	struct side *side = port;
	uint8_t *room;

	if (side->closed)
		return 0;
	room = side->room + side->received++ % PACKETS * stride;
	memcpy(room + HEADROOM, arriving, FRONT);
//@ if vary
	write_key(room + HEADROOM + KEY_OFFSET, draw());
//@ end
	rte_mbuf_refcnt_set(&dropped, PACKETS); /* DPDK never drops the last reference */
	packet->handle = &dropped;
	packet->pkt = room;
	packet->offset = HEADROOM;
	packet->length = length;
	return 1;
}

static void transmit(void *port, struct rte_swx_pkt *packet)
{
	struct side *side = port;

	side->sent++;
	side->last = *packet;
}

/* Further functions that DPDK requires of ports. */
static void *itself(void *port)
{
	return port;
}

static void nothing(void *port)
{
	(void)port;
}

/* Copies the first bytes of a packet. */
static void copy_part(void *port, struct rte_swx_pkt *packet, uint32_t bytes_kept)
{
	static uint8_t copied[LONGEST];
	struct side *side = port;

	memcpy(copied, packet->pkt + packet->offset, RTE_MIN(bytes_kept, packet->length));
	keep(copied[0]);
	side->copies++;
}

static void copy(void *port, struct rte_swx_pkt *packet)
{
	copy_part(port, packet, packet->length);
}

static void received_by(void *port, struct rte_swx_port_in_stats *found)
{
	found->n_pkts = ((struct side *)port)->received;
}

static void sent_by(void *port, struct rte_swx_port_out_stats *found)
{
	found->n_pkts = ((struct side *)port)->sent;
}

static struct rte_swx_port_in_ops in_memory = {
	.create = itself, .free = nothing, .pkt_rx = receive, .stats_read = received_by,
};
static struct rte_swx_port_out_ops to_memory = {
	.create = itself, .free = nothing, .pkt_tx = transmit, .pkt_fast_clone_tx = copy,
	.pkt_clone_tx = copy_part, .stats_read = sent_by,
};

static void path_of(char *path, const char *what)
{
	snprintf(path, PATH, "%s/${swept}-%ld.%s", folder, (long)${swept}, what);
}

/* Reads a packet in hexadecimal digits from a file. Returns NULL after an error (`refuse`). */
static uint8_t *read_packet(const char *path, long *found)
{
	FILE *file = fopen(path, "r");
	uint8_t *packet = calloc(1, LONGEST);
	unsigned int byte;

	if (!file || !packet) {
		refuse("%s: %s", path, strerror(errno));
		free(packet);
		if (file)
			fclose(file);
		return NULL;
	}
	for (*found = 0; *found < LONGEST && fscanf(file, "%2x", &byte) == 1; ++*found)
		packet[*found] = byte;
	fclose(file);
	return packet;
}

static int make_packets(void)
{
	char path[PATH];

	packets = NULL;
	path_of(path, "packet");
	arriving = read_packet(path, &length);
	if (!arriving)
		return -1;
	stride = RTE_ALIGN(HEADROOM + (length > FRONT ? length : FRONT), 64);
	packets = rte_zmalloc(NULL, 2 * PACKETS * stride, 64);
	if (!packets)
		return refuse("no memory for packets of %ld bytes", length);
	for (int i = 0; i < 2 * PACKETS; i++)
		memcpy(packets + i * stride + HEADROOM, arriving, length);
	return 0;
}

/* Runs a pipeline until it has sent PACKETS packets. Returns -1 if it sends fewer. */
static int run_some(struct side *side)
{
	uint64_t before = side->sent;

	for (int turn = 0; turn < 1000 && side->sent - before < PACKETS; turn++)
		rte_swx_pipeline_run(side->pipeline, STEP);
	if (side->sent - before < PACKETS)
		return refuse("of %lu packets only %lu came out", side->received, side->sent);
	return 0;
}
