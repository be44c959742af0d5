// Frames of IEEE 802.11, and Click's annotations of them. Numbers are from the standard (frame
// control 9.2.4.1, capabilities 9.4.1.4, reasons 9.4.1.7, status 9.4.1.9, elements 9.4.2.1).
#ifndef CLICKNET_WIFI_H
#define CLICKNET_WIFI_H
#include <stdint.h>

enum { WIFI_ADDR_LEN = 6, WIFI_NWID_LEN = 32, WIFI_NWID_MAXSIZE = 32, WIFI_RATES_MAXSIZE = 15 };

struct click_wifi {
    uint8_t i_fc[2];
    uint16_t i_dur;
    uint8_t i_addr1[WIFI_ADDR_LEN], i_addr2[WIFI_ADDR_LEN], i_addr3[WIFI_ADDR_LEN];
    uint16_t i_seq;
} __attribute__((packed));

// First byte of frame control: version, type, subtype.
#define SLOWPATH_WIFI(subtype) ((subtype) << 4)
enum { WIFI_FC0_VERSION_MASK = 3, WIFI_FC0_VERSION_0 = 0, WIFI_FC0_TYPE_MASK = 3 << 2 };
enum { WIFI_FC0_TYPE_MGT = 0 << 2, WIFI_FC0_TYPE_CTL = 1 << 2, WIFI_FC0_TYPE_DATA = 2 << 2 };
enum {
    WIFI_FC0_SUBTYPE_MASK = SLOWPATH_WIFI(15),
    WIFI_FC0_SUBTYPE_ASSOC_REQ = SLOWPATH_WIFI(0),
    WIFI_FC0_SUBTYPE_ASSOC_RESP = SLOWPATH_WIFI(1),
    WIFI_FC0_SUBTYPE_REASSOC_REQ = SLOWPATH_WIFI(2),
    WIFI_FC0_SUBTYPE_REASSOC_RESP = SLOWPATH_WIFI(3),
    WIFI_FC0_SUBTYPE_PROBE_REQ = SLOWPATH_WIFI(4),
    WIFI_FC0_SUBTYPE_PROBE_RESP = SLOWPATH_WIFI(5),
    WIFI_FC0_SUBTYPE_BEACON = SLOWPATH_WIFI(8),
    WIFI_FC0_SUBTYPE_ATIM = SLOWPATH_WIFI(9),
    WIFI_FC0_SUBTYPE_DISASSOC = SLOWPATH_WIFI(10),
    WIFI_FC0_SUBTYPE_AUTH = SLOWPATH_WIFI(11),
    WIFI_FC0_SUBTYPE_DEAUTH = SLOWPATH_WIFI(12)
};
enum {  // of control frames
    WIFI_FC0_SUBTYPE_PS_POLL = SLOWPATH_WIFI(10),
    WIFI_FC0_SUBTYPE_RTS = SLOWPATH_WIFI(11),
    WIFI_FC0_SUBTYPE_CTS = SLOWPATH_WIFI(12),
    WIFI_FC0_SUBTYPE_ACK = SLOWPATH_WIFI(13),
    WIFI_FC0_SUBTYPE_CF_END = SLOWPATH_WIFI(14),
    WIFI_FC0_SUBTYPE_CF_END_ACK = SLOWPATH_WIFI(15)
};
enum {  // of data frames
    WIFI_FC0_SUBTYPE_DATA = SLOWPATH_WIFI(0),
    WIFI_FC0_SUBTYPE_CF_ACK = SLOWPATH_WIFI(1),
    WIFI_FC0_SUBTYPE_CF_POLL = SLOWPATH_WIFI(2),
    WIFI_FC0_SUBTYPE_CF_ACPL = SLOWPATH_WIFI(3),
    WIFI_FC0_SUBTYPE_NODATA = SLOWPATH_WIFI(4),
    WIFI_FC0_SUBTYPE_CFACK = SLOWPATH_WIFI(5),
    WIFI_FC0_SUBTYPE_CFPOLL = SLOWPATH_WIFI(6),
    WIFI_FC0_SUBTYPE_CF_ACK_CF_ACK = SLOWPATH_WIFI(7),
    WIFI_FC0_SUBTYPE_QOS = SLOWPATH_WIFI(8),
    WIFI_FC0_SUBTYPE_QOS_NULL = SLOWPATH_WIFI(12)
};
// Second byte of frame control: direction, flags.
enum { WIFI_FC1_DIR_MASK = 3, WIFI_FC1_DIR_NODS = 0, WIFI_FC1_DIR_TODS = 1 };
enum { WIFI_FC1_DIR_FROMDS = 2, WIFI_FC1_DIR_DSTODS = 3, WIFI_FC1_MORE_FRAG = 1 << 2 };
enum { WIFI_FC1_RETRY = 1 << 3, WIFI_FC1_PWR_MGT = 1 << 4, WIFI_FC1_MORE_DATA = 1 << 5 };
enum { WIFI_FC1_WEP = 1 << 6, WIFI_FC1_ORDER = 1 << 7 };
enum { WIFI_SEQ_FRAG_MASK = 0xf, WIFI_SEQ_FRAG_SHIFT = 0 };
enum { WIFI_SEQ_SEQ_MASK = 0xfff0, WIFI_SEQ_SEQ_SHIFT = 4 };
#define WIFI_QOS_HAS_SEQ(frame)                                                                  \
    (((frame)->i_fc[0] & (WIFI_FC0_TYPE_MASK | WIFI_FC0_SUBTYPE_QOS)) ==                         \
     (WIFI_FC0_TYPE_DATA | WIFI_FC0_SUBTYPE_QOS))

