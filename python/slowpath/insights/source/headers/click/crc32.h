// CRC of Ethernet frames (IEEE 802.3), bit by bit, without the final complement.
#ifndef SLOWPATH_CLICK_CRC32_H
#define SLOWPATH_CLICK_CRC32_H
#include <click/glue.hh>

SLOWPATH_KEPT inline uint32_t update_crc(uint32_t crc, const char *data, int length) {
    SLOWPATH_LOOP for (int at = 0; at < length; at++) {
        crc ^= (unsigned char) data[at];
        SLOWPATH_LOOP for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return crc;
}
#endif
