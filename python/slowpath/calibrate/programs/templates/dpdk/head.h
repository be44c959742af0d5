/* ${title}
 * Made for the experiment ${experiment}, for DPDK 22.11 or newer.
 *
 *   cc -O2 -march=native $(pkg-config --cflags libdpdk) THIS.c $(pkg-config --libs libdpdk)
 *   ./a.out --no-huge --no-pci -m 2048 -l CPU -- SECONDS VISITS SEED${arguments}
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
${parameters}
static const long values[] = { ${points} };
#define COUNT (sizeof(values) / sizeof(values[0]))

/* What a component defines: whatever it needs at a value (0, or -1 if that fails), its end, and
 * the loop over packets. */
static int set_up(void);
//@ if pipeline
static int check(void); /* 0 if everything came out as it has to, else -1 */
//@ end
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
