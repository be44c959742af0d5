/* As load_balancer.bpf.c, but loops stay loops, which the kernel takes since Linux 5.3.
 *
 * Slowest path, expected: as there, and the counting of rounds besides.
 */
#define UNROLL
#include "load_balancer.h"
