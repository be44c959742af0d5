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

// Addresses as bytes in network order, next hops as pointers; what is found is a node.
struct leaf {
    struct leaf *child[2];
    void *data;
};

struct tree {
    struct leaf *root;
};

static unsigned bit_of(const uint8_t *key, int at) {
    return key[at / 8] >> (7 - at % 8) & 1;
}

int tree_add(struct tree *tree, const uint8_t *key, int len, void *data) {
    struct leaf **at = &tree->root;
    for (int i = 0;; i++) {
        if (!*at && !(*at = calloc(1, sizeof **at)))
            return -1;
        if (i == len)
            break;
        at = &(*at)->child[bit_of(key, i)];
    }
    (*at)->data = data;
    return 0;
}

struct leaf *tree_match(struct tree *tree, const uint8_t *key) {
    struct leaf *best = NULL;
    int i = 0;
    for (struct leaf *at = tree->root; at; at = i < 32 ? at->child[bit_of(key, i++)] : NULL)
        if (at->data)
            best = at;
    return best;
}

// Addresses of either size behind a pointer; those of four bytes are in network order.
struct held {
    struct held *next;
    uint32_t net, mask;
    void *hop;
};

struct book {
    struct held *first;
};

static uint32_t read_net(const uint8_t *address) {
    return (uint32_t)address[0] << 24 | address[1] << 16 | address[2] << 8 | address[3];
}

int book_add(struct book *book, const void *address, size_t size, unsigned bits, void *hop) {
    struct held *held = size == 4 ? malloc(sizeof *held) : NULL;
    if (!held)
        return -1;
    held->mask = bits ? ~0u << (32 - bits) : 0;
    held->net = read_net(address) & held->mask;
    held->hop = hop;
    struct held **at = &book->first;
    while (*at && (*at)->mask > held->mask)
        at = &(*at)->next;
    held->next = *at;
    *at = held;
    return 0;
}

void *book_find(const struct book *book, const void *address, size_t size) {
    if (size != 4)
        return NULL;
    for (const struct held *held = book->first; held; held = held->next)
        if ((read_net(address) & held->mask) == held->net)
            return held->hop;
    return NULL;
}

// One table for all, with names of devices; the next hop is put into what the caller has.
struct out {
    const char *device;
    uint32_t index, gateway;
};

static struct line {
    struct line *next;
    uint32_t net, length;
    struct out out;
} *lines;

static uint32_t host_order(uint32_t value) {
    return value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24;
}

int line_add(uint32_t net, uint32_t length, const char *device, uint32_t index, uint32_t gateway) {
    struct line *line = malloc(sizeof *line);
    if (!line)
        return -1;
    *line = (struct line){lines, host_order(net), length, {device, index, gateway}};
    lines = line;
    return 0;
}

int line_find(uint32_t address, struct out *out) {
    const struct line *best = NULL;
    for (const struct line *line = lines; line; line = line->next)
        if ((!line->length || !((host_order(address) ^ line->net) >> (32 - line->length))) &&
            (!best || line->length > best->length))
            best = line;
    if (!best)
        return -1;
    *out = best->out;
    return 0;
}

// The loop ends before the last bit has been followed: routes to one address are never found.
struct step {
    struct step *zero, *one;
    uint32_t gateway;
    int used, port;
};

struct step *step_new(void) {
    return calloc(1, sizeof(struct step));
}

int step_add(struct step *at, uint32_t net, uint32_t length, uint32_t gateway, uint32_t port) {
    for (uint32_t i = 0; i < length; i++) {
        struct step **next = net >> (31 - i) & 1 ? &at->one : &at->zero;
        if (!*next && !(*next = step_new()))
            return -1;
        at = *next;
    }
    at->used = 1, at->gateway = gateway, at->port = (int)port;
    return 0;
}

int step_find(const struct step *at, uint32_t address, uint32_t *gateway, int *port) {
    int found = -1;
    for (int i = 0; i < 32 && at; i++) {
        if (at->used)
            found = 0, *gateway = at->gateway, *port = at->port;
        at = address >> (31 - i) & 1 ? at->one : at->zero;
    }
    return found;
}
