/* ${title}
 * Made for the experiment ${experiment}, for DPDK 22.11 or newer.
 *
 *   cc -O2 -march=native $(pkg-config --cflags libdpdk) THIS.c $(pkg-config --libs libdpdk)
 *   ./a.out --no-huge --no-pci -m 2048 -l CPU -- SECONDS VISITS SEED${arguments}
 *
 * Each visit takes all values in a new random order. For each value, it rebuilds all data and times
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

#define keep(value) asm volatile("" : "+r"(value))	/* forces the compiler to compute a value */

/* Parameters; the swept one is a variable. */
${parameters}
static const long values[] = { ${points} };
#define COUNT (sizeof(values) / sizeof(values[0]))

/* Functions that each component defines. `set_up` builds the data for a value of the parameter and
 * returns 0, or -1 if it fails. `tear_down` frees the data. `run` is the loop over packets. */
static int set_up(void);
//@ if pipeline
static int check(void); /* returns 0 if all results are as expected, else -1 */
//@ end
static void tear_down(void);
static long touched(void); /* returns the number of packets that touch all data */
static inline __attribute__((always_inline)) uint64_t run(uint32_t packets, int component);

static char wrong[256]; /* message of the last error */

/* Stores an error message, and returns -1. */
static inline int refuse(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(wrong, sizeof(wrong), format, arguments);
	va_end(arguments);
	return -1;
}
