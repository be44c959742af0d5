/* The load balancer of load_balancer.h with its loops over extension headers, over options and over
 * the bytes of the mark unrolled by the compiler.
 *
 * Slowest path, expected: as many headers and options as are parsed, all valid, then the mark and
 * the rewriting. Behind the firewall of firewall.bpf.c nothing of that depends on the packet any
 * more: all headers, the only mark and where TCP begins are always the same.
 */
#define UNROLL _Pragma("unroll")
#include "load_balancer.h"
