/* A table that only the control plane fills; -DTABLE= makes it one that other files may see. */
#include <stddef.h>
#include <stdint.h>
#ifndef TABLE
#define TABLE static
#endif

struct rule {
    uint32_t from, to, action;
};

TABLE struct rule rules[16];
TABLE uint64_t passed;

#ifdef WRITER
void set_rule(unsigned at, struct rule rule)
{
    rules[at] = rule;
}
#endif

int process(const uint8_t *data, size_t length)
{
    if (length < 34)
        return 0;
    uint32_t to = (uint32_t)data[30] << 24 | data[31] << 16 | data[32] << 8 | data[33];
    for (unsigned at = 0; at < 16; at++)
        if (rules[at].action && rules[at].from <= to && to <= rules[at].to)
            return rules[at].action;
    passed++;
    return 0;
}
