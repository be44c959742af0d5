/* ${title}
 * Made for the experiment ${experiment}, for DPDK 22.11 or newer.
 *
 *   cc -O2 -march=native $(pkg-config --cflags libdpdk) THIS.c $(pkg-config --libs libdpdk)
 *   ./a.out --no-huge --no-pci -m 2048 -l CPU -- SECONDS VISITS SEED${arguments}
 *
 * Each visit takes all values in a new random order. For each value, it rebuilds all data and times
 * the packet loop with and without the component in turns. Times are cycles of the TSC.
 */
//@ include ../dpdk/base.h

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
