// Checksums that are sums.
#include <stddef.h>
#include <stdint.h>

uint16_t in_checksum(const void *data, int len) {
    const uint16_t *p = data;
    uint32_t sum = 0;
    for (; len > 1; len -= 2)
        sum += *p++;
    if (len)
        sum += *(const uint8_t *)p;
    sum = (sum >> 16) + (sum & 0xffff);
    sum += sum >> 16;
    return (uint16_t)~sum;
}

uint32_t in_partial(const uint8_t *data, size_t len, uint32_t sum) {
    while (len > 1) {
        sum += (uint32_t)data[0] << 8 | data[1];
        if (sum >> 31)
            sum = (sum & 0xffff) + (sum >> 16);
        data += 2;
        len -= 2;
    }
    if (len)
        sum += (uint32_t)data[0] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

uint16_t in_fold(uint32_t sum) {
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~(sum + (sum >> 16));
}

uint16_t ip_header_sum(const uint16_t *header, unsigned words) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < 2 * words; i++)
        sum += header[i];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

uint16_t ip_correct(uint16_t sum, uint16_t old, uint16_t new) {
    uint32_t total = (uint16_t)~sum + (uint32_t)(uint16_t)~old + new;
    total = (total & 0xffff) + (total >> 16);
    return (uint16_t)~(total + (total >> 16));
}

void ip_correct_there(uint16_t *sum, uint16_t old, uint16_t new) {
    uint32_t total = (uint16_t)~*sum + (uint32_t)(uint16_t)~old + new;
    total = (total & 0xffff) + (total >> 16);
    *sum = (uint16_t)~(total + (total >> 16));
}

uint32_t adler(uint32_t adler, const uint8_t *data, size_t len) {
    uint32_t a = adler & 0xffff, b = adler >> 16;
    while (len) {
        size_t part = len < 5552 ? len : 5552;
        len -= part;
        while (part--) {
            a += *data++;
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    return b << 16 | a;
}

uint32_t adler_plain(const unsigned char *data, int len) {
    uint32_t a = 1, b = 0;
    for (int i = 0; i < len; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b * 65536 + a;
}

uint16_t fletcher16(const uint8_t *data, int count) {
    uint16_t a = 0, b = 0;
    for (int i = 0; i < count; i++) {
        a = (a + data[i]) % 255;
        b = (b + a) % 255;
    }
    return (uint16_t)(b << 8 | a);
}

uint32_t fletcher32(const uint16_t *data, size_t words) {
    uint32_t a = 0xffff, b = 0xffff;
    while (words) {
        size_t part = words < 359 ? words : 359;
        words -= part;
        while (part--)
            b += a += *data++;
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}

uint64_t fletcher64(const uint32_t *data, size_t words) {
    uint64_t a = 0, b = 0;
    for (size_t i = 0; i < words; i++) {
        a = (a + data[i]) % 0xffffffff;
        b = (b + a) % 0xffffffff;
    }
    return b << 32 | a;
}

// What is left of an odd length is added as if it were a word's second byte: it is the checksum of
// even lengths only.
uint16_t in_whole_words(const uint8_t *data, size_t len) {
    uint32_t sum = 0;
    while (len > 1) {
        sum += (uint32_t)data[0] << 8 | data[1];
        data += 2;
        len -= 2;
    }
    if (len)
        sum += *data;
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t) ~(sum + (sum >> 16));
}
