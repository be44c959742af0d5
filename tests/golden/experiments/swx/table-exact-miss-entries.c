#define ALLOW_EXPERIMENTAL_API

/* A look-up in an exact-match table that finds nothing, by entries
 * Made for the experiment table-exact-miss-entries, for DPDK 22.11 or newer.
 *
 *   cc -O2 -march=native $(pkg-config --cflags libdpdk) THIS.c $(pkg-config --libs libdpdk)
 *   ./a.out --no-huge --no-pci -m 2048 -l CPU -- SECONDS VISITS SEED FOLDER
 *
 * Each visit goes through all values in another random order, makes everything anew, and times
 * the packet loop with and without the component in turns. Times are cycles of the TSC.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#define keep(value) asm volatile("" : "+r"(value))	/* it has to be computed */

/* Parameters; the one that is swept is a variable. */
enum { key_bytes = 16, value_bytes = 64, tables = 1, repeats = 1 };
static long entries;
static const long values[] = { 1, 316, 100000 };
#define COUNT (sizeof(values) / sizeof(values[0]))

/* What a component defines: whatever it needs at a value (0, or -1 if that fails), its end, and
 * the loop over packets. */
static int set_up(void);
static int check(void); /* 0 if everything came out as it has to, else -1 */
static void tear_down(void);
static long touched(void); /* how many packets it takes to touch all that is looked at */
static inline __attribute__((always_inline)) uint64_t run(uint32_t packets, int component);

static char wrong[256]; /* why something is not as it has to be */

/* Says why; -1. */
static inline int refuse(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(wrong, sizeof(wrong), format, arguments);
	va_end(arguments);
	return -1;
}

#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

static const char *folder; /* where pipelines and packets are */

