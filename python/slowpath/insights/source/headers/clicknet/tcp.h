// The header of TCP (RFC 9293), and its options (also RFC 7323, RFC 2018).
#ifndef SLOWPATH_CLICKNET_TCP_H
#define SLOWPATH_CLICKNET_TCP_H
#include <stdint.h>

typedef uint32_t tcp_seq_t;

struct click_tcp {
    uint16_t th_sport;
    uint16_t th_dport;
    tcp_seq_t th_seq;
    tcp_seq_t th_ack;
    unsigned th_flags2 : 4;
    unsigned th_off : 4;
    uint8_t th_flags;
    uint16_t th_win;
    uint16_t th_sum;
    uint16_t th_urp;
} __attribute__((packed, aligned(2)));

#define TH_FIN 0x01
#define TH_SYN 0x02
#define TH_RST 0x04
#define TH_PUSH 0x08
#define TH_ACK 0x10
#define TH_URG 0x20
#define TH_ECE 0x40
#define TH_CWR 0x80
#define TCPOPT_EOL 0
#define TCPOPT_NOP 1
#define TCPOPT_MAXSEG 2
#define TCPOLEN_MAXSEG 4
#define TCPOPT_WSCALE 3
#define TCPOLEN_WSCALE 3
#define TCPOPT_SACK_PERMITTED 4
#define TCPOLEN_SACK_PERMITTED 2
#define TCPOPT_SACK 5
#define TCPOPT_TIMESTAMP 8
#define TCPOLEN_TIMESTAMP 10
#define SEQ_LT(x, y) ((int) ((x) - (y)) < 0)
#define SEQ_LEQ(x, y) ((int) ((x) - (y)) <= 0)
#define SEQ_GT(x, y) ((int) ((x) - (y)) > 0)
#define SEQ_GEQ(x, y) ((int) ((x) - (y)) >= 0)
#endif
