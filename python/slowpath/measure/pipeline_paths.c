/* Times paths of a pipeline in DPDK's interpreter of SWX pipelines.
 *
 *   paths DPDK-OPTIONS -- SECONDS VISITS PATH-FILE...
 *
 * The file of a path begins with the first two of these lines:
 *   port NUMBER           the port that receives the packet, at most 15
 *   pipeline FILE         the .spec file
 *   entry TABLE TEXT      an entry in the form of rte_swx_ctl_pipeline_table_entry_read
 *   default TABLE TEXT    the default entry of a table, in the same form
 *   lookups TABLE H M     numbers of hits and misses that each packet has in a table
 *   packet HEX            the packet
 *   output HEX            the packet that the pipeline sends, or `-` if it drops the packet
 *
 * Each visit takes all paths in a new random order. It builds the pipeline anew, which gives tables
 * other addresses. Printed lines:
 *   path PATH             before the work on a path, which may end the program
 *   sample PATH NS        nanoseconds per packet
 *   error PATH REASON     the path is not timed again
 *   visit NUMBER          after the last path of a visit */
#define ALLOW_EXPERIMENTAL_API

#include <stdarg.h>
#include <stdio.h>

static char problem[512]; /* message of the last error */

/* Stores an error message, and returns -1. */
static int refuse(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	return -1;
}

#include "pipeline_spec.h"

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

enum {
	PACKETS = 64,		/* number of packet buffers; a pipeline processes up to 16 at a time */
	HEADROOM = 1024,	/* bytes before the packet, for added headers */
	LONGEST = 4096,		/* bytes of the longest packet */
	FRONT = 256,		/* number of first bytes that are restored for each packet */
	PORTS = 512,		/* number of output ports */
	IN_PORTS = 16,		/* maximum number of input ports */
	STEP = 1000,		/* number of instructions that a pipeline runs per call */
	ROUNDS = 81,
	BATCH_CYCLES = 40000,
	TABLES = 256,
	MOST = 4096,		/* number of paths */
};

/* Lookups of a table that each packet has. */
struct lookups {
	char table[RTE_SWX_NAME_SIZE];
	uint64_t hits, misses;
};

static struct {
	uint8_t packet[LONGEST], output[LONGEST];
	uint32_t length, output_length;
	uint32_t port;
	int drops;
	struct lookups lookups[TABLES];
	uint32_t tables;
} path;

static uint8_t rooms[PACKETS][HEADROOM + LONGEST];
static struct rte_mbuf buffer;	/* loses a reference for each packet that DPDK drops */
static uint64_t received, sent;
static int closed;		/* nonzero: no more packets arrive */
static struct rte_swx_pkt last;	/* last packet that was sent */

static int receive(void *port, struct rte_swx_pkt *packet)
{
	uint8_t *room;

	if (closed || *(uint32_t *)port != path.port)
		return 0;
	room = rooms[received++ % PACKETS];
	memcpy(room + HEADROOM, path.packet, RTE_MIN(path.length, (uint32_t)FRONT));
	rte_mbuf_refcnt_set(&buffer, PACKETS); /* DPDK never drops the last reference */
	*packet = (struct rte_swx_pkt){
		.handle = &buffer, .pkt = room, .offset = HEADROOM, .length = path.length,
	};
	return 1;
}

