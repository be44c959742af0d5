// CRCs in the ways in which people write them. What each is, `expected.tsv` says.
#include <stddef.h>
#include <stdint.h>

uint8_t crc8_bits(const uint8_t *data, size_t len) {
    uint8_t crc = 0;
    while (len--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x80 ? (uint8_t)(crc << 1) ^ 0x07 : (uint8_t)(crc << 1);
    }
    return crc;
}

uint8_t crc8_maxim_step(uint8_t crc, uint8_t byte) {
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++)
        crc = crc & 1 ? (crc >> 1) ^ 0x8c : crc >> 1;
    return crc;
}

uint16_t crc16_ccitt_bits(const unsigned char *p, int n) {
    uint16_t crc = 0xffff;
    for (int i = 0; i < n; i++) {
        crc ^= (uint16_t)(p[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

uint16_t crc16_modbus(const uint8_t *frame, uint16_t length) {
    uint16_t crc = 0xffff;
    for (uint16_t at = 0; at < length; at++) {
        crc ^= frame[at];
        for (int bit = 8; bit; bit--) {
            uint16_t low = crc & 1;
            crc >>= 1;
            if (low)
                crc ^= 0xa001;
        }
    }
    return crc;
}

// Without shifts by table or bit: the algebra of CCITT's polynomial.
uint16_t crc16_ccitt_algebra(uint16_t crc, uint8_t byte) {
    uint8_t x = (uint8_t)(crc >> 8) ^ byte;
    x ^= x >> 4;
    return (uint16_t)((crc << 8) ^ (uint16_t)(x << 12) ^ (uint16_t)(x << 5) ^ x);
}

void crc16_update(uint16_t *crc, const uint8_t *data, size_t count) {
    for (size_t at = 0; at < count; at++)
        *crc = crc16_ccitt_algebra(*crc, data[at]);
}

static const uint16_t nibbles[16] = {
    0x0000, 0xcc01, 0xd801, 0x1400, 0xf001, 0x3c00, 0x2800, 0xe401,
    0xa001, 0x6c00, 0x7800, 0xb401, 0x5000, 0x9c01, 0x8801, 0x4400,
};

uint16_t crc16_nibbles(uint16_t crc, const uint8_t *data, size_t len) {
    while (len--) {
        uint16_t r = nibbles[crc & 15];
        crc = (crc >> 4) ^ r ^ nibbles[*data & 15];
        r = nibbles[crc & 15];
        crc = (crc >> 4) ^ r ^ nibbles[*data++ >> 4];
    }
    return crc;
}

uint32_t crc24_openpgp(const uint8_t *octets, size_t len) {
    uint32_t crc = 0xb704ce;
    while (len--) {
        crc ^= (uint32_t)*octets++ << 16;
        for (int i = 0; i < 8; i++) {
            crc <<= 1;
            if (crc & 0x1000000)
                crc ^= 0x1864cfb;
        }
    }
    return crc & 0xffffff;
}

static uint32_t table32[256];

void crc32_fill(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table32[i] = c;
    }
}

uint32_t crc32_table(uint32_t crc, const void *buffer, size_t size) {
    const uint8_t *p = buffer;
    crc = ~crc;
    while (size--)
        crc = table32[(crc ^ *p++) & 0xff] ^ (crc >> 8);
    return ~crc;
}

static uint32_t lazy[256];
static int ready;

uint32_t crc32_mpeg_lazy(const uint8_t *data, unsigned length) {
    if (!ready) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i << 24;
            for (int k = 0; k < 8; k++)
                c = c & 0x80000000u ? c << 1 ^ 0x04c11db7u : c << 1;
            lazy[i] = c;
        }
        ready = 1;
    }
    uint32_t crc = 0xffffffffu;
    for (unsigned i = 0; i < length; i++)
        crc = crc << 8 ^ lazy[crc >> 24 ^ data[i]];
    return crc;
}

static uint32_t slices[8][256];

void crc32c_slices_fill(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0x82f63b78u ^ (c >> 1) : c >> 1;
        slices[0][i] = c;
    }
    for (int i = 0; i < 256; i++)
        for (int slice = 1; slice < 8; slice++)
            slices[slice][i] = slices[0][slices[slice - 1][i] & 0xff] ^ (slices[slice - 1][i] >> 8);
}

static uint32_t word(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t crc32c_by_four(uint32_t crc, const uint8_t *p, size_t n) {
    crc ^= 0xffffffffu;
    for (; n >= 4; p += 4, n -= 4) {
        crc ^= word(p);
        crc = slices[3][crc & 255] ^ slices[2][crc >> 8 & 255] ^ slices[1][crc >> 16 & 255] ^
              slices[0][crc >> 24];
    }
    while (n--)
        crc = slices[0][(crc ^ *p++) & 255] ^ (crc >> 8);
    return crc ^ 0xffffffffu;
}

uint32_t crc32c_by_eight(const uint8_t *p, size_t n, uint32_t crc) {
    for (; n && (uintptr_t)p & 7; n--)
        crc = slices[0][(crc ^ *p++) & 255] ^ (crc >> 8);
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t low = crc ^ word(p), high = word(p + 4);
        crc = slices[7][low & 255] ^ slices[6][low >> 8 & 255] ^ slices[5][low >> 16 & 255] ^
              slices[4][low >> 24] ^ slices[3][high & 255] ^ slices[2][high >> 8 & 255] ^
              slices[1][high >> 16 & 255] ^ slices[0][high >> 24];
    }
    while (n--)
        crc = slices[0][(crc ^ *p++) & 255] ^ (crc >> 8);
    return crc;
}

