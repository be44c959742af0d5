/* ${title}
 * Made for the experiment ${experiment}; ${role}.
 */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]
#define __inline inline __attribute__((always_inline))
#define keep(value) asm volatile("" : : "r"(value))	/* it has to be computed */
#define forget(value) asm volatile("" : "+r"(value))	/* it may be anything */

static void *(*const lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