// Management frames: fields are bytes in little-endian order.
typedef uint8_t *wifi_mgt_beacon_t;
typedef uint8_t *wifi_mgt_auth_t;
#define SLOWPATH_WIFI_FIELD(bytes, at) ((bytes)[at] + ((bytes)[(at) + 1] << 8))
#define WIFI_BEACON_INTERVAL(beacon) SLOWPATH_WIFI_FIELD(beacon, 8)
#define WIFI_BEACON_CAPABILITY(beacon) SLOWPATH_WIFI_FIELD(beacon, 10)
#define WIFI_AUTH_ALGORITHM(auth) SLOWPATH_WIFI_FIELD(auth, 0)
#define WIFI_AUTH_TRANSACTION(auth) SLOWPATH_WIFI_FIELD(auth, 2)
#define WIFI_AUTH_STATUS(auth) SLOWPATH_WIFI_FIELD(auth, 4)
enum { WIFI_CAPINFO_ESS = 1, WIFI_CAPINFO_IBSS = 2, WIFI_CAPINFO_CF_POLLABLE = 4 };
enum { WIFI_CAPINFO_CF_POLLREQ = 8, WIFI_CAPINFO_PRIVACY = 16 };
enum { WIFI_ELEMID_SSID, WIFI_ELEMID_RATES, WIFI_ELEMID_FHPARMS, WIFI_ELEMID_DSPARMS };
enum { WIFI_ELEMID_CFPARMS = 4, WIFI_ELEMID_TIM = 5, WIFI_ELEMID_IBSSPARMS = 6 };
enum { WIFI_ELEMID_CHALLENGE = 16, WIFI_ELEMID_ERP = 42, WIFI_ELEMID_XRATES = 50 };
enum { WIFI_ELEMID_VENDOR = 221, WIFI_MAX_RETRIES = 11 };
enum { WIFI_AUTH_ALG_OPEN = 0, WIFI_AUTH_ALG_SHARED = 1, WIFI_AUTH_OPEN_REQUEST = 1 };
enum { WIFI_AUTH_OPEN_RESPONSE = 2, WIFI_AUTH_SHARED_REQUEST = 1 };
enum { WIFI_AUTH_SHARED_CHALLENGE = 2, WIFI_AUTH_SHARED_RESPONSE = 3, WIFI_AUTH_SHARED_PASS };
enum { WIFI_REASON_UNSPECIFIED = 1, WIFI_REASON_AUTH_EXPIRE = 2, WIFI_REASON_AUTH_LEAVE = 3 };
enum { WIFI_REASON_ASSOC_EXPIRE = 4, WIFI_REASON_ASSOC_TOOMANY = 5, WIFI_REASON_NOT_AUTHED };
enum { WIFI_REASON_NOT_ASSOCED = 7, WIFI_REASON_ASSOC_LEAVE, WIFI_REASON_ASSOC_NOT_AUTHED };
enum { WIFI_STATUS_SUCCESS = 0, WIFI_STATUS_UNSPECIFIED = 1, WIFI_STATUS_CAPINFO = 10 };
enum { WIFI_STATUS_NOT_ASSOCED = 11, WIFI_STATUS_OTHER, WIFI_STATUS_ALG, WIFI_STATUS_SEQUENCE };
enum { WIFI_STATUS_CHALLENGE = 15, WIFI_STATUS_TIMEOUT = 16, WIFI_STATUS_BASIC_RATES = 18 };
enum { WIFI_STATUS_TOO_MANY_STATIONS = 22, WIFI_STATUS_RATES = 23 };
enum { WIFI_STATUS_SHORTSLOT_REQUIRED = 25 };
// Rates are multiples of 500 kbit/s; those with the high bit are mandatory.
enum { WIFI_RATE_BASIC = 0x80, WIFI_RATE_VAL = 0x7f, WIFI_RATE_SIZE = 8 };
#define is_b_rate(rate) ((rate) == 2 || (rate) == 4 || (rate) == 11 || (rate) == 22)

