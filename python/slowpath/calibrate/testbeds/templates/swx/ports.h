
enum {
	PACKETS = 64,	/* number of packet buffers of a pipeline, which processes up to 16 at a time */
	HEADROOM = 256,	/* bytes before the packet, for added headers */
	FRONT = 64,	/* number of first bytes that are restored for each packet */
	STEP = 1000,	/* number of instructions that a pipeline runs per call */
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
static struct rte_mbuf dropped;	/* buffer that DPDK frees for each dropped packet */
static long stride;

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
