/* A look-up in an exact-match table, by its entries
 * Made for the experiment table-exact-entries, for DPDK 22.11 or newer.
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
enum { key_bytes = 16, value_bytes = 64, tables = 1, repeats = 1 };
static long entries;
static const long values[] = { 1, 316, 100000 };
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

#include <rte_hash.h>
#include <rte_hash_crc.h>

enum { PACKETS = 256, KEY_OFFSET = 30, STRIDE = 64 };
static uint8_t *packets;
static const uint8_t packet_bytes[] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 69, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 0, 0, 0, 0, 16, 1, 16, 2, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };

static uint32_t drawn = 1;

/* What the next packet asks for. */
static inline uint32_t draw(void)
{
	drawn = drawn * 1664525 + 1013904223; /* a linear congruential generator */
	return (uint64_t)drawn * (uint32_t)(entries) >> 32;
}

/* The next packet, with the bytes that vary as a load generator would write them. */
static inline uint8_t *next_packet(uint32_t number)
{
	uint8_t *packet = packets + number % PACKETS * STRIDE;
	uint32_t index = draw();

	memcpy(packet + KEY_OFFSET, &index, sizeof(index));
	return packet;
}

static int make_packets(void)
{
	packets = rte_zmalloc(NULL, PACKETS * STRIDE, 64);
	for (int i = 0; packets && i < PACKETS; i++)
		memcpy(packets + i * STRIDE, packet_bytes, sizeof(packet_bytes));
	return packets ? 0 : -1;
}

enum { TABLES = 32, KEY = 64 };
static struct rte_hash *hash[TABLES];
static uint8_t *actions[TABLES];

static long touched(void)
{
	long all = entries < 200000 ? entries : 200000;

	return all;
}

/* Each key has to be found, and no other. */
static int check_look_ups(long t, uint8_t *key)
{
	void *action;

	for (uint32_t i = 0; i < entries; i++) {
		memcpy(key, &i, sizeof(i));
		if (rte_hash_lookup_data(hash[t], key, &action) < 0 ||
		    action != actions[t] + (size_t)i * value_bytes)
			return refuse("table %ld: entry %u is not found", t, i);
	}
	key[3] |= 0x80;
	if (rte_hash_lookup_data(hash[t], key, &action) >= 0)
		return refuse("table %ld: a key is found that is not there", t);
	return 0;
}

static int set_up(void)
{
	for (long t = 0; t < tables; t++) {
		struct rte_hash_parameters parameters = {
			.entries = entries < 16 ? 16 : entries,
			.key_len = key_bytes,
			.hash_func = rte_hash_crc,
			.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE, /* room for all entries */
		};
		char name[RTE_HASH_NAMESIZE];
		uint8_t key[KEY] = { 0 };

		snprintf(name, sizeof(name), "table%ld", t);
		parameters.name = name;
		hash[t] = rte_hash_create(&parameters);
		actions[t] = rte_zmalloc(NULL, (size_t)entries * value_bytes, 64);
		if (!hash[t] || !actions[t])
			return -1;
		memcpy(key, packets + KEY_OFFSET, key_bytes);
		for (uint32_t i = 0; i < entries; i++) {
			uint8_t *action = actions[t] + (size_t)i * value_bytes;

			memcpy(key, &i, sizeof(i));
			*(uint64_t *)action = 1;
			if (rte_hash_add_key_data(hash[t], key, action) < 0)
				return -1;
		}
		if (check_look_ups(t, key))
			return -1;
	}
	return 0;
}

static void tear_down(void)
{
	for (int t = 0; t < TABLES; t++) {
		rte_hash_free(hash[t]);
		rte_free(actions[t]);
		hash[t] = NULL;
		actions[t] = NULL;
	}
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *key = next_packet(i) + KEY_OFFSET;

		sum += key[0];
		keep(sum);
		for (long t = 0; component && t < tables; t++) {
			for (long again = 0; again < repeats; again++) {
				void *action;

				if (rte_hash_lookup_data(hash[t], key, &action) >= 0)
					sum += *(uint64_t *)action;
				keep(sum);
			}
		}
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