enum {
	PACKETS = 64,	/* of each pipeline, which has up to 16 at work */
	HEADROOM = 256,	/* room for headers that are put in front */
	FRONT = 64,	/* bytes that arrive anew each time */
	LONGEST = 16384,
	PATH = 4096,
	STEP = 1000,	/* instructions that a pipeline runs in one go */
	KEY_OFFSET = 30,
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

static uint32_t drawn = 1;

/* What the next packet asks for. */
static inline uint32_t draw(void)
{
	drawn = drawn * 1664525 + 1013904223; /* a linear congruential generator */
	return (uint64_t)drawn * (uint32_t)(entries) >> 32;
}

/* Bytes of the key in front of those that vary. */
static inline uint32_t front_of_key(void)
{
	return 0;
}

/* Writes what the packet asks for. */
static inline void write_key(uint8_t *key, uint32_t number)
{
	number |= 1U << 31; /* no entry has this bit */
	memcpy(key, &number, sizeof(number));
}

static int receive(void *port, struct rte_swx_pkt *packet)
{
	struct side *side = port;
	uint8_t *room;

	if (side->closed)
		return 0;
	room = side->room + side->received++ % PACKETS * stride;
	memcpy(room + HEADROOM, arriving, FRONT);
	write_key(room + HEADROOM + KEY_OFFSET, draw());
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
	snprintf(path, PATH, "%s/entries-%ld.%s", folder, (long)entries, what);
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

/* Builds a pipeline from a .spec file, as far as p4c writes what is needed here: one statement or
 * instruction in a line, what comes first is used by what follows. */
enum { WORDS = 8, LINE = 256, NAMED = 4096 };

struct reader {
	const char *path;
	FILE *file;
	int number;
	char text[LINE], cut[LINE];	/* the line; the line cut into words */
	char *word[WORDS];
	int words;
};

/* Goes to the next line that says something; 0 at the end of the file. */
static int next_line(struct reader *from)
{
	while (fgets(from->text, LINE, from->file)) {
		char *rest;

		from->number++;
		from->text[strcspn(from->text, "\r\n")] = 0;
		strcpy(from->cut, from->text);
		from->words = 0;
		for (char *word = strtok_r(from->cut, " \t", &rest);
		     word && !strchr(";#/", word[0]) && from->words < WORDS; word = strtok_r(NULL, " \t", &rest))
			from->word[from->words++] = word;
		for (int i = from->words; i < WORDS; i++)
			from->word[i] = "";
		if (from->words)
			return 1;
	}
	return 0;
}

static int is(const struct reader *from, int word, const char *text)
{
	return !strcmp(from->word[word], text);
}

/* Lines of a block, up to its end. */
struct block {
	char *line[NAMED];
	uint32_t lines;
};

static void forget(struct block *block)
{
	for (uint32_t i = 0; i < block->lines; i++)
		free(block->line[i]);
	block->lines = 0;
}

static int read_block(struct reader *from, struct block *into)
{
	into->lines = 0;
	while (next_line(from)) {
		if (is(from, 0, "}"))
			return 0;
		if (into->lines == NAMED)
			return -ENOSPC;
		into->line[into->lines] = strdup(from->text);
		if (!into->line[into->lines++])
			return -ENOMEM;
	}
	return -EINVAL;
}

static int read_struct(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	static struct rte_swx_field_params field[NAMED];
	static char name[NAMED][RTE_SWX_NAME_SIZE];
	char of[LINE];
	uint32_t found = 0;

	strcpy(of, from->word[1]);
	while (next_line(from) && !is(from, 0, "}")) {
		if (found == NAMED || sscanf(from->word[0], "bit<%u>", &field[found].n_bits) != 1)
			return -EINVAL;
		snprintf(name[found], sizeof(name[found]), "%s", from->word[1]);
		field[found].name = name[found];
		found++;
	}
	return rte_swx_pipeline_struct_type_register(pipeline, of, field, found, 0);
}

static int read_action(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	static struct block body;
	char name[LINE], type[LINE];
	int typed = is(from, 3, "instanceof"), status;

	strcpy(name, from->word[1]);
	strcpy(type, from->word[4]);
	status = read_block(from, &body);
	if (!status)
		status = rte_swx_pipeline_action_config(pipeline, name, typed ? type : NULL,
							(const char **)body.line, body.lines);
	forget(&body);
	return status;
}

static int read_table(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	enum { FEW = 8 };
	struct rte_swx_match_field_params field[FEW];
	struct rte_swx_pipeline_table_params table = { .fields = field };
	const char *action[FEW];
	char name[LINE], field_name[FEW][LINE], action_name[FEW][LINE], usual[LINE] = "";
	uint32_t most = 0;

	strcpy(name, from->word[1]);
	while (next_line(from) && !is(from, 0, "}")) {
		if (is(from, 0, "key")) {
			while (next_line(from) && !is(from, 0, "}") && table.n_fields < FEW) {
				strcpy(field_name[table.n_fields], from->word[0]);
				field[table.n_fields].name = field_name[table.n_fields];
				field[table.n_fields++].match_type =
					is(from, 1, "exact") ? RTE_SWX_TABLE_MATCH_EXACT :
					is(from, 1, "lpm")   ? RTE_SWX_TABLE_MATCH_LPM :
							       RTE_SWX_TABLE_MATCH_WILDCARD;
			}
		} else if (is(from, 0, "actions")) {
			while (next_line(from) && !is(from, 0, "}") && table.n_actions < FEW) {
				strcpy(action_name[table.n_actions], from->word[0]);
				action[table.n_actions] = action_name[table.n_actions];
				table.n_actions++;
			}
		} else if (is(from, 0, "default_action")) {
			strcpy(usual, from->word[1]);
		} else if (is(from, 0, "size")) {
			most = strtoul(from->word[1], NULL, 0);
		} else {
			return -EINVAL;
		}
	}
	table.action_names = action;
	table.default_action_name = usual;
	return rte_swx_pipeline_table_config(pipeline, name, &table, NULL, NULL, most);
}

static int read_apply(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	static struct block body;
	int status = read_block(from, &body);

	if (!status)
		status = rte_swx_pipeline_instructions_config(pipeline, (const char **)body.line,
							      body.lines);
	forget(&body);
	return status;
}

static int read_statement(struct rte_swx_pipeline *pipeline, struct reader *from)
{
	char **word = from->word;

	if (is(from, 0, "struct"))
		return read_struct(pipeline, from);
	if (is(from, 0, "header"))
		return rte_swx_pipeline_packet_header_register(pipeline, word[1], word[3]);
	if (is(from, 0, "metadata"))
		return rte_swx_pipeline_packet_metadata_register(pipeline, word[2]);
	if (is(from, 0, "regarray"))
		return rte_swx_pipeline_regarray_config(pipeline, word[1], strtoul(word[3], NULL, 0),
							strtoull(word[5], NULL, 0));
	if (is(from, 0, "action"))
		return read_action(pipeline, from);
	if (is(from, 0, "table"))
		return read_table(pipeline, from);
	if (is(from, 0, "apply"))
		return read_apply(pipeline, from);
	return -EINVAL;
}

static int build(struct side *side, const char *what)
{
	char path[PATH];
	struct reader from = { .path = path };
	struct rte_swx_pipeline *pipeline;
	int status;

	path_of(path, what);
	status = rte_swx_pipeline_config(&side->pipeline, NULL, 0);
	if (status)
		return refuse("no pipeline: %s", strerror(-status));
	pipeline = side->pipeline;
	rte_swx_pipeline_port_in_type_register(pipeline, "memory", &in_memory);
	rte_swx_pipeline_port_out_type_register(pipeline, "memory", &to_memory);
	status = rte_swx_pipeline_port_in_config(pipeline, 0, "memory", side);
	if (!status)
		status = rte_swx_pipeline_port_out_config(pipeline, 0, "memory", side);
	if (status)
		return refuse("no ports: %s", strerror(-status));
	from.file = fopen(path, "r");
	if (!from.file)
		return refuse("%s: %s", path, strerror(errno));
	while (!status && next_line(&from)) {
		int line = from.number;

		status = read_statement(pipeline, &from);
		if (status)
			refuse("%s:%d: %s", path, line, strerror(-status));
	}
	fclose(from.file);
	if (status)
		return -1;
	status = rte_swx_pipeline_build(pipeline);
	return status ? refuse("%s: cannot be built: %s", path, strerror(-status)) : 0;
}

enum { KEY = 64 };

/* One entry of a table. */
struct content {
	struct rte_swx_table_entry entry;
	uint8_t key[KEY], mask[KEY];
};

static uint8_t action_data[1024];

/* The number of an action; -1 if there is none of that name. */
static int64_t action_of(struct rte_swx_pipeline *pipeline, const char *name)
{
	struct rte_swx_ctl_action_info action;

	for (uint32_t i = 0; !rte_swx_ctl_action_info_get(pipeline, i, &action); i++)
		if (!strcmp(action.name, name))
			return i;
	return -1;
}

/* The same entries as on other test beds. */
static void make_entry(struct content *one, uint32_t i)
{
	uint64_t says = 1;

	memset(one->mask, 0xff, sizeof(one->mask));
	memcpy(one->key, arriving + KEY_OFFSET, key_bytes);
	memcpy(one->key, &i, sizeof(i));
	memcpy(action_data, &says, sizeof(says));
	one->entry.key = one->key;
	one->entry.key_mask = one->mask;
	one->entry.action_data = action_data;
}

/* Entries are added one by one. */
static int fill_table(struct rte_swx_table_ops *operations, struct rte_swx_table_state *state,
		      uint64_t action)
{
	struct content one = { 0 };

	for (uint32_t i = 0; i < entries; i++) {
		int status;

		make_entry(&one, i);
		one.entry.action_id = action;
		status = operations->add(state->obj, &one.entry);
		if (status)
			return refuse("entry %u cannot be added: %s", i, strerror(-status));
	}
	return 0;
}

static int fill(struct rte_swx_pipeline *pipeline)
{
	struct rte_swx_table_state *state;
	int64_t action = action_of(pipeline, "hit");

	if (action < 0 || rte_swx_pipeline_table_state_get(pipeline, &state))
		return refuse("the pipeline has no tables");
	for (long t = 0; t < tables; t++) {
		struct rte_swx_table_ops operations;
		int stub;

		if (rte_swx_ctl_table_ops_get(pipeline, t, &operations, &stub) || stub)
			return refuse("the pipeline has no table %ld", t);
		if (fill_table(&operations, &state[t], action))
			return -1;
	}
	return 0;
}

/* Lets packets that are under way leave. */
static int drain(struct side *side)
{
	side->closed = 1;
	for (int turn = 0; turn < 1000 && side->sent < side->received; turn++)
		rte_swx_pipeline_run(side->pipeline, STEP);
	side->closed = 0;
	if (side->sent != side->received)
		return refuse("of %lu packets %lu came out", side->received, side->sent);
	return 0;
}

/* Compares the last packet with what it has to look like, but for the bytes that vary. */
static int check_packet(const struct side *side)
{
	const uint8_t *found = side->last.pkt + side->last.offset;
	long varied = KEY_OFFSET + front_of_key();

	if (side->last.length != side->expected_length)
		return refuse("packets of %u bytes came out, not of %ld", side->last.length,
			      side->expected_length);
	for (long i = 0; i < side->expected_length; i++) {
		if (i >= varied && i < varied + 4)
			continue;
		if (found[i] != side->expected[i])
			return refuse("byte %ld of packets is 0x%02x, not 0x%02x", i, found[i],
				      side->expected[i]);
	}
	return 0;
}

/* Each look-up of each packet has to find something, or nothing of any. */
static int check_look_ups(const struct side *side)
{
	for (long t = 0; t < tables; t++) {
		uint64_t actions[8] = { 0 }, all = side->received * repeats;
		struct rte_swx_table_stats found = { .n_pkts_action = actions };
		char name[16];

		snprintf(name, sizeof(name), "table%ld", t);
		if (rte_swx_ctl_pipeline_table_stats_read(side->pipeline, name, &found))
			return refuse("the pipeline has no %s", name);
		if (found.n_pkts_miss != all || found.n_pkts_hit)
			return refuse("%s: %lu hits and %lu misses in %lu look-ups", name,
				      found.n_pkts_hit, found.n_pkts_miss, all);
	}
	return 0;
}

static int check(void)
{
	if (drain(&sides[0]) || drain(&sides[1]))
		return -1;
	if (check_look_ups(&sides[1]))
		return -1;
	return check_packet(&sides[0]) || check_packet(&sides[1]) ? -1 : 0;
}

static long touched(void)
{
	return entries < 200000 ? entries : 200000;
}

static inline uint64_t run(uint32_t packets_wanted, int component)
{
	struct side *side = &sides[component];
	uint64_t before = side->sent;

	while (side->sent - before < packets_wanted)
		rte_swx_pipeline_run(side->pipeline, STEP);
	passed = side->sent - before;
	return passed;
}

static int set_up(void)
{
	for (int component = 0; component < 2; component++) {
		struct side *side = &sides[component];
		char path[PATH];

		side->room = packets + component * PACKETS * stride;
		path_of(path, component ? "sent" : "without.sent");
		side->expected = read_packet(path, &side->expected_length);
		if (!side->expected || build(side, component ? "spec" : "without.spec"))
			return -1;
		if (component && fill(side->pipeline))
			return -1;
		for (int burst = 0; burst < 4; burst++)
			if (run_some(side))
				return -1;
	}
	return check();
}

static void tear_down(void)
{
	for (int component = 0; component < 2; component++) {
		rte_swx_pipeline_free(sides[component].pipeline);
		free(sides[component].expected);
	}
	memset(sides, 0, sizeof(sides));
	free(arriving);
	arriving = NULL;
}

static uint32_t seed;

static uint32_t chance(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint64_t)seed * below >> 32;
}

enum { ROUNDS = 31, BATCH_CYCLES = 200000, MOST = 1 << 20 };

static double time_batch(uint32_t count, int component)
{
	uint64_t start, end, sum;

	start = rte_rdtsc_precise();
	sum = component ? run(count, 1) : run(count, 0);
	keep(sum);
	end = rte_rdtsc_precise();
	count = passed; /* a pipeline goes on in steps of its own */
	return (double)(end - start) / count;
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *times)
{
	qsort(times, ROUNDS, sizeof(times[0]), ascending);
	return times[ROUNDS / 2];
}

/* Medians of batches in turns, after as many packets as it takes to touch everything. */
static void measure(long value, int visit, long touched)
{
	double with[ROUNDS], without[ROUNDS], trial;
	uint32_t count;

	for (long left = 2 * touched; left > 0; left -= 1000)
		time_batch(1000, 1);
	trial = time_batch(64, 1);
	trial = time_batch(256, 1);
	count = trial < 1 ? BATCH_CYCLES : BATCH_CYCLES / trial;
	count = count < 16 ? 16 : count;
	for (int round = 0; round < ROUNDS; round++) {
		if (chance(2)) {
			with[round] = time_batch(count, 1);
			without[round] = time_batch(count, 0);
		} else {
			without[round] = time_batch(count, 0);
			with[round] = time_batch(count, 1);
		}
	}
	if (check()) {
		printf("error %ld %s\n", value, wrong);
		return;
	}
	printf("sample %ld %d %.17g %.17g\n", value, visit, median(with), median(without));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t order[COUNT];
	uint64_t end;
	int used = rte_eal_init(argc, argv), visits;

	if (used < 0 || argc - used < 4)
		return 2;
	if (argc - used < 5)
		return 2;
	folder = argv[used + 4];
	visits = atoi(argv[used + 2]);
	seed = atoi(argv[used + 3]);
	end = rte_rdtsc() + atof(argv[used + 1]) * rte_get_tsc_hz();
	printf("hz %lu\n", rte_get_tsc_hz());
	for (size_t i = 0; i < COUNT; i++)
		order[i] = i;
	for (int visit = 1; visit <= visits || rte_rdtsc() < end; visit++) {
		for (size_t i = COUNT; i > 1; i--) {
			size_t other = chance(i), kept = order[i - 1];

			order[i - 1] = order[other];
			order[other] = kept;
		}
		for (size_t i = 0; i < COUNT; i++) {
			entries = values[order[i]];
			wrong[0] = 0;
			if (make_packets() || set_up())
				printf("error %ld %s\n", values[order[i]],
				       wrong[0] ? wrong : rte_strerror(rte_errno));
			else
				measure(values[order[i]], visit, touched());
			tear_down();
			rte_free(packets);
		}
		printf("visit %d\n", visit);
		fflush(stdout);
	}
	rte_eal_cleanup();
	return 0;
}
