// MD5 (RFC 1321).
#ifndef SLOWPATH_CLICK_MD5_H
#define SLOWPATH_CLICK_MD5_H
#include <click/glue.hh>

#define MD5_DIGEST_SIZE 16
#define MD5_TEXT_DIGEST_SIZE 22  // letters of six bits each

typedef unsigned char md5_byte_t;
struct md5_state_t {
    uint64_t length;  // bytes
    uint32_t words[4];
    md5_byte_t block[64];
};

inline void md5_init(md5_state_t *state) {
    static const uint32_t first[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    state->length = 0;
    memcpy(state->words, first, sizeof first);
}

// Integer parts of 2^32 times the absolute sine of 1, 2, ... (RFC 1321).
inline void slowpath_click_md5_block(md5_state_t *state) {
    static const uint32_t sines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
        0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
        0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
        0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
        0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
        0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
        0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
        0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
        0xeb86d391};
    static const unsigned char turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = state->words[0], b = state->words[1], c = state->words[2], d = state->words[3];
    SLOWPATH_LOOP for (unsigned at = 0; at < 64; at++) {
        uint32_t mixed, word, of = at;
        if (at < 16)
            mixed = (b & c) | (~b & d);
        else if (at < 32) {
            mixed = (b & d) | (c & ~d);
            of = (5 * at + 1) % 16;
        } else if (at < 48) {
            mixed = b ^ c ^ d;
            of = (3 * at + 5) % 16;
        } else {
            mixed = c ^ (b | ~d);
            of = 7 * at % 16;
        }
        memcpy(&word, state->block + 4 * of, 4);
        mixed += a + word + sines[at];
        unsigned by = turns[at / 16][at % 4];
        a = d;
        d = c;
        c = b;
        b += mixed << by | mixed >> (32 - by);
    }
    state->words[0] += a;
    state->words[1] += b;
    state->words[2] += c;
    state->words[3] += d;
}

inline void md5_append(md5_state_t *state, const md5_byte_t *data, int length) {
    for (int at = 0; at < length; at++) {
        state->block[state->length % 64] = data[at];
        if (++state->length % 64 == 0)
            slowpath_click_md5_block(state);
    }
}
inline void md5_finish(md5_state_t *state, md5_byte_t digest[MD5_DIGEST_SIZE]) {
    static const md5_byte_t zeros[64] = {0x80};
    uint64_t bits = 8 * state->length;
    md5_append(state, zeros, 1 + (119 - state->length % 64) % 64);
    md5_append(state, (const md5_byte_t *) &bits, 8);
    memcpy(digest, state->words, MD5_DIGEST_SIZE);
}
// Finishes the digest as text.
inline int md5_finish_text(md5_state_t *state, char *text, int) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@";
    md5_byte_t digest[MD5_DIGEST_SIZE + 1] = {};
    md5_finish(state, digest);
    for (int at = 0; at < MD5_TEXT_DIGEST_SIZE; at++) {
        unsigned bit = 6 * at, pair = digest[bit / 8] << 8 | digest[bit / 8 + 1];
        text[at] = letters[pair >> (10 - bit % 8) & 63];
    }
    text[MD5_TEXT_DIGEST_SIZE] = 0;
    return MD5_TEXT_DIGEST_SIZE;
}
inline void md5_free(md5_state_t *) {}
#endif
