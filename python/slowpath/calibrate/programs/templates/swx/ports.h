
enum {
	PACKETS = 64,	/* of each pipeline, which has up to 16 at work */
	HEADROOM = 256,	/* room for headers that are put in front */
	FRONT = 64,	/* bytes that arrive anew each time */
	LONGEST = 16384,
	PATH = 4096,
	STEP = 1000,	/* instructions that a pipeline runs in one go */
	KEY_OFFSET = ${key_offset},
};

/* A pipeline with its two ports: with the component (1), and without it (0). */
struct side {
	struct rte_swx_pipeline *pipeline;
	uint8_t *room;			/* of its packets */
	uint64_t received, sent;
	int closed;			/* no more packets arrive */
	struct rte_swx_pkt last;	/* that was sent */
	uint8_t *expected;		/* what it has to look like */
	long expected_length;
};

static struct side sides[2];
static uint32_t passed;		/* packets, the last time that a pipeline ran */
static uint8_t *packets;	/* what the ports receive, again and again */
static uint8_t *arriving;	/* how it looks when it arrives */
static struct rte_mbuf dropped;	/* what DPDK frees of packets that a pipeline drops */
static long length, stride;
//@ include ../dpdk/draw.h

/* Bytes of the key in front of those that vary. */
static inline uint32_t front_of_key(void)
{
//@ if kind == table-lpm
	return prefix_bits > 32 ? (prefix_bits - 25) / 8 : 0;
//@ else
	return 0;
//@ end
}
//@ if kind == table-lpm

/* Prefixes are spread: an odd multiple, in their last 32 bits or less, but the first one. */
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
/* Writes what the packet asks for. */
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
//@ if kind == state
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
	rte_mbuf_refcnt_set(&dropped, PACKETS); /* never the last reference */
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

/* What ports have to have besides. */
static void *itself(void *port)
{
	return port;
}

static void nothing(void *port)
{
	(void)port;
}

static void no_clone(void *port, struct rte_swx_pkt *packet)
{
	(void)port, (void)packet;
}

static void no_part(void *port, struct rte_swx_pkt *packet, uint32_t bytes_kept)
{
	(void)port, (void)packet, (void)bytes_kept;
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
	.create = itself, .free = nothing, .pkt_tx = transmit, .pkt_fast_clone_tx = no_clone,
	.pkt_clone_tx = no_part, .stats_read = sent_by,
};

static void path_of(char *path, const char *what)
{
	snprintf(path, PATH, "%s/${swept}-%ld.%s", folder, (long)${swept}, what);
}

/* A packet that is written in hexadecimal digits; NULL, and why, if there is none. */
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

/* Runs a pipeline until some packets have come out; -1 if none do. */
static int run_some(struct side *side)
{
	uint64_t before = side->sent;

	for (int turn = 0; turn < 1000 && side->sent - before < PACKETS; turn++)
		rte_swx_pipeline_run(side->pipeline, STEP);
	if (side->sent - before < PACKETS)
		return refuse("of %lu packets only %lu came out", side->received, side->sent);
	return 0;
}