static void transmit(void *port, struct rte_swx_pkt *packet)
{
	(void)port;
	sent++;
	last = *packet;
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

static void no_clone(void *port, struct rte_swx_pkt *packet)
{
	(void)port, (void)packet;
}

static void no_part(void *port, struct rte_swx_pkt *packet, uint32_t kept)
{
	(void)port, (void)packet, (void)kept;
}

static void received_by(void *port, struct rte_swx_port_in_stats *found)
{
	(void)port;
	found->n_pkts = received;
}

static void sent_by(void *port, struct rte_swx_port_out_stats *found)
{
	(void)port;
	found->n_pkts = sent;
}

static struct rte_swx_port_in_ops from_memory = {
	.create = itself, .free = nothing, .pkt_rx = receive, .stats_read = received_by,
};
static struct rte_swx_port_out_ops to_memory = {
	.create = itself, .free = nothing, .pkt_tx = transmit, .pkt_fast_clone_tx = no_clone,
	.pkt_clone_tx = no_part, .stats_read = sent_by,
};

/* Builds a pipeline with input ports up to `path.port`; DPDK wants a power of two of them. */
static struct rte_swx_pipeline *new_pipeline(const char *file)
{
	static uint32_t number[IN_PORTS];
	struct rte_swx_pipeline *pipeline;
	int status = rte_swx_pipeline_config(&pipeline, NULL, 0);

	if (status) {
		refuse("DPDK makes no pipeline: %s", strerror(-status));
		return NULL;
	}
	rte_swx_pipeline_port_in_type_register(pipeline, "memory", &from_memory);
	rte_swx_pipeline_port_out_type_register(pipeline, "memory", &to_memory);
	for (uint32_t port = 0; !status && port < rte_align32pow2(path.port + 1); port++) {
		number[port] = port;
		status = rte_swx_pipeline_port_in_config(pipeline, port, "memory", &number[port]);
	}
	for (uint32_t port = 0; !status && port < PORTS; port++)
		status = rte_swx_pipeline_port_out_config(pipeline, port, "memory", rooms);
	if (status)
		refuse("DPDK makes no ports: %s", strerror(-status));
	if (status || spec_build(pipeline, file)) {
		rte_swx_pipeline_free(pipeline);
		return NULL;
	}
	return pipeline;
}

static int read_bytes(const char *digits, uint8_t *bytes, uint32_t *length)
{
	unsigned int byte;

	for (*length = 0; sscanf(digits + 2 * *length, "%2x", &byte) == 1; bytes[(*length)++] = byte)
		if (*length == LONGEST)
			return refuse("packets of more than %d bytes are not timed", LONGEST);
	return 0;
}

/* Returns the number of a table, with its properties; negative if there is none. */
static int find_table(struct rte_swx_pipeline *pipeline, const char *table,
		      struct rte_swx_ctl_table_info *info)
{
	for (uint32_t i = 0; !rte_swx_ctl_table_info_get(pipeline, i, info); i++)
		if (!strcmp(info->name, table))
			return i;
	return -1;
}

/* Returns true if the default entry of a table cannot change. */
static int has_fixed_default(struct rte_swx_pipeline *pipeline, const char *table)
{
	struct rte_swx_ctl_table_info info;

	return find_table(pipeline, table, &info) >= 0 && info.default_action_is_const;
}

static int add_entry(struct rte_swx_pipeline *pipeline, struct rte_swx_ctl_pipeline *control,
		     const char *table, const char *text, int as_default)
{
	int blank;
	struct rte_swx_table_entry *entry;

	if (as_default && has_fixed_default(pipeline, table))
		return 0;
	entry = rte_swx_ctl_pipeline_table_entry_read(control, table, text, &blank);
	if (!entry)
		return refuse("table %s: DPDK does not read the entry %s", table, text);
	/* DPDK owns the entry if it takes it. */
	if (as_default ? rte_swx_ctl_pipeline_table_default_entry_add(control, table, entry) :
			 rte_swx_ctl_pipeline_table_entry_add(control, table, entry))
		return refuse("table %s: DPDK refuses the entry %s", table, text);
	return 0;
}

/* Adds an entry with the first action that entries may have, and zeros as its data. Tables without
 * entries are not looked up like others. */
static int add_other(struct rte_swx_pipeline *pipeline, struct rte_swx_ctl_pipeline *control,
		     const char *table, const char *match)
{
	static char text[SPEC_LINE];
	struct rte_swx_ctl_table_info info;
	struct rte_swx_ctl_table_action_info use;
	struct rte_swx_ctl_action_info action;
	struct rte_swx_ctl_action_arg_info argument;
	int number = find_table(pipeline, table, &info);
	size_t end;

	if (number < 0)
		return 0; /* a learner */
	for (uint32_t i = 0; i < info.n_actions; i++) {
		if (rte_swx_ctl_table_action_info_get(pipeline, number, i, &use) ||
		    !use.action_is_for_table_entries ||
		    rte_swx_ctl_action_info_get(pipeline, use.action_id, &action))
			continue;
		end = snprintf(text, sizeof(text), "%s action %s", match, action.name);
		for (uint32_t arg = 0; arg < action.n_args && end < sizeof(text); arg++)
			if (!rte_swx_ctl_action_arg_info_get(pipeline, use.action_id, arg, &argument))
				/* DPDK reads wide fields only with all their digits. */
				end += snprintf(text + end, sizeof(text) - end, " %s 0x%0*d", argument.name,
						argument.n_bits / 4, 0);
		return end < sizeof(text) ? add_entry(pipeline, control, table, text, 0) : 0;
	}
	return 0;
}

/* Reads the file of a path behind its first two lines, and fills the tables. */
static int read_path(struct rte_swx_pipeline *pipeline, struct rte_swx_ctl_pipeline *control,
		     FILE *from)
{
	static char line[SPEC_LINE];
	int status = 0;

	path.tables = 0;
	while (!status && fgets(line, sizeof(line), from)) {
		char *rest, *what, *table, *text;
		struct lookups *lookups = &path.lookups[path.tables];

		line[strcspn(line, "\n")] = 0;
		what = strtok_r(line, " ", &rest);
		if (!what)
			continue;
		if (!strcmp(what, "packet")) {
			status = read_bytes(rest, path.packet, &path.length);
		} else if (!strcmp(what, "output")) {
			path.drops = rest[0] == '-';
			status = read_bytes(rest, path.output, &path.output_length);
		} else {
			table = strtok_r(NULL, " ", &rest);
			text = rest;
			if (!strcmp(what, "other")) {
				status = add_other(pipeline, control, table, text);
			} else if (strcmp(what, "lookups")) {
				status = add_entry(pipeline, control, table, text,
						   !strcmp(what, "default"));
			} else if (path.tables < TABLES) {
				snprintf(lookups->table, sizeof(lookups->table), "%s", table);
				sscanf(text, "%lu %lu", &lookups->hits, &lookups->misses);
				path.tables++;
			}
		}
	}
	if (!status && rte_swx_ctl_pipeline_commit(control, 1))
		status = refuse("DPDK does not build the tables");
	return status;
}

/* Runs a pipeline until all received packets have left. */
static void drain(struct rte_swx_pipeline *pipeline)
{
	closed = 1;
	for (int turn = 0; turn < 100; turn++)
		rte_swx_pipeline_run(pipeline, STEP);
	closed = 0;
}

/* Runs some packets, and compares the last one that left with the expected output. */
static int check_output(struct rte_swx_pipeline *pipeline)
{
	uint64_t received_before, sent_before;
	const uint8_t *bytes;

	drain(pipeline);
	received_before = received;
	sent_before = sent;
	for (int turn = 0; turn < 100 && received == received_before; turn++)
		rte_swx_pipeline_run(pipeline, 1);
	drain(pipeline);
	if (received == received_before)
		return refuse("the pipeline receives no packets");
	if (path.drops)
		return sent == sent_before ? 0 : refuse("DPDK sends the packet");
	if (sent == sent_before)
		return refuse("DPDK drops the packet");
	if (last.length != path.output_length)
		return refuse("DPDK sends %u bytes, not %u", last.length, path.output_length);
	bytes = last.pkt + last.offset;
	for (uint32_t i = 0; i < last.length; i++)
		if (bytes[i] != path.output[i])
			return refuse("byte %u that DPDK sends is 0x%02x, not 0x%02x", i, bytes[i],
				      path.output[i]);
	return 0;
}

/* Checks that all `count` packets had the same results of lookups. */
static int check_lookups(struct rte_swx_pipeline *pipeline, uint64_t count)
{
	static uint64_t actions[1 << 16];

	for (uint32_t i = 0; i < path.tables; i++) {
		const struct lookups *expected = &path.lookups[i];
		struct rte_swx_table_stats found = { .n_pkts_action = actions };

		if (rte_swx_ctl_pipeline_table_stats_read(pipeline, expected->table, &found))
			return refuse("the pipeline has no table %s", expected->table);
		if (found.n_pkts_hit != count * expected->hits ||
		    found.n_pkts_miss != count * expected->misses)
			return refuse("later packets take another path, because of what the first ones "
				      "left in metadata or registers: table %s has %lu hits and %lu "
				      "misses for %lu packets",
				      expected->table, found.n_pkts_hit, found.n_pkts_miss, count);
	}
	return 0;
}

/* Returns the cycles per packet of a batch. */
static double time_batch(struct rte_swx_pipeline *pipeline, uint64_t count)
{
	uint64_t before = received, start = rte_rdtsc_precise();

	while (received - before < count)
		rte_swx_pipeline_run(pipeline, STEP);
	return (double)(rte_rdtsc_precise() - start) / (received - before);
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Times a path whose entries are in the tables. The result is the lowest tenth of the batches:
 * other batches ran while something else used the core. */
static int time_path(struct rte_swx_pipeline *pipeline, double *cycles)
{
	double times[ROUNDS], trial;
	uint64_t start = received, count;

	for (int i = 0; i < PACKETS; i++)
		memcpy(rooms[i] + HEADROOM, path.packet, path.length);
	if (check_output(pipeline))
		return -1;
	time_batch(pipeline, 256);
	trial = time_batch(pipeline, 256);
	count = BATCH_CYCLES / trial < 16 ? 16 : BATCH_CYCLES / trial;
	for (int round = 0; round < ROUNDS; round++)
		times[round] = time_batch(pipeline, count);
	if (check_output(pipeline) || check_lookups(pipeline, received - start))
		return -1;
	qsort(times, ROUNDS, sizeof(times[0]), ascending);
	*cycles = times[ROUNDS / 10];
	return 0;
}

static int visit(const char *file, double *cycles)
{
	char name[4096];
	FILE *from = fopen(file, "r");
	struct rte_swx_pipeline *pipeline = NULL;
	struct rte_swx_ctl_pipeline *control = NULL;
	int status = from ? 0 : refuse("%s: %s", file, strerror(errno));

	if (!status && fscanf(from, "port %u\npipeline %4095[^\n]\n", &path.port, name) != 2)
		status = refuse("%s names no port and pipeline", file);
	if (!status && path.port >= IN_PORTS)
		status = refuse("port %u is not measured, only ports up to %d", path.port,
				IN_PORTS - 1);
	if (!status) {
		pipeline = new_pipeline(name);
		control = pipeline ? rte_swx_ctl_pipeline_create(pipeline) : NULL;
		status = pipeline ? 0 : -1;
	}
	if (!status)
		status = control ? read_path(pipeline, control, from) : refuse("DPDK makes no tables");
	if (!status)
		status = time_path(pipeline, cycles);
	if (control)
		rte_swx_ctl_pipeline_free(control);
	if (pipeline)
		rte_swx_pipeline_free(pipeline);
	if (from)
		fclose(from);
	return status;
}

int main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv), first = used + 3, visits;
	uint32_t order[MOST], count, seed = 1;
	uint64_t end;

	if (used < 0 || argc < first + 1 || argc - first > MOST)
		return 2;
	count = argc - first;
	visits = atoi(argv[used + 2]);
	end = rte_rdtsc() + atof(argv[used + 1]) * rte_get_tsc_hz();
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (int number = 1; count && (number <= visits || rte_rdtsc() < end); number++) {
		for (uint32_t i = count; i > 1; i--) {
			uint32_t other, kept = order[i - 1];

			seed = seed * 1664525 + 1013904223;
			other = (uint64_t)seed * i >> 32;
			order[i - 1] = order[other];
			order[other] = kept;
		}
		for (uint32_t i = 0; i < count;) {
			double cycles = 0;

			printf("path %u\n", order[i]);
			fflush(stdout);
			if (!visit(argv[first + order[i]], &cycles)) {
				printf("sample %u %.17g\n", order[i++],
				       1e9 * cycles / rte_get_tsc_hz());
			} else {
				printf("error %u %s\n", order[i], problem);
				order[i] = order[--count];
			}
			fflush(stdout);
		}
		printf("visit %d\n", number);
		fflush(stdout);
	}
	rte_eal_cleanup();
	return 0;
}
