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
#define REV_RATE_ANNO_OFFSET 28
#define REV_RATE_ANNO(p) ((p)->anno_s32(REV_RATE_ANNO_OFFSET))
#define SET_REV_RATE_ANNO(p, x) ((p)->set_anno_s32(REV_RATE_ANNO_OFFSET, (x)))
#define EXTRA_PACKETS_ANNO_OFFSET 24
#define EXTRA_PACKETS_ANNO(p) ((p)->anno_u32(EXTRA_PACKETS_ANNO_OFFSET))
#define SET_EXTRA_PACKETS_ANNO(p, x) ((p)->set_anno_u32(EXTRA_PACKETS_ANNO_OFFSET, (x)))
#define FIRST_TIMESTAMP_ANNO_OFFSET 32
#define FIRST_TIMESTAMP_ANNO(p) (*(Timestamp *) ((p)->anno() + FIRST_TIMESTAMP_ANNO_OFFSET))
#define CONST_FIRST_TIMESTAMP_ANNO(p)                                                            \
    (*(const Timestamp *) ((p)->anno() + FIRST_TIMESTAMP_ANNO_OFFSET))
#define SET_FIRST_TIMESTAMP_ANNO(p, x) (FIRST_TIMESTAMP_ANNO(p) = (x))
#define SEQUENCE_NUMBER_ANNO_OFFSET 40
#define SEQUENCE_NUMBER_ANNO(p) ((p)->anno_u32(SEQUENCE_NUMBER_ANNO_OFFSET))
#define SET_SEQUENCE_NUMBER_ANNO(p, x) ((p)->set_anno_u32(SEQUENCE_NUMBER_ANNO_OFFSET, (x)))
#define PACKET_NUMBER_ANNO_OFFSET 40
#define PACKET_NUMBER_ANNO(p) ((p)->anno_u64(PACKET_NUMBER_ANNO_OFFSET))
#define SET_PACKET_NUMBER_ANNO(p, x) ((p)->set_anno_u64(PACKET_NUMBER_ANNO_OFFSET, (x)))
#define ICMP_PARAMPROB_ANNO_OFFSET 19
#define ICMP_PARAMPROB_ANNO(p) ((p)->anno_u8(ICMP_PARAMPROB_ANNO_OFFSET))
#define SET_ICMP_PARAMPROB_ANNO(p, x) ((p)->set_anno_u8(ICMP_PARAMPROB_ANNO_OFFSET, (x)))
#define DST_IP6_ANNO_OFFSET 0
#define DST_IP6_ANNO_SIZE 16
#define DST_IP_ANNO_SIZE 4
#define PAINT_ANNO_SIZE 1
#define PAINT2_ANNO_OFFSET 16
#define PAINT2_ANNO_SIZE 2
#define PAINT2_ANNO(p) ((p)->anno_u16(PAINT2_ANNO_OFFSET))
#define SET_PAINT2_ANNO(p, x) ((p)->set_anno_u16(PAINT2_ANNO_OFFSET, (x)))
#define IP6_NXT_ANNO_OFFSET 16
#define IP6_NXT_ANNO(p) ((p)->anno_u8(IP6_NXT_ANNO_OFFSET))
#define SET_IP6_NXT_ANNO(p, x) ((p)->set_anno_u8(IP6_NXT_ANNO_OFFSET, (x)))
#define AGGREGATE_ANNO_SIZE 4
#define VLAN_TCI_ANNO_SIZE 2
#define WIFI_EXTRA_ANNO_OFFSET 16
#define WIFI_EXTRA_ANNO_SIZE 24
#define WIFI_EXTRA_ANNO(p)                                                                       \
    ((struct click_wifi_extra *) ((p)->anno_u8() + WIFI_EXTRA_ANNO_OFFSET))
#define MISC_IP_ANNO_OFFSET 20
#define MISC_IP_ANNO(p) ((p)->anno_u32(MISC_IP_ANNO_OFFSET))
#define SET_MISC_IP_ANNO(p, x) ((p)->set_anno_u32(MISC_IP_ANNO_OFFSET, (x).addr()))
#define SEND_ERR_ANNO_OFFSET 26
#define SEND_ERR_ANNO(p) ((p)->anno_u8(SEND_ERR_ANNO_OFFSET))
#define SET_SEND_ERR_ANNO(p, x) ((p)->set_anno_u8(SEND_ERR_ANNO_OFFSET, (x)))
#define GRID_ROUTE_CB_ANNO_OFFSET 27
#define GRID_ROUTE_CB_ANNO(p) ((p)->anno_u8(GRID_ROUTE_CB_ANNO_OFFSET))
#define SET_GRID_ROUTE_CB_ANNO(p, x) ((p)->set_anno_u8(GRID_ROUTE_CB_ANNO_OFFSET, (x)))
#define FLOW_ID_ANNO_OFFSET 32
#define FLOW_ID_ANNO(p) ((p)->anno_u32(FLOW_ID_ANNO_OFFSET))
#define SET_FLOW_ID_ANNO(p, x) ((p)->set_anno_u32(FLOW_ID_ANNO_OFFSET, (x)))
#define IPSEC_SPI_ANNO_OFFSET 32
#define IPSEC_SPI_ANNO(p) ((p)->anno_u32(IPSEC_SPI_ANNO_OFFSET))
#define SET_IPSEC_SPI_ANNO(p, x) ((p)->set_anno_u32(IPSEC_SPI_ANNO_OFFSET, (x)))
#define IPSEC_SA_DATA_REFERENCE_ANNO_OFFSET 40
#define IPSEC_SA_DATA_REFERENCE_ANNO(p) ((p)->anno_u64(IPSEC_SA_DATA_REFERENCE_ANNO_OFFSET))
#define SET_IPSEC_SA_DATA_REFERENCE_ANNO(p, x)                                                   \
    ((p)->set_anno_u64(IPSEC_SA_DATA_REFERENCE_ANNO_OFFSET, (x)))
#define PERFCTR_ANNO_OFFSET 40
#define PERFCTR_ANNO(p) ((p)->anno_u64(PERFCTR_ANNO_OFFSET))
#define SET_PERFCTR_ANNO(p, x) ((p)->set_anno_u64(PERFCTR_ANNO_OFFSET, (x)))
#define IPREASSEMBLER_ANNO_OFFSET 40
#define IPREASSEMBLER_ANNO_SIZE 4

// Encodes offset and size of an annotation in one number.
#define MAKE_ANNOTATIONINFO(offset, size) ((size) << 16 | (offset))
#define ANNOTATIONINFO_SIZE(x) ((x) >> 16 & 0xffff)
#define ANNOTATIONINFO_OFFSET(x) ((x) & 0xffff)
#endif
