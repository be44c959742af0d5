#define ALLOW_EXPERIMENTAL_API

/* ${title}
 * Made for the experiment ${experiment}, for DPDK 22.11 or newer. Offers packets to a pipeline, which
 * another process runs; a net_memif device connects both.
 *
 *   cc -O2 -march=native $(pkg-config --cflags libdpdk) THIS.c $(pkg-config --libs libdpdk)
 *   ./a.out --no-huge --no-pci --vdev=net_memif0,role=server -- pipeline FOLDER VALUE FD
 *   ./a.out --no-huge --no-pci --vdev=net_memif0,role=client -- sender FOLDER VALUE FD
 *
 * FD is the descriptor of a memory page that both share. Start the sender after the pipeline has
 * printed `ready`. The sender also prints it, then reads lines `RATE SECONDS`, with RATE in packets a
 * second, or 0 for as fast as possible. For each, it prints `error REASON`, or
 *   trial DUE LATE SENT REFUSED KEPT LOST_BACK UNMARKED RECEIVED NS LATENCY...
 * The latencies are minimum, 50, 90, 99 and 99.9 %, and maximum, in nanoseconds. A process ends when
 * the other one does, and the sender also at the end of its input.
 */
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

//@ include ../dpdk/base.h

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port_ethdev.h>

//@ include packet.h
//@ include reader.h
//@ if tabled
//@ include tables.h
//@ end

enum {
	BURST = 32,		/* maximum number of packets sent at once */
	RING = 1024,		/* number of packets in each direction of the device */
	BUFFERS = 8191,
	STEP = 64,		/* number of instructions until the pipeline sends its packets */
	TURNS = 10000,		/* number of such steps until it looks for the other process */
	NAP = 500,		/* microseconds of sleep */
	MOST = 1 << 22,		/* maximum number of packets of a trial */
	CONNECTING = 30,	/* seconds until the other process must be there */
};

/* Appended to each packet. */
struct mark {
	uint32_t trial, number;
	uint64_t time;
};

/* Memory that both processes share. */
struct counts {
	uint64_t arrived, returned, lost_back;	/* numbers of packets */
	uint32_t offered;	/* number of the current trial; 0: none, so the pipeline sleeps */
	uint32_t awake;		/* number of the trial that the pipeline is ready for */
};

static volatile struct counts *shared;
static struct rte_mempool *pool;

