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
#endif
