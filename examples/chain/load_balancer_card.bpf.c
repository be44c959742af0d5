/* As load_balancer.bpf.c, for a SmartNIC: fewer headers and options, because programs are short there.
 * One array is all it needs, and what is sent back needs no redirection.
 *
 * Slowest path, expected: as there.
 */
#define MAX_EXTENSIONS 2
#define MAX_OPTIONS 4
#define UNROLL _Pragma("unroll")
#include "load_balancer.h"
