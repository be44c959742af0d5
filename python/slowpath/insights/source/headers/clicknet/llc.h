// IEEE 802.2 logical link control, and the SNAP header behind it.
#ifndef CLICKNET_LLC_H
#define CLICKNET_LLC_H
#include <stdint.h>

struct click_llc {
    uint8_t llc_dsap, llc_ssap;
    union {
        struct { uint8_t control, format_id, _class, window_x2; } type_u;
        struct { uint8_t num_snd_x2, num_rcv_x2; } type_i;
        struct { uint8_t control, num_rcv_x2; } type_s;
        struct { uint8_t control, control_ext; } type_raw;
        struct __attribute__((packed)) {
            uint8_t control, org_code[3];
            uint16_t ether_type;
        } type_snap;
    } llc_un;
} __attribute__((packed));

#define llc_control llc_un.type_u.control
#define llc_control_ext llc_un.type_raw.control_ext
#define llc_fid llc_un.type_u.format_id
#define llc_class llc_un.type_u._class
#define llc_window llc_un.type_u.window_x2

enum { LLC_UFRAMELEN = 3, LLC_ISFRAMELEN = 4 };
// Control fields of unnumbered and supervisory frames.
enum { LLC_UI = 0x03, LLC_DISC = 0x43, LLC_UA = 0x63, LLC_TEST = 0xe3, LLC_DM = 0x0f };
enum { LLC_XID = 0xaf, LLC_SABME = 0x6f, LLC_RR = 1, LLC_RNR = 5, LLC_REJ = 9 };
// Service access points.
enum { LLC_IP_LSAP = 0x06, LLC_X25_LSAP = 0x7e, LLC_SNAP_LSAP = 0xaa, LLC_ISO_LSAP = 0xfe };
#endif
