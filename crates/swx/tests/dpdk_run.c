/* Runs pipelines in DPDK's interpreter, one packet at a time.
 *
 * For each argument, reads the file of a pipeline in the form that slowpath prints, then the file
 * with the same name and `.run`: lines `entry TABLE ENTRY` and `default TABLE ENTRY`, then one
 * packet a line, in hexadecimal digits. Prints for each packet 0 if it was sent and 1 if it was dropped, the number of
 * instructions after rx, and its content if it was sent. */
#define ALLOW_EXPERIMENTAL_API

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

enum { ROOM = 4096, START = 512, WORDS = 64, MOST = 512 };

static uint8_t room[ROOM];
static uint32_t length;
static int waiting, sent, idle, came;
static struct rte_swx_pkt result;
static struct rte_mbuf buffer; /* loses a reference when DPDK drops its packet */

static int receive(void *port, struct rte_swx_pkt *packet)
{
	(void)port;
	if (!waiting) {
		idle++;
		return 0;
	}
	waiting = 0;
	came = 1;
	*packet = (struct rte_swx_pkt){
		.handle = &buffer, .pkt = room, .offset = START, .length = length,
	};
	return 1;
}

static void transmit(void *port, struct rte_swx_pkt *packet)
{
	(void)port;
	sent = 1;
	result = *packet;
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

static void in_stats(void *port, struct rte_swx_port_in_stats *stats)
{
	(void)port, (void)stats;
}

static void out_stats(void *port, struct rte_swx_port_out_stats *stats)
{
	(void)port, (void)stats;
}

static struct rte_swx_port_in_ops in = {
	.create = itself, .free = nothing, .pkt_rx = receive, .stats_read = in_stats,
};
static struct rte_swx_port_out_ops out = {
	.create = itself, .free = nothing, .pkt_tx = transmit, .pkt_fast_clone_tx = no_clone,
	.pkt_clone_tx = no_part, .stats_read = out_stats,
};

static void fail(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail);
	exit(1);
}

static char *word[WORDS];
static int words;

/* Reads a line and its words. */
static int next(FILE *file)
{
	static char line[4096];

	while (fgets(line, sizeof(line), file)) {
		words = 0;
		for (char *one = strtok(line, " \t\n"); one; one = strtok(NULL, " \t\n"))
			word[words++] = one;
		if (words)
			return 1;
	}
	return 0;
}

static int ends(void)
{
	return !strcmp(word[0], "}");
}

/* Joins the words from one on. */
static char *joined(int from, int to)
{
	char text[4096] = "";

	for (int i = from; i < to; i++) {
		strcat(text, word[i]);
		if (i + 1 < to)
			strcat(text, " ");
	}
	return strdup(text);
}

static int read_body(FILE *file, const char **list)
{
	int count = 0;

	while (next(file) && !ends())
		list[count++] = joined(0, words);
	return count;
}

static int read_table(struct rte_swx_pipeline *p, FILE *file)
{
	struct rte_swx_match_field_params fields[16];
	struct rte_swx_pipeline_table_params params = { .fields = fields };
	const char *names[16];
	char *name = strdup(word[1]);
	uint32_t size = 0;

	while (next(file) && !ends()) {
		if (!strcmp(word[0], "key"))
			while (next(file) && !ends()) {
				fields[params.n_fields].name = strdup(word[0]);
				fields[params.n_fields++].match_type =
					!strcmp(word[1], "lpm") ? RTE_SWX_TABLE_MATCH_LPM :
					!strcmp(word[1], "wildcard") ?
						RTE_SWX_TABLE_MATCH_WILDCARD :
						RTE_SWX_TABLE_MATCH_EXACT;
			}
		else if (!strcmp(word[0], "actions"))
			while (next(file) && !ends())
				names[params.n_actions++] = strdup(word[0]);
		else if (!strcmp(word[0], "default_action")) {
			int end = words;

			if (!strcmp(word[end - 1], "const"))
				end--, params.default_action_is_const = 1;
			params.default_action_name = strdup(word[1]);
			if (strcmp(word[3], "none"))
				params.default_action_args = joined(3, end);
		} else if (!strcmp(word[0], "size"))
			size = strtoul(word[1], NULL, 0);
	}
	params.action_names = names;
	if (!params.n_fields)
		params.fields = NULL;
	return rte_swx_pipeline_table_config(p, name, &params, NULL, NULL, size);
}

