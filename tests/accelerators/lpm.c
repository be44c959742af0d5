// Longest prefix match, four ways.
#include <stdint.h>
#include <stdlib.h>

struct node {
    struct node *child[2];
    int hop;
};

struct node *trie_new(void) {
    struct node *node = calloc(1, sizeof *node);
    if (node)
        node->hop = -1;
    return node;
}

int trie_add(struct node *root, uint32_t prefix, uint8_t len, int hop) {
    for (int i = 0; i < len; i++) {
        int bit = prefix >> (31 - i) & 1;
        if (!root->child[bit] && !(root->child[bit] = trie_new()))
            return -1;
        root = root->child[bit];
    }
    root->hop = hop;
    return 0;
}

int trie_find(const struct node *node, uint32_t address) {
    int best = -1;
    for (int i = 31; node; i--) {
        if (node->hop >= 0)
            best = node->hop;
        if (i < 0)
            break;
        node = node->child[address >> i & 1];
    }
    return best;
}

// DIR-24-8 (Gupta, Lin, McKeown 1998): one look for 24 bits, another for the rest.
static uint16_t first[1 << 24], second[256 << 8];
static uint8_t first_depth[1 << 24], second_depth[256 << 8];
static unsigned blocks;

int dir_add(uint32_t prefix, int depth, uint16_t hop) {
    if (depth <= 24) {
        uint32_t start = prefix >> 8, count = 1u << (24 - depth);
        for (uint32_t i = start; i < start + count; i++) {
            if (first[i] & 0x8000) {
                unsigned block = (first[i] & 0x7fff) << 8;
                for (int k = 0; k < 256; k++)
                    if (second_depth[block + k] <= depth)
                        second[block + k] = hop, second_depth[block + k] = (uint8_t)depth;
            } else if (first_depth[i] <= depth) {
                first[i] = hop, first_depth[i] = (uint8_t)depth;
            }
        }
        return 0;
    }
    uint32_t at = prefix >> 8;
    if (!(first[at] & 0x8000)) {
        if (blocks == 256)
            return -1;
        for (int k = 0; k < 256; k++)
            second[(blocks << 8) + k] = first[at], second_depth[(blocks << 8) + k] = first_depth[at];
        first[at] = (uint16_t)(0x8000 | blocks++);
    }
    unsigned start = ((first[at] & 0x7fffu) << 8) + (prefix & 0xff);
    for (unsigned i = start; i < start + (1u << (32 - depth)); i++)
        if (second_depth[i] <= depth)
            second[i] = hop, second_depth[i] = (uint8_t)depth;
    return 0;
}

uint16_t dir_find(uint32_t address) {
    uint16_t found = first[address >> 8];
    return found & 0x8000 ? second[((found & 0x7fff) << 8) + (address & 0xff)] : found;
}

struct route {
    uint32_t prefix, mask;
    uint32_t hop;
};

// Entries in any order: the longest mask counts.
int scan(const struct route *routes, int count, uint32_t address) {
    int best = -1;
    for (int i = 0; i < count; i++)
        if ((address & routes[i].mask) == routes[i].prefix &&
            (best < 0 || routes[i].mask > routes[best].mask))
            best = i;
    return best;
}

struct entry {
    uint32_t addr;
    uint8_t len;
    uint8_t port;
};

static int compare(const struct entry *entry, uint32_t address) {
    uint32_t mask = entry->len ? ~0u << (32 - entry->len) : 0, a = address & mask;
    return a < entry->addr ? -1 : a > entry->addr;
}

// Entries sorted by prefix and length: a binary search for the last one that is not behind the
// address, then back to one that has it.
uint32_t search(const struct entry *entries, unsigned count, uint32_t address) {
    unsigned low = 0, high = count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (entries[middle].addr <= address)
            low = middle + 1;
        else
            high = middle;
    }
    while (low--)
        if (!compare(entries + low, address))
            return entries[low].port;
    return 0;
}
