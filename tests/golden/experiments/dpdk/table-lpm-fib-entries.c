/* A look-up of the longest prefix in a FIB, by prefixes
 * Made for the experiment table-lpm-fib-entries, for DPDK 22.11 or newer.
 *
 *   cc -O2 -march=native $(pkg-config --cflags libdpdk) THIS.c $(pkg-config --libs libdpdk)
 *   ./a.out --no-huge --no-pci -m 2048 -l CPU -- SECONDS VISITS SEED
 *
 * Each visit goes through all values in another random order, makes everything anew, and times
 * the packet loop with and without the component in turns. Times are cycles of the TSC.
 */
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
enum { prefix_bits = 24, value_bytes = 8, repeats = 1 };
static long entries;
static const long values[] = { 1, 316, 100000 };
#define COUNT (sizeof(values) / sizeof(values[0]))

/* What a component defines: whatever it needs at a value (0, or -1 if that fails), its end, and
 * the loop over packets. */
static int set_up(void);
static void tear_down(void);
static long touched(void); /* how many packets it takes to touch all that is looked at */
static inline __attribute__((always_inline)) uint64_t run(uint32_t packets, int component);

#include <rte_fib.h>

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

static struct rte_fib *table;
static uint8_t *actions;

/* Prefixes are spread: an odd multiple, in the high bits but the first one. */
static uint32_t address_of(uint32_t number)
{
	return (uint32_t)(number * 2654435761U << (33 - prefix_bits)) >> 1;
}

static long touched(void)
{
	long all = entries < 200000 ? entries : 200000;

	return all;
}

static int set_up(void)
{
	actions = rte_zmalloc(NULL, (size_t)(entries + 1) * value_bytes, 64);
	struct rte_fib_conf config = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = entries,
		.max_routes = entries + 1,
		.dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 1 << 16 },
	};

	table = rte_fib_create("table", SOCKET_ID_ANY, &config);
	if (!table || !actions)
		return -1;
	for (uint32_t i = 0; i < entries; i++) {
		*(uint64_t *)(actions + (size_t)i * value_bytes) = 1;
		if (rte_fib_add(table, address_of(i), prefix_bits, i))
			return -1;
	}
	return 0;
}

static void tear_down(void)
{
	rte_fib_free(table);
	rte_free(actions);
	table = NULL;
	actions = NULL;
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t number, address;

		memcpy(&number, next_packet(i) + KEY_OFFSET, sizeof(number));
		address = address_of(number);
		sum += address;
		keep(sum);
		for (long again = 0; component && again < repeats; again++) {
			uint64_t found;

			rte_fib_lookup_bulk(table, &address, &found, 1);
			sum += *(uint64_t *)(actions + (size_t)found * value_bytes);
			keep(sum);
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
			if (make_packets() || set_up())
				printf("error %ld %s\n", values[order[i]], rte_strerror(rte_errno));
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
