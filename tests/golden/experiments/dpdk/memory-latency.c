/* A read from memory, by the bytes that are read in turn
 * Made for the experiment memory-latency, for DPDK 22.11 or newer.
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
static long bytes;
static const long values[] = { 4096, 1048576, 268435456 };
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

enum { PACKETS = 256, KEY_OFFSET = 42, STRIDE = 64 };
static uint8_t *packets;
static const uint8_t packet_bytes[] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 69, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1, 16, 1, 16, 2, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };

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

enum { LINE = 64 };
static uint8_t *lines;
static void *at;

static long touched(void)
{
	long all = bytes / LINE < 400000 ? bytes / LINE : 400000;

	return all;
}

/* A circle through all lines, in random order (Sattolo's algorithm). */
static int set_up(void)
{
	long count = bytes / LINE;
	uint32_t *order = malloc(count * sizeof(order[0])), state = 1;

	lines = rte_malloc(NULL, bytes, LINE);
	if (!lines || !order) {
		free(order);
		return -1;
	}
	for (long i = 0; i < count; i++)
		order[i] = i;
	for (long i = count - 1; i > 0; i--) {
		state = state * 1664525 + 1013904223;
		long other = (uint64_t)state * i >> 32;
		uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (long i = 0; i < count; i++)
		*(void **)(lines + (size_t)i * LINE) = lines + (size_t)order[i] * LINE;
	free(order);
	at = lines;
	return 0;
}

static void tear_down(void)
{
	rte_free(lines);
	lines = NULL;
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;
	void *next = at;

	for (uint32_t i = 0; i < count; i++) {
		if (component)
			next = *(void **)next;
		sum += (uintptr_t)next;
		keep(sum);
		keep(next);
	}
	at = next;
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
			bytes = values[order[i]];
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