/* Starts the device; the sender's connects to that of the pipeline. */
static int open_device(void)
{
	struct rte_eth_conf plain = { 0 };

	pool = rte_pktmbuf_pool_create("packets", BUFFERS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (!pool)
		return refuse("no memory for packets: %s", rte_strerror(rte_errno));
	if (rte_eth_dev_configure(0, 1, 1, &plain) ||
	    rte_eth_rx_queue_setup(0, 0, RING, 0, NULL, pool) ||
	    rte_eth_tx_queue_setup(0, 0, RING, 0, NULL) || rte_eth_dev_start(0))
		return refuse("the device net_memif0 does not start");
	return 0;
}

static int is_connected(void)
{
	struct rte_eth_link link;

	return !rte_eth_link_get_nowait(0, &link) && link.link_status;
}

/* Waits for the other process, then asks for real-time priority. Without the right to it, other work
 * disturbs trials more. */
static int connect_device(void)
{
	struct sched_param real_time = { .sched_priority = 1 };
	uint64_t end = rte_rdtsc() + CONNECTING * rte_get_tsc_hz();

	while (!is_connected()) {
		if (rte_rdtsc() > end)
			return refuse("the other process does not connect");
		usleep(NAP);
	}
	sched_setscheduler(0, SCHED_FIFO, &real_time);
	return 0;
}

static void tell_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void count_packets(struct rte_swx_pipeline *pipeline)
{
	struct rte_swx_port_in_stats in;
	struct rte_swx_port_out_stats out;

	rte_swx_ctl_pipeline_port_in_stats_read(pipeline, 0, &in);
	rte_swx_ctl_pipeline_port_out_stats_read(pipeline, 0, &out);
	shared->arrived = in.n_pkts;
	shared->returned = out.n_pkts;
	shared->lost_back = out.n_pkts_drop;
}

static int run_pipeline(void)
{
	struct rte_swx_port_ethdev_reader_params reader = { "net_memif0", 0, BURST };
	struct rte_swx_port_ethdev_writer_params writer = { "net_memif0", 0, BURST };
	struct ports ports = {
		&rte_swx_port_ethdev_reader_ops, &reader, &rte_swx_port_ethdev_writer_ops, &writer,
	};
	struct rte_swx_pipeline *pipeline;

	if (open_device() || build(&pipeline, "spec", &ports))
		return -1;
//@ if tabled
	if (fill(pipeline))
		return -1;
//@ end
	tell_ready();
	if (connect_device())
		return -1;
	while (is_connected()) {
		uint32_t offered = shared->offered;

		shared->awake = offered;
		if (!offered)
			usleep(NAP);
		for (int turn = 0; offered && turn < TURNS; turn++) {
			rte_swx_pipeline_run(pipeline, STEP);
			rte_swx_pipeline_flush(pipeline);
			count_packets(pipeline);
		}
	}
	return 0;
}

static struct {
	uint32_t number;	/* number of the trial */
	uint64_t start;		/* time stamps are TSC cycles */
	uint64_t late, sent, refused, unmarked, received;
	uint8_t last[LONGEST];	/* last packet that came back, without its mark */
	long last_length;
} trial;

static uint32_t *latencies; /* of received packets, in TSC cycles */

static void send_packets(uint32_t count)
{
	struct rte_mbuf *burst[BURST];
	uint64_t now = rte_rdtsc();
	uint32_t accepted = 0;

	if (!rte_pktmbuf_alloc_bulk(pool, burst, count)) {
		for (uint32_t i = 0; i < count; i++) {
			struct mark mark = { trial.number, trial.sent + i, now };
			uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(burst[i],
								       length + sizeof(mark));

			memcpy(bytes, arriving, length);
//@ if vary
			write_key(bytes + KEY_OFFSET, draw());
//@ end
			memcpy(bytes + length, &mark, sizeof(mark));
		}
		accepted = rte_eth_tx_burst(0, 0, burst, count);
		rte_pktmbuf_free_bulk(burst + accepted, count - accepted);
	}
	trial.sent += count;
	trial.refused += count - accepted;
}

static void receive_packets(void)
{
	struct rte_mbuf *burst[BURST];
	uint32_t count = rte_eth_rx_burst(0, 0, burst, BURST);
	uint64_t now = count ? rte_rdtsc() : 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *bytes = rte_pktmbuf_mtod(burst[i], uint8_t *);
		long rest = (long)rte_pktmbuf_data_len(burst[i]) - (long)sizeof(struct mark);
		struct mark mark = { 0 };

		if (rest >= 0)
			memcpy(&mark, bytes + rest, sizeof(mark));
		if (mark.trial != trial.number || mark.number >= trial.sent ||
		    mark.time < trial.start || mark.time > now) {
			trial.unmarked++;
			continue;
		}
		latencies[trial.received++] = RTE_MIN(now - mark.time, UINT32_MAX);
		if (i + 1 == count) {
			trial.last_length = rest;
			memcpy(trial.last, bytes, rest);
		}
	}
	rte_pktmbuf_free_bulk(burst, count);
}

/* Sends packets at a rate for a time. A delay of more than a burst is not made up for, because the
 * packets would overflow queues that the rate does not fill. */
static void pace(double rate, double seconds)
{
	double hertz = rte_get_tsc_hz();
	uint64_t slots = MOST, end = seconds * hertz, done = 0;

	if (rate)
		slots = RTE_MAX(RTE_MIN(rate * seconds, (double)MOST), 1.0);
	while (done < slots) {
		uint64_t now = rte_rdtsc() - trial.start, due = slots;

		if (rate)
			due = RTE_MIN((uint64_t)(now / hertz * rate) + 1, slots);
		else if (now >= end)
			break;
		if (rate && due - done > BURST)
			trial.late += due - done - BURST;
		if (due > done)
			send_packets(RTE_MIN(due - done, (uint64_t)BURST));
		receive_packets();
		done = trial.sent + trial.late;
	}
}

/* Receives packets until the fate of all is known, or nothing has changed for a while. A packet that
 * the pipeline has and one that it drops look the same. */
