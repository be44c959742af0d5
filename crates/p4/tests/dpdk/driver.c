/* Runs an SWX pipeline packet by packet.
 *
 * Arguments: those of DPDK, then the .spec file. Standard input has one command on a line, each
 * with one line as answer:
 *   packet PORT HEX     the port and bytes that the pipeline sends, or "drop"
 *   entry TABLE TEXT    "ok", for an entry in the form of rte_swx_ctl_pipeline_table_entry_read
 *   default TABLE TEXT  "ok", for a default entry
 *   delete TABLE TEXT   "ok", for an entry that was added
 *   register NAME AT    the value of a register
 */
#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

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

/* --- .spec files: a line has one statement or instruction, and definitions precede uses --- */

enum { WORDS = 256, NAMED = 1 << 17 };

static FILE *spec;
static uint32_t line_number;
static char text[LINE], cut[LINE], *word[WORDS];
static int words;

static int next_line(void)
{
	while (fgets(text, sizeof(text), spec)) {
		char *rest;

		line_number++;
		text[strcspn(text, "\r\n")] = 0;
		strcpy(cut, text);
		words = 0;
		for (char *one = strtok_r(cut, " \t", &rest); one && words + 1 < WORDS;
		     one = strtok_r(NULL, " \t", &rest))
			word[words++] = one;
		for (int i = words; i < words + 8 && i < WORDS; i++)
			word[i] = "";
		if (words)
			return 1;
	}
	return 0;
}

static int is(int at, const char *wanted)
{
	return !strcmp(word[at], wanted);
}

static const char *lines[NAMED];

/* Reads the instructions of a block. Nothing frees them, because the program is about to end. */
static int read_lines(void)
{
	int found = 0;

	while (next_line() && !is(0, "}") && found < NAMED)
		lines[found++] = strdup(text);
	return found;
}

static int read_struct(struct rte_swx_pipeline *pipeline)
{
	static struct rte_swx_field_params fields[NAMED];
	char *name = strdup(word[1]);
	int found = 0, varies = 0;

	while (next_line() && !is(0, "}") && found < NAMED) {
		varies = !strncmp(word[0], "varbit<", 7);
		fields[found].n_bits = strtoul(strchr(word[0], '<') + 1, NULL, 0);
		fields[found++].name = strdup(word[1]);
	}
	return rte_swx_pipeline_struct_type_register(pipeline, name, fields, found, varies);
}

static int read_action(struct rte_swx_pipeline *pipeline)
{
	char *name = strdup(word[1]), *data = is(3, "instanceof") ? strdup(word[4]) : NULL;
	int found = read_lines();

	return rte_swx_pipeline_action_config(pipeline, name, data, lines, found);
}

static int read_table(struct rte_swx_pipeline *pipeline)
{
	enum { MOST = 64 };
	struct rte_swx_match_field_params fields[MOST];
	const char *actions[MOST];
	int in_entries[MOST], as_default[MOST];
	struct rte_swx_pipeline_table_params table = {
		.action_names = actions,
		.action_is_for_table_entries = in_entries, .action_is_for_default_entry = as_default,
	};
	char *name = strdup(word[1]);
	uint32_t size = 0;

	while (next_line() && !is(0, "}")) {
		if (is(0, "key")) {
			table.fields = fields;
			for (; next_line() && !is(0, "}") && table.n_fields < MOST; table.n_fields++) {
				fields[table.n_fields].name = strdup(word[0]);
				fields[table.n_fields].match_type =
					is(1, "exact") ? RTE_SWX_TABLE_MATCH_EXACT :
					is(1, "lpm")   ? RTE_SWX_TABLE_MATCH_LPM :
							 RTE_SWX_TABLE_MATCH_WILDCARD;
			}
		} else if (is(0, "actions")) {
			for (; next_line() && !is(0, "}") && table.n_actions < MOST; table.n_actions++) {
				actions[table.n_actions] = strdup(word[0]);
				in_entries[table.n_actions] = !is(1, "@defaultonly");
				as_default[table.n_actions] = !is(1, "@tableonly");
			}
		} else if (is(0, "default_action")) {
			static char args[LINE];

			table.default_action_name = strdup(word[1]);
			table.default_action_is_const = is(words - 1, "const");
			args[0] = 0;
			for (int i = 3; i < words - table.default_action_is_const; i++)
				strcat(strcat(args, " "), word[i]);
			if (strcmp(args, " none"))
				table.default_action_args = args;
		} else if (is(0, "size")) {
			size = strtoul(word[1], NULL, 0);
		} else
			return -EINVAL;
	}
	return rte_swx_pipeline_table_config(pipeline, name, &table, NULL, NULL, size);
}

static int read_statement(struct rte_swx_pipeline *pipeline)
{
	if (is(0, "struct"))
		return read_struct(pipeline);
	if (is(0, "header"))
		return rte_swx_pipeline_packet_header_register(pipeline, word[1], word[3]);
	if (is(0, "metadata"))
		return rte_swx_pipeline_packet_metadata_register(pipeline, word[2]);
	if (is(0, "regarray"))
		return rte_swx_pipeline_regarray_config(pipeline, word[1], strtoul(word[3], NULL, 0),
							strtoull(word[5], NULL, 0));
	if (is(0, "metarray"))
		return rte_swx_pipeline_metarray_config(pipeline, word[1], strtoul(word[3], NULL, 0));
	if (is(0, "action"))
		return read_action(pipeline);
	if (is(0, "table"))
		return read_table(pipeline);
	if (is(0, "apply")) {
		int found = read_lines();

		return rte_swx_pipeline_instructions_config(pipeline, lines, found);
	}
	return -EINVAL;
}

static struct rte_swx_pipeline *build(const char *path)
{
	struct rte_swx_pipeline *pipeline = NULL;
	uint32_t line = 0;
	int status;

	spec = fopen(path, "r");
	status = spec ? rte_swx_pipeline_config(&pipeline, NULL, 0) : -1;

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
	while (!status && next_line()) {
		line = line_number;
		status = read_statement(pipeline);
	}
	if (!status) {
		line = 0;
		status = rte_swx_pipeline_build(pipeline);
	}
	if (spec)
		fclose(spec);
	if (status) {
		printf("error line %u: %s\n", line, strerror(-status));
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
