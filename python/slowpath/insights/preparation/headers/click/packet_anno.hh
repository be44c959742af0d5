// Names of annotations.
#ifndef SLOWPATH_CLICK_PACKET_ANNO_HH
#define SLOWPATH_CLICK_PACKET_ANNO_HH
#include <click/packet.hh>

#define DST_IP_ANNO_OFFSET 0
#define DST_IP_ANNO(p) ((p)->anno_u32(DST_IP_ANNO_OFFSET))
#define SET_DST_IP_ANNO(p, x) ((p)->set_anno_u32(DST_IP_ANNO_OFFSET, (x)))
#define PAINT_ANNO_OFFSET 16
#define PAINT_ANNO(p) ((p)->anno_u8(PAINT_ANNO_OFFSET))
#define SET_PAINT_ANNO(p, x) ((p)->set_anno_u8(PAINT_ANNO_OFFSET, (x)))
#define AGGREGATE_ANNO_OFFSET 20
#define AGGREGATE_ANNO(p) ((p)->anno_u32(AGGREGATE_ANNO_OFFSET))
#define SET_AGGREGATE_ANNO(p, x) ((p)->set_anno_u32(AGGREGATE_ANNO_OFFSET, (x)))
#define VLAN_TCI_ANNO_OFFSET 18
#define VLAN_TCI_ANNO(p) ((p)->anno_u16(VLAN_TCI_ANNO_OFFSET))
#define SET_VLAN_TCI_ANNO(p, x) ((p)->set_anno_u16(VLAN_TCI_ANNO_OFFSET, (x)))
#define FIX_IP_SRC_ANNO_OFFSET 17
#define FIX_IP_SRC_ANNO(p) ((p)->anno_u8(FIX_IP_SRC_ANNO_OFFSET))
#define SET_FIX_IP_SRC_ANNO(p, x) ((p)->set_anno_u8(FIX_IP_SRC_ANNO_OFFSET, (x)))
#define FWD_RATE_ANNO_OFFSET 24
#define FWD_RATE_ANNO(p) ((p)->anno_s32(FWD_RATE_ANNO_OFFSET))
#define SET_FWD_RATE_ANNO(p, x) ((p)->set_anno_s32(FWD_RATE_ANNO_OFFSET, (x)))
#define EXTRA_LENGTH_ANNO_OFFSET 28
#define EXTRA_LENGTH_ANNO(p) ((p)->anno_u32(EXTRA_LENGTH_ANNO_OFFSET))
#define SET_EXTRA_LENGTH_ANNO(p, x) ((p)->set_anno_u32(EXTRA_LENGTH_ANNO_OFFSET, (x)))
#endif
