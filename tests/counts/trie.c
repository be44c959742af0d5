/* A prefix tree: nodes from a pool, or, with -DHEAP, allocated; filled by a constructor. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct node {
    struct node *child[2];
    uint32_t hop;
    int used;
};

static struct node *root;

#ifdef HEAP
static void *zeros(size_t size)
{
    return calloc(1, size);
}
#ifdef WRAPPED
#define FRESH zeros(sizeof(struct node))
#else
#define FRESH calloc(1, sizeof(struct node))
#endif
#else
static struct node pool[4096];
static unsigned taken;
#define FRESH (&pool[taken++])
#endif

static struct node *fresh(void)
{
    return FRESH;
}

void add_route(uint32_t prefix, int length, uint32_t hop)
{
    if (!root)
        root = fresh();
    struct node *at = root;
    for (int bit = 0; bit < length; bit++) {
        int side = prefix >> (31 - bit) & 1;
        if (!at->child[side])
            at->child[side] = fresh();
        at = at->child[side];
    }
    at->hop = hop;
    at->used = 1;
}

__attribute__((constructor)) static void fill(void)
{
    for (unsigned at = 0; at < 64; at++)
        add_route(0x0a000000 + (at << 12), 20, at + 1);
    for (unsigned at = 0; at < 4; at++)
        add_route(at << 30, 2, 100 + at);
#ifdef HEAP
    free(zeros(100));
#endif
}

int process(const uint8_t *data, size_t length)
{
    if (length < 34)
        return 0;
    uint32_t to = (uint32_t)data[30] << 24 | data[31] << 16 | data[32] << 8 | data[33];
    uint32_t best = 0;
    struct node *at = root;
    for (int bit = 0; at; bit++) {
        if (at->used)
            best = at->hop;
        if (bit == 32)
            break;
        at = at->child[to >> (31 - bit) & 1];
    }
    return best;
}
