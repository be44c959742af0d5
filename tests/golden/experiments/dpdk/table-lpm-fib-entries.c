/* A look-up of the longest prefix in a FIB, by prefixes
 * Made for the experiment table-lpm-fib-entries, for DPDK 22.11 or newer.
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
enum { key_bytes = 4, prefix_bits = 24, value_bytes = 8, tables = 1, repeats = 1 };
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

#include <rte_byteorder.h>

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

enum { TABLES = 32 };

#include <rte_fib.h>

struct address {
	uint32_t number;
};

static struct rte_fib *table[TABLES];

static int create(long t, const char *name)
{
	struct rte_fib_conf config = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = entries,
		.max_routes = entries + 1,
		.dir24_8 = {
			.nh_sz = RTE_FIB_DIR24_8_4B,
			.num_tbl8 = prefix_bits > 24 ? entries + 1 : 1,
		},
	};

	table[t] = rte_fib_create(name, SOCKET_ID_ANY, &config);
	return table[t] ? 0 : -1;
}

static int add(long t, struct address address, uint32_t entry)
{
	return rte_fib_add(table[t], address.number, prefix_bits, entry);
}

/* The number of the entry; that of all entries if there is none. */
static inline uint32_t look_up(long t, const struct address *address)
{
	uint32_t number = address->number;
	uint64_t found;

	rte_fib_lookup_bulk(table[t], &number, &found, 1);
	return found;
}

static void destroy(long t)
{
	rte_fib_free(table[t]);
	table[t] = NULL;
}

static uint8_t *actions[TABLES];

/* Prefixes are spread: an odd multiple, in the high bits but the first one. */
static inline struct address address_of(uint32_t number, const uint8_t *others)
{
	struct address address = { (uint32_t)(number * 2654435761U << (33 - prefix_bits)) >> 1 };

	(void)others;
	return address;
}

/* No entry has this bit. */
static inline void miss(struct address *address)
{
	address->number |= 1U << 31;
}

static long touched(void)
{
	long all = entries < 200000 ? entries : 200000;

	return all;
}

/* Each address has to be found, and no other. */
static int check_look_ups(long t, const uint8_t *others)
{
	struct address address = address_of(0, others);

	miss(&address);
	if (look_up(t, &address) != entries)
		return refuse("table %ld: an address is found that is not there", t);
	for (uint32_t i = 0; i < entries; i++) {
		address = address_of(i, others);
		if (look_up(t, &address) != i)
			return refuse("table %ld: prefix %u is not found", t, i);
	}
	return 0;
}

static int set_up(void)
{
	const uint8_t *others = packets + KEY_OFFSET + 4;

	for (long t = 0; t < tables; t++) {
		char name[16];

		snprintf(name, sizeof(name), "table%ld", t);
		actions[t] = rte_zmalloc(NULL, (size_t)(entries + 1) * value_bytes, 64);
		if (create(t, name) || !actions[t])
			return -1;
		for (uint32_t i = 0; i < entries; i++) {
			int status = add(t, address_of(i, others), i);

			*(uint64_t *)(actions[t] + (size_t)i * value_bytes) = 1;
			if (status)
				return refuse("prefix %u cannot be added: %s", i, strerror(-status));
		}
		if (check_look_ups(t, others))
			return -1;
	}
	return 0;
}

static void tear_down(void)
{
	for (int t = 0; t < TABLES; t++) {
		destroy(t);
		rte_free(actions[t]);
		actions[t] = NULL;
	}
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *key = next_packet(i) + KEY_OFFSET;
		struct address address;
		uint32_t number;

		memcpy(&number, key, sizeof(number));
		address = address_of(number, key + 4);
		keep(address.number);
		for (long t = 0; component && t < tables; t++) {
			for (long again = 0; again < repeats; again++) {
				uint32_t found = look_up(t, &address);

				sum += *(uint64_t *)(actions[t] + (size_t)found * value_bytes);
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
