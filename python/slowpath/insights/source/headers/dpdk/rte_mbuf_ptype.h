/* See rte_mbuf.h. */
#include <rte_mbuf.h>
