// Ciphers.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint8_t twice(uint8_t x) {
    return (uint8_t)(x << 1 ^ (x & 0x80 ? 0x1b : 0));
}

static uint8_t box[256];

void aes_box(void) {
    uint8_t p = 1, q = 1;
    do { // p runs through all but zero, q is its inverse
        p = p ^ twice(p);
        q ^= q << 1, q ^= q << 2, q ^= q << 4;
        if (q & 0x80)
            q ^= 0x09;
        uint8_t x = q ^ (uint8_t)(q << 1 | q >> 7) ^ (uint8_t)(q << 2 | q >> 6) ^
                    (uint8_t)(q << 3 | q >> 5) ^ (uint8_t)(q << 4 | q >> 4);
        box[p] = x ^ 0x63;
    } while (p != 1);
    box[0] = 0x63;
}

struct aes {
    int rounds;
    uint8_t keys[240];
};

void aes_key(struct aes *aes, const uint8_t *key, int bits) {
    int n = bits / 32;
    uint8_t constant = 1;
    aes->rounds = n + 6;
    memcpy(aes->keys, key, 4 * n);
    for (int i = n; i < 4 * (aes->rounds + 1); i++) {
        uint8_t t[4];
        memcpy(t, aes->keys + 4 * i - 4, 4);
        if (i % n == 0) {
            uint8_t first = t[0];
            t[0] = box[t[1]] ^ constant, t[1] = box[t[2]], t[2] = box[t[3]], t[3] = box[first];
            constant = twice(constant);
        } else if (n > 6 && i % n == 4) {
            for (int k = 0; k < 4; k++)
                t[k] = box[t[k]];
        }
        for (int k = 0; k < 4; k++)
            aes->keys[4 * i + k] = aes->keys[4 * (i - n) + k] ^ t[k];
    }
}

void aes_block(const struct aes *aes, const uint8_t in[16], uint8_t out[16]) {
    uint8_t s[16], t[16];
    for (int i = 0; i < 16; i++)
        s[i] = in[i] ^ aes->keys[i];
    for (int round = 1; round <= aes->rounds; round++) {
        for (int i = 0; i < 16; i++)
            t[i] = box[s[(i + 4 * (i % 4)) % 16]];
        for (int c = 0; c < 16; c += 4) {
            uint8_t all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3], first = t[c];
            if (round < aes->rounds)
                for (int r = 0; r < 4; r++)
                    t[c + r] ^= all ^ twice(t[c + r] ^ (r < 3 ? t[c + r + 1] : first));
        }
        for (int i = 0; i < 16; i++)
            s[i] = t[i] ^ aes->keys[16 * round + i];
    }
    memcpy(out, s, 16);
}

void tea(uint32_t v[2], const uint32_t k[4]) {
    uint32_t y = v[0], z = v[1], sum = 0;
    for (int n = 0; n < 32; n++) {
        sum += 0x9e3779b9;
        y += ((z << 4) + k[0]) ^ (z + sum) ^ ((z >> 5) + k[1]);
        z += ((y << 4) + k[2]) ^ (y + sum) ^ ((y >> 5) + k[3]);
    }
    v[0] = y, v[1] = z;
}

void xtea_back(unsigned rounds, uint32_t v[2], const uint32_t key[4]) {
    uint32_t y = v[0], z = v[1], sum = 0x9e3779b9 * rounds;
    while (rounds--) {
        z -= (((y << 4) ^ (y >> 5)) + y) ^ (sum + key[(sum >> 11) & 3]);
        sum -= 0x9e3779b9;
        y -= (((z << 4) ^ (z >> 5)) + z) ^ (sum + key[sum & 3]);
    }
    v[0] = y, v[1] = z;
}

static uint32_t left(uint32_t x, int by) {
    return x << by | x >> (32 - by);
}

static void quarter(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d) {
    *a += *b, *d = left(*d ^ *a, 16);
    *c += *d, *b = left(*b ^ *c, 12);
    *a += *b, *d = left(*d ^ *a, 8);
    *c += *d, *b = left(*b ^ *c, 7);
}

void chacha_block(uint32_t out[16], const uint32_t in[16]) {
    uint32_t x[16];
    memcpy(x, in, sizeof x);
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 4; k++)
            quarter(x + k, x + 4 + k, x + 8 + k, x + 12 + k);
        for (int k = 0; k < 4; k++)
            quarter(x + k, x + 4 + (k + 1) % 4, x + 8 + (k + 2) % 4, x + 12 + (k + 3) % 4);
    }
    for (int i = 0; i < 16; i++)
        out[i] = x[i] + in[i];
}

void chacha20(uint8_t *out, const uint8_t *in, size_t len, const uint8_t key[32],
              const uint8_t nonce[12], uint32_t counter) {
    uint32_t state[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, stream[16];
    memcpy(state + 4, key, 32);
    state[12] = counter;
    memcpy(state + 13, nonce, 12);
    while (len) {
        size_t part = len < 64 ? len : 64;
        chacha_block(stream, state);
        state[12]++;
        for (size_t i = 0; i < part; i++)
            out[i] = in[i] ^ ((uint8_t *)stream)[i];
        out += part, in += part, len -= part;
    }
}

struct rc4 {
    uint8_t i, j, s[256];
};

void rc4_key(struct rc4 *r, const uint8_t *key, int len) {
    for (int i = 0; i < 256; i++)
        r->s[i] = (uint8_t)i;
    uint8_t j = 0;
    for (int i = 0; i < 256; i++) {
        uint8_t x = r->s[i];
        j = (uint8_t)(j + x + key[i % len]);
        r->s[i] = r->s[j];
        r->s[j] = x;
    }
    r->i = r->j = 0;
}

void rc4_apply(struct rc4 *r, uint8_t *data, int len) {
    while (len--) {
        uint8_t x = r->s[++r->i];
        r->j += x;
        r->s[r->i] = r->s[r->j];
        r->s[r->j] = x;
        *data++ ^= r->s[(uint8_t)(r->s[r->i] + x)];
    }
}
