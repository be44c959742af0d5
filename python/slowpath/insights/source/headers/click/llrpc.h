// Calls of elements by external programs, which do not run here: their numbers, and copying.
#ifndef SLOWPATH_CLICK_LLRPC_H
#define SLOWPATH_CLICK_LLRPC_H
#include <click/glue.hh>

enum {
    CLICK_LLRPC_GET_RATE = 1,
    CLICK_LLRPC_GET_COUNT,
    CLICK_LLRPC_GET_COUNTS,
    CLICK_LLRPC_GET_SWITCH,
    CLICK_LLRPC_SET_SWITCH,
    CLICK_LLRPC_MAP_IPADDRESS,
    CLICK_LLRPC_IPREWRITER_MAP_TCP,
    CLICK_LLRPC_IPREWRITER_MAP_UDP,
    CLICK_LLRPC_IPRATEMON_LEVEL_FWD_AVG,
    CLICK_LLRPC_IPRATEMON_LEVEL_REV_AVG,
    CLICK_LLRPC_IPRATEMON_FWD_N_REV_AVG,
    CLICK_LLRPC_IPRATEMON_SET_ANNO_LEVEL,
    CLICK_LLRPC_COUNTS_SIZE = 50
};

struct click_llrpc_counts_st {
    unsigned n;
    unsigned keys[CLICK_LLRPC_COUNTS_SIZE];
    unsigned values[CLICK_LLRPC_COUNTS_SIZE];
};

SLOWPATH_INLINE int slowpath_click_copy(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
    return 0;
}
#define CLICK_LLRPC_GET_DATA(to, from, size) slowpath_click_copy((to), (from), (size))
#define CLICK_LLRPC_PUT_DATA(to, from, size) slowpath_click_copy((to), (from), (size))
#define CLICK_LLRPC_GET(x, from) slowpath_click_copy(&(x), (from), sizeof(x))
#define CLICK_LLRPC_PUT(to, x) slowpath_click_copy((to), &(x), sizeof(x))
#endif
