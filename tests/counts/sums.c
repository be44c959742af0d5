/* One checksum function, called in two lines; -DWITHOUT_FIRST or -DWITHOUT_SECOND leaves one. */
#include <stddef.h>
#include <stdint.h>

static uint64_t bad;

static uint16_t checksum(const uint8_t *data, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i + 1 < length; i += 2)
        sum += (uint32_t)data[i] << 8 | data[i + 1];
    if (length & 1)
        sum += (uint32_t)data[length - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum;
}

int process(const uint8_t *data, size_t length)
{
    if (length < 34)
        return 0;
#ifndef WITHOUT_FIRST
    if (checksum(data + 14, 20)) /* first */
        bad++;
#endif
#ifndef WITHOUT_SECOND
    if (data[23] == 17 && checksum(data + 34, length - 34)) /* second */
        bad++;
#endif
    return 1;
}