// WEP.
enum { WIFI_WEP_KEYLEN = 5, WIFI_WEP_IVLEN = 3, WIFI_WEP_KIDLEN = 1, WIFI_WEP_CRCLEN = 4 };
enum { WIFI_WEP_NKID = 4, WIFI_WEP_HEADERSIZE = WIFI_WEP_IVLEN + WIFI_WEP_KIDLEN };
enum { WIFI_KEYBUF_SIZE = 16, WIFI_MICBUF_SIZE = 16 };

// Times of 802.11b and 802.11a in microseconds, contention windows in slots.
enum { WIFI_SLOT_B = 20, WIFI_SIFS_B = 10, WIFI_DIFS_B = 50, WIFI_ACK_B = 304 };
enum { WIFI_PLCP_HEADER_LONG_B = 192, WIFI_PLCP_HEADER_SHORT_B = 192 };
enum { WIFI_SLOT_A = 9, WIFI_SIFS_A = 9, WIFI_DIFS_A = 28, WIFI_ACK_A = 30 };
enum { WIFI_PLCP_HEADER_A = 20, WIFI_CW_MIN = 31, WIFI_CW_MAX = 1023 };

#define WIFI_MAX(a, b) ((a) > (b) ? (a) : (b))
#define WIFI_MIN(a, b) ((a) < (b) ? (a) : (b))
// LLC and SNAP headers in front of an EtherType.
#define WIFI_LLC_HEADER ((const uint8_t *) "\xaa\xaa\x03\0\0")
#define WIFI_LLC_HEADER_LEN 6

// Annotations: measurements of the radio, and how to send the frame.
enum { WIFI_EXTRA_MAGIC = 0x7492001 };
enum { WIFI_EXTRA_TX = 1, WIFI_EXTRA_TX_FAIL = 2, WIFI_EXTRA_TX_USED_ALT_RATE = 4 };
enum { WIFI_EXTRA_RX_ERR = 8, WIFI_EXTRA_RX_MORE = 16, WIFI_EXTRA_NO_SEQ = 32 };
enum { WIFI_EXTRA_NO_TXF = 64, WIFI_EXTRA_DO_RTS_CTS = 128, WIFI_EXTRA_DO_CTS = 256 };
enum { WIFI_EXTRA_TX_NOACK = 512 };
struct click_wifi_extra {
    uint32_t magic, flags;
    uint8_t rssi, silence, power, pad;
    uint8_t rate, rate1, rate2, rate3;
    uint8_t max_tries, max_tries1, max_tries2, max_tries3;
    uint8_t virt_col, retries;
    uint16_t len;
} __attribute__((packed));
#endif
