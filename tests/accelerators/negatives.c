// What looks like something for an accelerator, and is not.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

uint32_t xorshift(uint32_t *state) {
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

uint64_t splitmix(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// A scrambler: its register runs by itself, data is only xored.
void scramble(uint8_t *data, size_t len) {
    uint16_t lfsr = 0xffff;
    for (size_t i = 0; i < len; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint16_t next = (lfsr >> 15 ^ lfsr >> 13 ^ lfsr >> 12 ^ lfsr >> 10) & 1;
            data[i] ^= (uint8_t)((lfsr & 1) << bit);
            lfsr = (uint16_t)(lfsr << 1 | next);
        }
}

int parity(const uint8_t *data, size_t len) {
    uint8_t all = 0;
    while (len--)
        all ^= *data++;
    all ^= all >> 4;
    all ^= all >> 2;
    return (all ^ all >> 1) & 1;
}

uint8_t longitudinal(const uint8_t *data, int len) {
    uint8_t all = 0;
    for (int i = 0; i < len; i++)
        all ^= data[i];
    return all;
}

uint8_t hamming(uint8_t nibble) {
    uint8_t a = nibble & 1, b = nibble >> 1 & 1, c = nibble >> 2 & 1, d = nibble >> 3 & 1;
    return (uint8_t)((a ^ b ^ d) | (a ^ c ^ d) << 1 | a << 2 | (b ^ c ^ d) << 3 | b << 4 | c << 5 | d << 6);
}

// Row and column parities of 256 bytes, as for flash memory.
uint32_t flash_ecc(const uint8_t *page, int len) {
    uint32_t rows = 0;
    uint8_t columns = 0;
    for (int i = 0; i < len; i++) {
        uint8_t ones = page[i];
        columns ^= ones;
        ones ^= ones >> 4, ones ^= ones >> 2, ones ^= ones >> 1;
        if (ones & 1)
            rows ^= (uint32_t)i;
    }
    return rows << 8 | columns;
}

size_t base64(const uint8_t *in, size_t len, char *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;
    for (size_t i = 0; i + 2 < len; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16 | in[i + 1] << 8 | in[i + 2];
        for (int k = 18; k >= 0; k -= 6)
            out[n++] = digits[v >> k & 63];
    }
    return n;
}

size_t copy_match(uint8_t *out, size_t at, unsigned distance, unsigned length) {
    for (unsigned i = 0; i < length; i++)
        out[at + i] = out[at + i - distance];
    return at + length;
}

int count_bits(uint32_t x) {
    x = x - (x >> 1 & 0x55555555);
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    return (int)(((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24);
}

// Shifts and xors like a CRC, but adds the polynomial where a CRC xors it.
uint16_t almost_crc(const uint8_t *data, size_t len) {
    uint16_t crc = 0xffff;
    while (len--) {
        crc ^= (uint16_t)(*data++ << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? (crc << 1) + 0x1021 : crc << 1);
    }
    return crc;
}

// Seven turns where eight bits are.
uint16_t short_crc(const uint8_t *data, size_t len) {
    uint16_t crc = 0;
    while (len--) {
        crc ^= *data++;
        for (int bit = 0; bit < 7; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1;
    }
    return crc;
}

uint32_t polynomial_hash(const uint8_t *data, size_t len) {
    uint32_t h = 0;
    for (size_t i = 0; i < len; i++)
        h = (h * 257 + data[i]) % 65537;
    return h;
}

uint32_t sum_bytes(const uint8_t *data, size_t len) {
    uint32_t sum = 0;
    while (len--)
        sum += *data++;
    return sum;
}

uint16_t sum_words(const uint16_t *data, size_t count) {
    uint16_t sum = 0;
    while (count--)
        sum += *data++;
    return sum;
}

uint16_t bsd_sum(const uint8_t *data, size_t len) {
    uint16_t sum = 0;
    while (len--)
        sum = (uint16_t)((sum >> 1) + ((sum & 1) << 15) + *data++);
    return sum;
}

uint64_t weighted(const uint8_t *data, size_t len) {
    uint64_t a = 1, b = 0;
    for (size_t i = 0; i < len; i++) {
        a = (a + data[i]) % 65520;
        b = (b + a) % 65520;
    }
    return b << 16 | a;
}

struct pair {
    uint32_t addr, mask, port;
};

// The first entry that matches, however long its prefix is.
int first_match(const struct pair *pairs, int count, uint32_t address) {
    for (int i = 0; i < count; i++)
        if ((address & pairs[i].mask) == pairs[i].addr)
            return (int)pairs[i].port;
    return -1;
}

int exact_match(const struct pair *pairs, int count, uint32_t address) {
    int low = 0, high = count - 1;
    while (low <= high) {
        int middle = (low + high) / 2;
        if (pairs[middle].addr == address)
            return (int)pairs[middle].port;
        if (pairs[middle].addr < address)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

uint32_t gray(uint32_t x) {
    for (uint32_t shift = 1; shift < 32; shift <<= 1)
        x ^= x >> shift;
    return x;
}

uint8_t substitute(const uint8_t table[256], uint8_t value) {
    for (int i = 0; i < 3; i++)
        value = table[value ^ (uint8_t)i];
    return value;
}

void add_keys(uint8_t *data, const uint8_t *key, size_t len, size_t size) {
    for (size_t i = 0; i < len; i++)
        data[i] ^= key[i % size];
}

uint32_t java_hash(const char *text) {
    uint32_t h = 0;
    while (*text)
        h = h * 31 + (uint8_t)*text++;
    return h;
}

uint16_t clamp_sum(uint16_t a, uint16_t b) {
    uint32_t sum = (uint32_t)a + b;
    return sum > 0xffff ? 0xffff : (uint16_t)sum;
}

uint32_t mix(uint32_t a, uint32_t b) {
    a ^= b << 7 | b >> 25;
    b += a * 5;
    return a ^ b >> 3;
}

// What the first steps of a CRC with the polynomial 3 do, before anything has to be reduced.
uint16_t spread(uint8_t x) {
    return (uint16_t)(x ^ x << 1);
}

// No longest prefix match: the first of the routes that were added that has the address counts.
static struct {
    uint32_t net, mask;
    uint8_t hop;
} first_routes[256];
static int first_count;

int first_add(const uint8_t *net, int length, int hop) {
    if (first_count == 256)
        return -1;
    uint32_t mask = length ? ~0u << (32 - length) : 0;
    first_routes[first_count].net = ((uint32_t)net[0] << 24 | net[1] << 16 | net[2] << 8 | net[3]) & mask;
    first_routes[first_count].mask = mask;
    first_routes[first_count++].hop = (uint8_t)hop;
    return 0;
}

int first_find(const uint8_t *address) {
    uint32_t wanted = (uint32_t)address[0] << 24 | address[1] << 16 | address[2] << 8 | address[3];
    for (int i = 0; i < first_count; i++)
        if ((wanted & first_routes[i].mask) == first_routes[i].net)
            return first_routes[i].hop;
    return -1;
}

// A cipher between two keys that what prepares it leaves as they are.
struct white {
    uint32_t key[4], before[2], after[2];
};

void white_key(struct white *white, const uint8_t *key) {
    for (int i = 0; i < 16; i++)
        ((uint8_t *)white->key)[i] = key[i];
}

void white_block(const struct white *white, uint32_t v[2]) {
    uint32_t y = v[0] ^ white->before[0], z = v[1] ^ white->before[1], sum = 0;
    for (int n = 0; n < 32; n++) {
        sum += 0x9e3779b9;
        y += ((z << 4) + white->key[0]) ^ (z + sum) ^ ((z >> 5) + white->key[1]);
        z += ((y << 4) + white->key[2]) ^ (y + sum) ^ ((y >> 5) + white->key[3]);
    }
    v[0] = y ^ white->after[0], v[1] = z ^ white->after[1];
}