static int read_statement(struct rte_swx_pipeline *p, FILE *file)
{
	if (!strcmp(word[0], "struct")) {
		struct rte_swx_field_params fields[64];
		char *name = strdup(word[1]);
		int count = 0, varies = 0;

		while (next(file) && !ends()) {
			varies = !strncmp(word[0], "varbit", 6);
			fields[count].n_bits = strtoul(strchr(word[0], '<') + 1, NULL, 0);
			fields[count++].name = strdup(word[1]);
		}
		return rte_swx_pipeline_struct_type_register(p, name, fields, count, varies);
	}
	if (!strcmp(word[0], "header"))
		return rte_swx_pipeline_packet_header_register(p, word[1], word[3]);
	if (!strcmp(word[0], "metadata"))
		return rte_swx_pipeline_packet_metadata_register(p, word[2]);
	if (!strcmp(word[0], "regarray"))
		return rte_swx_pipeline_regarray_config(p, word[1], strtoul(word[3], NULL, 0),
							strtoull(word[5], NULL, 0));
	if (!strcmp(word[0], "action")) {
		char *name = strdup(word[1]);
		char *data = strcmp(word[3], "none") ? strdup(word[4]) : NULL;
		const char *list[MOST];
		int count = read_body(file, list);

		return rte_swx_pipeline_action_config(p, name, data, list, count);
	}
	if (!strcmp(word[0], "table"))
		return read_table(p, file);
	if (!strcmp(word[0], "apply")) {
		const char *list[MOST];
		int count = read_body(file, list);

		return rte_swx_pipeline_instructions_config(p, list, count);
	}
	return -1;
}

static void run(struct rte_swx_pipeline *p, const char *path)
{
	struct rte_swx_ctl_pipeline *ctl = rte_swx_ctl_pipeline_create(p);
	FILE *file = fopen(path, "r");

	if (!ctl || !file)
		fail(path, "no control, or no file");
	while (next(file)) {
		int steps = 0;

		int is_default = !strcmp(word[0], "default");

		if (is_default || !strcmp(word[0], "entry")) {
			int blank;
			struct rte_swx_table_entry *entry = rte_swx_ctl_pipeline_table_entry_read(
				ctl, word[1], joined(2, words), &blank);
			int (*add)(struct rte_swx_ctl_pipeline *, const char *,
				   struct rte_swx_table_entry *) =
				is_default ? rte_swx_ctl_pipeline_table_default_entry_add :
					     rte_swx_ctl_pipeline_table_entry_add;

			if (!entry || add(ctl, word[1], entry) ||
			    rte_swx_ctl_pipeline_commit(ctl, 1))
				fail(path, "an entry is refused");
			continue;
		}
		memset(room, 0, sizeof(room));
		length = strlen(word[0]) / 2;
		for (uint32_t i = 0; i < length; i++)
			sscanf(word[0] + 2 * i, "%2hhx", &room[START + i]);
		waiting = 1;
		sent = came = idle = 0;
		rte_mbuf_refcnt_set(&buffer, 2);
		while (!came)
			rte_swx_pipeline_run(p, 1);
		for (idle = 0; !sent && rte_mbuf_refcnt_read(&buffer) == 2; steps++)
			rte_swx_pipeline_run(p, 1);
		/* The last step also polled for the next packet. */
		printf("%d %d ", !sent, steps - (idle - 1));
		for (uint32_t i = 0; sent && i < result.length; i++)
			printf("%02x", result.pkt[result.offset + i]);
		printf("\n");
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	char *eal[] = { "run", "--no-huge", "--no-pci", "-m", "256", "--no-telemetry", "--no-shconf",
			"--log-level=lib.eal:3", NULL };

	if (rte_eal_init(8, eal) < 0)
		fail("DPDK", "does not start");
	for (int i = 1; i < argc; i++) {
		struct rte_swx_pipeline *p = NULL;
		char path[4096];
		FILE *file = fopen(argv[i], "r");

		if (!file || rte_swx_pipeline_config(&p, NULL, 0))
			fail(argv[i], "no file, or no pipeline");
		rte_swx_pipeline_port_in_type_register(p, "memory", &in);
		rte_swx_pipeline_port_out_type_register(p, "memory", &out);
		if (rte_swx_pipeline_port_in_config(p, 0, "memory", room) ||
		    rte_swx_pipeline_port_out_config(p, 0, "memory", room))
			fail(argv[i], "no ports");
		while (next(file))
			if (read_statement(p, file))
				fail(argv[i], word[0]);
		fclose(file);
		if (rte_swx_pipeline_build(p))
			fail(argv[i], "cannot be built");
		snprintf(path, sizeof(path), "%s.run", argv[i]);
		run(p, path);
		fflush(stdout);
	}
	return 0;
}