static void settle(const struct counts *before)
{
	uint64_t hertz = rte_get_tsc_hz(), changed = rte_rdtsc(), idle = 0, known = 0;

	while (idle < hertz / 5) {
		uint64_t came, left, now = rte_rdtsc(), seen;

		receive_packets();
		came = trial.received + trial.unmarked;
		left = shared->returned + shared->lost_back;
		seen = shared->arrived + left + came;
		if (seen != known)
			changed = now;
		known = seen;
		idle = now - changed;
		if (idle > hertz / 1000 &&
		    shared->arrived - before->arrived == trial.sent - trial.refused &&
		    left - before->returned - before->lost_back == trial.sent - trial.refused &&
		    shared->returned - before->returned == came)
			break;
	}
}

static int ascending(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* Makes a trial, and prints its results. */
static void run_trial(double rate, double seconds, const uint8_t *expected, long expected_length)
{
	static const uint64_t thousandths[] = { 0, 500, 900, 990, 999, 1000 };
	struct counts before = *shared;
	double nanoseconds = 1e9 / rte_get_tsc_hz(), time;
	int64_t arrived, returned, lost_back;

	shared->offered = ++trial.number;
	while (shared->awake != trial.number && is_connected())
		usleep(NAP);
	trial.late = trial.sent = trial.refused = trial.unmarked = trial.received = 0;
	trial.start = rte_rdtsc();
	pace(rate, seconds);
	time = (rte_rdtsc() - trial.start) * nanoseconds;
	settle(&before);
	shared->offered = 0;
	if (trial.received &&
	    check_packet(trial.last, trial.last_length, expected, expected_length)) {
		printf("error %s\n", wrong);
		return;
	}
	arrived = shared->arrived - before.arrived;
	returned = shared->returned - before.returned;
	lost_back = shared->lost_back - before.lost_back;
	printf("trial %lu %lu %lu %lu %ld %ld %lu %lu %.0f", trial.sent + trial.late, trial.late,
	       trial.sent, trial.refused, arrived - returned - lost_back, lost_back,
	       trial.unmarked, trial.received, time);
	qsort(latencies, trial.received, sizeof(latencies[0]), ascending);
	for (uint32_t i = 0; trial.received && i < RTE_DIM(thousandths); i++) {
		uint64_t rank = (trial.received * thousandths[i] + 999) / 1000;

		printf(" %.0f", latencies[rank ? rank - 1 : 0] * nanoseconds);
	}
	puts("");
}

static int run_sender(void)
{
	char path[PATH];
	uint8_t *expected;
	long expected_length;
	double rate, seconds;

	path_of(path, "sent");
	expected = read_packet(path, &expected_length);
	latencies = calloc(MOST, sizeof(latencies[0]));
	if (!expected)
		return -1;
	if (!latencies)
		return refuse("no memory for latencies");
	if (RTE_MAX(length, expected_length) + (long)sizeof(struct mark) > RTE_MBUF_DEFAULT_DATAROOM)
		return refuse("packets of more than %zu bytes are not sent",
			      RTE_MBUF_DEFAULT_DATAROOM - sizeof(struct mark));
	if (expected_length - length > RTE_PKTMBUF_HEADROOM)
		return refuse("buffers have no room for new headers of %ld bytes",
			      expected_length - length);
	if (open_device() || connect_device())
		return -1;
	tell_ready();
	while (scanf("%lf %lf", &rate, &seconds) == 2) {
		run_trial(rate, seconds, expected, expected_length);
		/* Linux interrupts real-time tasks for 50 ms if other tasks had less in a second. */
		usleep(2e5 * RTE_MIN(seconds, 1.0));
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char path[PATH];
	int used = rte_eal_init(argc, argv), status;

	if (used < 0 || argc - used < 5)
		return 2;
	folder = argv[used + 2];
	${swept} = atol(argv[used + 3]);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      atoi(argv[used + 4]), 0);
	path_of(path, "packet");
	arriving = read_packet(path, &length);
	if (shared == MAP_FAILED)
		status = refuse("no shared memory: %s", strerror(errno));
	else if (!arriving)
		status = -1;
	else
		status = strcmp(argv[used + 1], "sender") ? run_pipeline() : run_sender();
	if (status)
		fprintf(stderr, "%s\n", wrong[0] ? wrong : rte_strerror(rte_errno));
	return status ? 1 : 0;
}
