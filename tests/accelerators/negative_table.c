// A table that is similar to one of routes. Its functions are called only with each other here,
// because pairs with functions of other files take seconds.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// No longest prefix match: the last node on the way counts, whether it has a route or not.
struct last {
    struct last *child[2];
    int hop;
};

int last_add(struct last *at, uint32_t net, uint32_t length, int hop) {
    for (uint32_t i = 0; i < length; i++) {
        struct last **next = &at->child[net >> (31 - i) & 1];
        if (!*next && !(*next = calloc(1, sizeof **next)))
            return -1;
        at = *next;
    }
    at->hop = hop;
    return 0;
}

int last_find(const struct last *at, uint32_t address) {
    int hop = 0;
    for (int i = 31; at; i--) {
        hop = at->hop;
        at = i < 0 ? NULL : at->child[address >> i & 1];
    }
    return hop;
}