uint64_t crc64_xz(const uint8_t *data, size_t len) {
    uint64_t crc = ~0ull;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xc96c5795d7870f42ull : crc >> 1;
    }
    return ~crc;
}

uint64_t crc64_ecma_step(uint64_t crc, uint8_t byte) {
    crc ^= (uint64_t)byte << 56;
    for (int k = 0; k < 8; k++)
        crc = crc >> 63 ? crc << 1 ^ 0x42f0e1eba9ea3693ull : crc << 1;
    return crc;
}

void crc16_table_fill(uint16_t *table) {
    for (int i = 0; i < 256; i++) {
        uint16_t c = (uint16_t)i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x8408 : c >> 1;
        table[i] = c;
    }
}

// The number of the message counts from its end: `stop` is behind the last byte.
uint16_t crc16_range(const uint8_t *start, const uint8_t *stop) {
    uint16_t crc = 0;
    for (; start != stop; start++) {
        crc ^= (uint16_t)(*start << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x8005 : crc << 1);
    }
    return crc;
}

struct frame {
    uint32_t seen;
    uint16_t fcs;
};

void frame_add(struct frame *frame, const uint8_t *data, int len) {
    for (int i = 0; i < len; i++) {
        frame->fcs ^= data[i];
        for (int k = 0; k < 8; k++)
            frame->fcs = frame->fcs & 1 ? frame->fcs >> 1 ^ 0x8408 : frame->fcs >> 1;
        frame->seen++;
    }
}

static uint16_t running;

void running_add(uint8_t byte) {
    running ^= (uint16_t)(byte << 8);
    for (int k = 0; k < 8; k++)
        running = (uint16_t)(running & 0x8000 ? running << 1 ^ 0x1021 : running << 1);
}

// Bit by bit through a register that the message is shifted into, as hardware does it.
uint16_t crc16_shifted(const uint8_t *data, int len) {
    uint16_t crc = 0;
    for (int i = 0; i < len; i++)
        for (int bit = 7; bit >= 0; bit--) {
            int carry = crc >> 15;
            crc = (uint16_t)(crc << 1 | (data[i] >> bit & 1));
            if (carry)
                crc ^= 0x1021;
        }
    return crc;
}

uint8_t crc5_usb(uint16_t token) {
    uint8_t crc = 0x1f;
    for (int i = 0; i < 16; i++) {
        uint8_t bit = (token >> i & 1) ^ (crc & 1);
        crc >>= 1;
        if (bit)
            crc ^= 0x14;
    }
    return crc ^ 0x1f;
}

// The register is kept in memory and returned, too; the caller keeps it to seven bits.
static const uint8_t *crc7_rows(void) {
    static uint8_t rows[256];
    if (!rows[1])
        for (int i = 0; i < 256; i++) {
            unsigned value = (unsigned)i;
            for (int k = 0; k < 8; k++)
                value = (value << 1) ^ (value & 0x80 ? 0x12 : 0);
            rows[i] = (uint8_t)(value & 0xff) >> 1;
        }
    return rows;
}

uint8_t crc7_kept(uint8_t *crc, const uint8_t *data, uint32_t len) {
    const uint8_t *rows = crc7_rows();
    uint8_t value = *crc;
    while (len--)
        value = rows[(value << 1) ^ *data++];
    return *crc = value;
}

uint16_t crc16_ends(uint16_t *crc, const uint8_t *data, uint32_t len) {
    uint16_t value = *crc;
    while (len--) {
        value ^= *data++;
        for (int k = 0; k < 8; k++)
            value = (uint16_t)(value >> 1 ^ (value & 1 ? 0xa001 : 0));
    }
    return *crc = (uint16_t)~value;
}

static uint32_t crc32_register(uint32_t crc, const uint8_t *data, uint32_t len) {
    while (len--) {
        crc ^= *data++;
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return crc;
}

// The bare register is left beside what is returned, and nothing begins with it.
uint32_t crc32_beside(const uint8_t *data, uint32_t len, uint32_t *bare) {
    *bare = crc32_register(~0u, data, len);
    return ~*bare;
}

static uint32_t last_register;

uint32_t crc32_remembered(const uint8_t *data, uint32_t len) {
    last_register = crc32_register(~0u, data, len);
    return ~last_register;
}

// Here the next call begins with it.
uint32_t crc32_continued(uint32_t *bare, const uint8_t *data, uint32_t len) {
    *bare = crc32_register(*bare, data, len);
    return ~*bare;
}

uint16_t crc16_byte_beside(uint16_t crc, uint8_t byte, uint16_t *inverted) {
    crc = crc16_ccitt_algebra(crc, byte);
    *inverted = (uint16_t)~crc;
    return crc;
}
