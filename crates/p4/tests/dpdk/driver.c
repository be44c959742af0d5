/* Runs an SWX pipeline packet by packet.
 *
 * Arguments: those of DPDK, then the .spec file. Standard input has one command on a line, each
 * with one line as answer:
 *   packet PORT HEX     the port and bytes that the pipeline sends, or "drop"
 *   entry TABLE TEXT    "ok", for an entry in the form of rte_swx_ctl_pipeline_table_entry_read
 *   default TABLE TEXT  "ok", for a default entry
 *   delete TABLE TEXT   "ok", for an entry that was added
 *   register NAME AT    the value of a register
 *   meter NAME AT CIR PIR CBS PBS   "ok": sets rates in bytes per second, and bursts in bytes
 */
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

#include "../../../../python/slowpath/measure/pipeline_spec.h"

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_meter.h>

enum {
	PORTS = 512,
	HEADROOM = 1024,	/* bytes before the packet, for added headers */
	LONGEST = 16384,
	LINE = 1 << 16,
	STEPS = 1 << 22,	/* instructions after which the pipeline counts as stuck */
};

struct port {
	uint32_t number;
};

static struct port ports[PORTS];
static uint8_t room[LONGEST];
static struct rte_mbuf buffer;		/* loses a reference if DPDK drops the packet */
static int64_t arrives = -1;		/* port of the packet that waits */
static uint32_t arrived;		/* length of that packet */
static int64_t sent = -1;		/* port of the packet that was sent */
static struct rte_swx_pkt last;

static int receive(void *port, struct rte_swx_pkt *packet)
{
	if (((struct port *)port)->number != arrives)
		return 0;
	arrives = -1;
	packet->handle = &buffer;
	packet->pkt = room;
	packet->offset = HEADROOM;
	packet->length = arrived;
	return 1;
}

static void transmit(void *port, struct rte_swx_pkt *packet)
{
	sent = ((struct port *)port)->number;
	last = *packet;
}

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

static void no_counts_in(void *port, struct rte_swx_port_in_stats *found)
{
	(void)port, (void)found;
}

static void no_counts_out(void *port, struct rte_swx_port_out_stats *found)
{
	(void)port, (void)found;
}

static struct rte_swx_port_in_ops from_memory = {
	.create = itself, .free = nothing, .pkt_rx = receive, .stats_read = no_counts_in,
};
static struct rte_swx_port_out_ops to_memory = {
	.create = itself, .free = nothing, .pkt_tx = transmit, .pkt_fast_clone_tx = no_clone,
	.pkt_clone_tx = no_part, .stats_read = no_counts_out,
};

static int fail(const char *what, const char *why)
{
	printf("error %s: %s\n", what, why);
	fflush(stdout);
	return 1;
}

static struct rte_swx_pipeline *build(const char *path)
{
	struct rte_swx_pipeline *pipeline = NULL;
	int status = rte_swx_pipeline_config(&pipeline, NULL, 0);

	if (!status)
		status = rte_swx_pipeline_port_in_type_register(pipeline, "memory", &from_memory);
	if (!status)
		status = rte_swx_pipeline_port_out_type_register(pipeline, "memory", &to_memory);
	for (uint32_t i = 0; i < PORTS && !status; i++) {
		ports[i].number = i;
		status = rte_swx_pipeline_port_in_config(pipeline, i, "memory", &ports[i]);
		if (!status)
			status = rte_swx_pipeline_port_out_config(pipeline, i, "memory", &ports[i]);
	}
	if (status)
		refuse("ports: %s", strerror(-status));
	else
		status = spec_build(pipeline, path);
	if (status) {
		printf("error %s\n", problem);
		return NULL;
	}
	return pipeline;
}

