// Hash functions.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

uint32_t fnv1a(const void *data, size_t len) {
    const uint8_t *p = data;
    uint32_t h = 0x811c9dc5;
    while (len--)
        h = (h ^ *p++) * 0x01000193;
    return h;
}

uint64_t fnv1_64(const char *text) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (; *text; text++) {
        h *= 0x100000001b3ull;
        h ^= (uint8_t)*text;
    }
    return h;
}

uint32_t fnv1a_step(uint32_t h, uint8_t byte) {
    return (h ^ byte) * 16777619u;
}

unsigned long djb2(const unsigned char *text) {
    unsigned long h = 5381;
    int c;
    while ((c = *text++))
        h = (h << 5) + h + c;
    return h;
}

uint32_t sdbm(const char *text, size_t len) {
    uint32_t h = 0;
    for (size_t i = 0; i < len; i++)
        h = text[i] + (h << 6) + (h << 16) - h;
    return h;
}

uint32_t one_at_a_time(const uint8_t *key, size_t len, uint32_t h) {
    for (size_t i = 0; i < len; i++) {
        h += key[i];
        h += h << 10;
        h ^= h >> 6;
    }
    h += h << 3;
    h ^= h >> 11;
    h += h << 15;
    return h;
}

static uint32_t left(uint32_t x, int by) {
    return x << by | x >> (32 - by);
}

uint32_t murmur3(const void *key, int len, uint32_t seed) {
    const uint8_t *p = key;
    uint32_t h = seed, k;
    int rest = len;
    for (; rest >= 4; rest -= 4, p += 4) {
        memcpy(&k, p, 4);
        h ^= left(k * 0xcc9e2d51, 15) * 0x1b873593;
        h = left(h, 13) * 5 + 0xe6546b64;
    }
    k = 0;
    for (int i = rest; i--;)
        k = k << 8 | p[i];
    h ^= left(k * 0xcc9e2d51, 15) * 0x1b873593;
    h ^= (uint32_t)len;
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return h ^ h >> 16;
}

uint32_t murmur2_fixed(const uint8_t *p, size_t len) {
    const uint32_t m = 0x5bd1e995;
    uint32_t h = 0xc70f6907u ^ (uint32_t)len, k;
    for (; len >= 4; len -= 4, p += 4) {
        memcpy(&k, p, 4);
        k *= m;
        k = (k ^ k >> 24) * m;
        h = h * m ^ k;
    }
    if (len) {
        k = 0;
        while (len--)
            k = k << 8 | p[len];
        h = (h ^ k) * m;
    }
    h = (h ^ h >> 13) * m;
    return h ^ h >> 15;
}

uint32_t lookup3(const void *key, size_t len, uint32_t seed) {
    const uint8_t *p = key;
    uint32_t a = 0xdeadbeef + (uint32_t)len + seed, b = a, c = a, x[3];
    while (len > 12) {
        memcpy(x, p, 12);
        a += x[0], b += x[1], c += x[2];
        a = (a - c) ^ left(c, 4), c += b;
        b = (b - a) ^ left(a, 6), a += c;
        c = (c - b) ^ left(b, 8), b += a;
        a = (a - c) ^ left(c, 16), c += b;
        b = (b - a) ^ left(a, 19), a += c;
        c = (c - b) ^ left(b, 4), b += a;
        p += 12, len -= 12;
    }
    if (!len)
        return c;
    memset(x, 0, sizeof x);
    memcpy(x, p, len);
    a += x[0], b += x[1], c += x[2];
    c = (c ^ b) - left(b, 14);
    a = (a ^ c) - left(c, 11);
    b = (b ^ a) - left(a, 25);
    c = (c ^ b) - left(b, 16);
    a = (a ^ c) - left(c, 4);
    b = (b ^ a) - left(a, 14);
    return (c ^ b) - left(b, 24);
}

uint32_t xxh32(const void *data, size_t len, uint32_t seed) {
    const uint32_t p1 = 2654435761u, p2 = 2246822519u, p3 = 3266489917u, p4 = 668265263u,
                   p5 = 374761393u;
    const uint8_t *p = data, *end = p + len;
    uint32_t h, k;
    if (len >= 16) {
        uint32_t v[4] = {seed + p1 + p2, seed + p2, seed, seed - p1};
        for (; end - p >= 16; p += 16)
            for (int lane = 0; lane < 4; lane++) {
                memcpy(&k, p + 4 * lane, 4);
                v[lane] = left(v[lane] + k * p2, 13) * p1;
            }
        h = left(v[0], 1) + left(v[1], 7) + left(v[2], 12) + left(v[3], 18);
    } else {
        h = seed + p5;
    }
    h += (uint32_t)len;
    for (; end - p >= 4; p += 4) {
        memcpy(&k, p, 4);
        h = left(h + k * p3, 17) * p4;
    }
    while (p < end)
        h = left(h + *p++ * p5, 11) * p1;
    h = (h ^ h >> 15) * p2;
    h = (h ^ h >> 13) * p3;
    return h ^ h >> 16;
}

static uint64_t left64(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4]) {
    v[0] += v[1], v[1] = left64(v[1], 13) ^ v[0], v[0] = left64(v[0], 32);
    v[2] += v[3], v[3] = left64(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = left64(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = left64(v[1], 17) ^ v[2], v[2] = left64(v[2], 32);
}

uint64_t siphash(const uint8_t key[16], const void *data, size_t len) {
    uint64_t k[2], m;
    memcpy(k, key, 16);
    uint64_t v[4] = {k[0] ^ 0x736f6d6570736575ull, k[1] ^ 0x646f72616e646f6dull,
                     k[0] ^ 0x6c7967656e657261ull, k[1] ^ 0x7465646279746573ull};
    const uint8_t *p = data;
    size_t rest = len;
    for (; rest >= 8; rest -= 8, p += 8) {
        memcpy(&m, p, 8);
        v[3] ^= m;
        sip_round(v), sip_round(v);
        v[0] ^= m;
    }
    m = (uint64_t)len << 56;
    for (size_t i = 0; i < rest; i++)
        m |= (uint64_t)p[i] << 8 * i;
    v[3] ^= m;
    sip_round(v), sip_round(v);
    v[0] ^= m;
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint32_t toeplitz(const uint8_t *input, int len, const uint8_t *key) {
    uint32_t hash = 0, window = (uint32_t)key[0] << 24 | key[1] << 16 | key[2] << 8 | key[3];
    for (int i = 0; i < len; i++)
        for (int bit = 7; bit >= 0; bit--) {
            if (input[i] >> bit & 1)
                hash ^= window;
            window = window << 1 | (key[i + 4] >> bit & 1);
        }
    return hash;
}

// It ends at a zero byte, whatever length it is told.
uint32_t fnv1_shortened(const void *data, size_t len) {
    uint32_t hash = 0x811c9dc5;
    for (const uint8_t *at = data; len && *at; at++, len--)
        hash = (hash * 0x01000193) ^ *at;
    return hash;
}
