/* The width of keys of a trie of 100 rules
 * Made for the experiment table-ternary-acl-key-bytes, for DPDK 22.11 or newer.
 *
 *   cc -O2 -march=native $(pkg-config --cflags libdpdk) THIS.c $(pkg-config --libs libdpdk)
 *   ./a.out --no-huge --no-pci -m 2048 -l CPU -- SECONDS VISITS SEED
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
enum { entries = 100, masks = 1, value_bytes = 8, tables = 1, repeats = 1 };
static long key_bytes;
static const long values[] = { 4, 32, 64 };
#define COUNT (sizeof(values) / sizeof(values[0]))

/* What a component defines: whatever it needs at a value (0, or -1 if that fails), its end, and
 * the loop over packets. */
static int set_up(void);
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

#include <rte_acl.h>

enum { PACKETS = 256, KEY_OFFSET = 42, STRIDE = 128 };
static uint8_t *packets;
static const uint8_t packet_bytes[] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 69, 0, 0, 114, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1, 16, 1, 16, 2, 0, 94, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };

/* The next packet, with the bytes that vary as a load generator would write them. */
static inline uint8_t *next_packet(uint32_t number)
{
	uint8_t *packet = packets + number % PACKETS * STRIDE;
	return packet;
}

static int make_packets(void)
{
	packets = rte_zmalloc(NULL, PACKETS * STRIDE, 64);
	for (int i = 0; packets && i < PACKETS; i++)
		memcpy(packets + i * STRIDE, packet_bytes, sizeof(packet_bytes));
	return packets ? 0 : -1;
}

enum { BURST = 16, TABLES = 32, WORDS = 16 };
RTE_ACL_RULE_DEF(rule, 1 + WORDS);

/* What packets are classified by: the library asks for a first field of one byte. */
struct searched {
	uint8_t zero;
	uint8_t padding[3];
	uint32_t word[WORDS]; /* as in a packet: the first byte is the highest */
};

static struct rte_acl_ctx *table[TABLES];
static uint8_t *actions[TABLES];

static long touched(void)
{
	return 1000;
}

/* The actions' numbers that packets find; 0 is none. */
static inline void look_up(long t, const struct searched *burst, uint32_t *found)
{
	const uint8_t *data[BURST];

	for (int i = 0; i < BURST; i++)
		data[i] = (const uint8_t *)&burst[i];
	rte_acl_classify(table[t], data, found, BURST, 1);
}

static inline void read_key(struct searched *searched, uint8_t *packet)
{
	memcpy(searched->word, packet + KEY_OFFSET, key_bytes);
}

/* No packet has the first bit, so only the last entry matches. */
static struct rule rule_of(uint32_t number)
{
	int last = number + 1 == entries;
	struct rule rule = { .data = { .category_mask = 1, .priority = entries - number,
				       .userdata = number + 1 } };

	rule.field[1].value.u32 = last ? 0 : 1U << 31 | number * 2654435761U;
	rule.field[1].mask_range.u32 = last ? 1U << 31 : ~0U << number % 8;
	rule.field[1].value.u32 &= rule.field[1].mask_range.u32;
	for (int i = 2; i <= key_bytes / 4; i++)
		rule.field[i].mask_range.u32 = last ? 0 : ~0U; /* the rest of a key is zero */
	return rule;
}

static int check_look_ups(long t)
{
	struct searched burst[BURST] = { 0 };
	uint32_t found[BURST];

	for (int i = 0; i < BURST; i++)
		read_key(&burst[i], next_packet(i));
	look_up(t, burst, found);
	for (int i = 0; i < BURST; i++)
		if (found[i] != entries)
			return refuse("table %ld: a packet finds entry %u, not %ld", t, found[i],
				      (long)entries);
	return 0;
}

static int fill_table(long t)
{
	struct rte_acl_config config = { .num_categories = 1, .num_fields = 1 + key_bytes / 4 };

	config.defs[0] = (struct rte_acl_field_def){
		.type = RTE_ACL_FIELD_TYPE_BITMASK, .size = 1 };
	for (int i = 1; i < config.num_fields; i++)
		config.defs[i] = (struct rte_acl_field_def){
			.type = RTE_ACL_FIELD_TYPE_BITMASK, .size = 4, .field_index = i,
			.input_index = i, .offset = offsetof(struct searched, word[i - 1]) };
	for (uint32_t i = 0; i < entries; i++) {
		struct rule rule = rule_of(i);
		int status = rte_acl_add_rules(table[t], (struct rte_acl_rule *)&rule, 1);

		*(uint64_t *)(actions[t] + (size_t)(i + 1) * value_bytes) = 1;
		if (status)
			return refuse("entry %u cannot be added: %s", i, strerror(-status));
	}
	int status = rte_acl_build(table[t], &config);

	return status ? refuse("the table cannot be built: %s", strerror(-status)) : 0;
}

static int set_up(void)
{
	for (long t = 0; t < tables; t++) {
		char name[16];
		struct rte_acl_param parameters = {
			.name = name, .rule_size = RTE_ACL_RULE_SZ(1 + WORDS), .max_rule_num = entries,
		};

		snprintf(name, sizeof(name), "table%ld", t);
		table[t] = rte_acl_create(&parameters);
		actions[t] = rte_zmalloc(NULL, (size_t)(entries + 1) * value_bytes, 64);
		if (!table[t] || !actions[t] || fill_table(t) || check_look_ups(t))
			return -1;
	}
	return 0;
}

static void tear_down(void)
{
	for (int t = 0; t < TABLES; t++) {
		rte_acl_free(table[t]);
		rte_free(actions[t]);
		table[t] = NULL;
		actions[t] = NULL;
	}
}

static inline uint64_t run(uint32_t count, int component)
{
	struct searched burst[BURST] = { 0 };
	uint32_t found[BURST];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i += BURST) {
		for (uint32_t j = 0; j < BURST; j++)
			read_key(&burst[j], next_packet(i + j));
		asm volatile("" : : "r"(burst) : "memory");
		for (long t = 0; component && t < tables; t++) {
			for (long again = 0; again < repeats; again++) {
				look_up(t, burst, found);
				for (uint32_t j = 0; j < BURST; j++)
					sum += *(uint64_t *)(actions[t] + (size_t)found[j] * value_bytes);
				keep(sum);
			}
		}
		keep(sum);
	}
	return sum;
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
			key_bytes = values[order[i]];
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