static void run(struct rte_swx_pipeline *pipeline, const char *text)
{
	char *digits;
	uint32_t steps = 0;

	arrives = strtol(text, &digits, 0);
	digits += strspn(digits, " ");
	memset(room, 0, sizeof(room));
	for (arrived = 0; digits[0] && digits[1] && HEADROOM + arrived < LONGEST; digits += 2) {
		char byte[] = { digits[0], digits[1], 0 };

		room[HEADROOM + arrived++] = strtoul(byte, NULL, 16);
	}
	rte_mbuf_refcnt_set(&buffer, 2);
	for (sent = -1; sent < 0 && rte_mbuf_refcnt_read(&buffer) == 2 && steps < STEPS; steps += 64)
		rte_swx_pipeline_run(pipeline, 64);
	if (rte_mbuf_refcnt_read(&buffer) != 2)
		printf("drop\n");
	else if (sent < 0)
		printf("stuck\n");
	else {
		printf("%d ", (int)sent);
		for (uint32_t i = 0; i < last.length && last.offset + i < LONGEST; i++)
			printf("%02x", room[last.offset + i]);
		printf("\n");
	}
}

/* Changes a table: the first letter of the command says how. */
static int change(struct rte_swx_ctl_pipeline *control, char *command)
{
	char *text = strchr(command, ' ') + 1;
	char *rest = NULL, *table = strtok_r(text, " ", &rest);
	struct rte_swx_table_entry *entry =
		rte_swx_ctl_pipeline_table_entry_read(control, table, rest, NULL);
	int status;

	if (!entry)
		return fail("entry", rest);
	status = !strncmp(command, "default", 7) ?
			 rte_swx_ctl_pipeline_table_default_entry_add(control, table, entry) :
		 command[0] == 'd' ? rte_swx_ctl_pipeline_table_entry_delete(control, table, entry) :
				     rte_swx_ctl_pipeline_table_entry_add(control, table, entry);
	if (!status)
		status = rte_swx_ctl_pipeline_commit(control, 1);
	if (status)
		return fail("entry", strerror(-status));
	printf("ok\n");
	return 0;
}

/* Sets the rates and bursts of a meter. */
static int meter(struct rte_swx_pipeline *pipeline, const char *text)
{
	struct rte_meter_trtcm_params params;
	char name[64], profile[64];
	unsigned long long number[4];
	unsigned at;
	int status;

	if (sscanf(text, "%63s %u %llu %llu %llu %llu", name, &at, &number[0], &number[1],
		   &number[2], &number[3]) != 6)
		return fail("meter", text);
	params.cir = number[0];
	params.pir = number[1];
	params.cbs = number[2];
	params.pbs = number[3];
	snprintf(profile, sizeof(profile), "%.50s_%u", name, at);
	status = rte_swx_ctl_meter_profile_add(pipeline, profile, &params);
	if (!status)
		status = rte_swx_ctl_meter_set(pipeline, name, at, profile);
	if (status)
		return fail("meter", strerror(-status));
	printf("ok\n");
	return 0;
}

int main(int argc, char **argv)
{
	static char line[LINE];
	struct rte_swx_pipeline *pipeline;
	struct rte_swx_ctl_pipeline *control;
	int used = rte_eal_init(argc, argv);

	if (used < 0 || used + 1 >= argc)
		return fail("DPDK", "cannot start");
	pipeline = build(argv[used + 1]);
	control = pipeline ? rte_swx_ctl_pipeline_create(pipeline) : NULL;
	if (!control)
		return 1;
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "packet ", 7))
			run(pipeline, line + 7);
		else if (!strncmp(line, "entry ", 6) || !strncmp(line, "default ", 8) ||
			 !strncmp(line, "delete ", 7))
			change(control, line);
		else if (!strncmp(line, "meter ", 6))
			meter(pipeline, line + 6);
		else if (!strncmp(line, "register ", 9)) {
			char *rest = NULL, *name = strtok_r(line + 9, " ", &rest);
			uint64_t value = 0;

			if (rte_swx_ctl_pipeline_regarray_read(pipeline, name, strtoul(rest, NULL, 0),
							       &value))
				fail("register", name);
			else
				printf("%llu\n", (unsigned long long)value);
		} else
			fail("command", line);
		fflush(stdout);
	}
	return 0;
}
