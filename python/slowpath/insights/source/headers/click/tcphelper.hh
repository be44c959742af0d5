// FastClick's helper functions for TCP headers (RFC 9293).
#ifndef SLOWPATH_CLICK_TCPHELPER_HH
#define SLOWPATH_CLICK_TCPHELPER_HH
#include <click/iphelper.hh>
#include <click/ipflowid.hh>

class TCPHelper : public IPHelper {
  public:
    static tcp_seq_t getSequenceNumber(Packet *p) { return ntohl(p->tcp_header()->th_seq); }
    static tcp_seq_t getAckNumber(Packet *p) { return ntohl(p->tcp_header()->th_ack); }
    tcp_seq_t getNextSequenceNumber(Packet *p) const {
        return getSequenceNumber(p) + getPayloadLength(p) + (isSyn(p) || isFin(p));
    }
    uint16_t getSourcePort(Packet *p) const { return ntohs(p->tcp_header()->th_sport); }
    uint16_t getDestinationPort(Packet *p) const { return ntohs(p->tcp_header()->th_dport); }
    uint16_t getWindowSize(Packet *p) const { return ntohs(p->tcp_header()->th_win); }
    uint8_t getFlags(Packet *p) const { return p->tcp_header()->th_flags; }
    static bool isTCP(Packet *p) { return p->ip_header()->ip_p == 6; }
    static bool checkFlag(Packet *p, uint8_t flag) { return p->tcp_header()->th_flags & flag; }
    static bool isSyn(Packet *p) { return checkFlag(p, TH_SYN); }
    static bool isFin(Packet *p) { return checkFlag(p, TH_FIN); }
    static bool isRst(Packet *p) { return checkFlag(p, TH_RST); }
    static bool isAck(Packet *p) { return checkFlag(p, TH_ACK); }
    static bool isJustAnAck(Packet *p, const bool or_fin = false) {
        uint8_t flags = p->tcp_header()->th_flags & ~(or_fin ? TH_FIN : 0);
        return flags == TH_ACK && !getPayloadLength(p);
    }
    static unsigned getPayloadLength(Packet *p) {
        const click_ip *ip = p->ip_header();
        return ntohs(ip->ip_len) - 4 * ip->ip_hl - 4 * p->tcp_header()->th_off;
    }
    unsigned char *getPayload(WritablePacket *p) const {
        return p->transport_header() + 4 * p->tcp_header()->th_off;
    }
    const unsigned char *getPayloadConst(Packet *p) const {
        return p->transport_header() + 4 * p->tcp_header()->th_off;
    }
    uint16_t getPayloadOffset(Packet *p) const { return getPayloadConst(p) - p->data(); }
    void setPayload(WritablePacket *p, const unsigned char *bytes, uint32_t length) const {
        memcpy(getPayload(p), bytes, length);
    }
    void setWindowSize(WritablePacket *p, uint16_t size) const {
        p->tcp_header()->th_win = htons(size);
    }
    void setSequenceNumber(WritablePacket *p, tcp_seq_t x) const {
        p->tcp_header()->th_seq = htonl(x);
    }
    void setAckNumber(WritablePacket *p, tcp_seq_t x) const { p->tcp_header()->th_ack = htonl(x); }
    static void computeTCPChecksum(WritablePacket *p) {
        click_ip *ip = p->ip_header();
        click_tcp *tcp = p->tcp_header();
        unsigned length = ntohs(ip->ip_len) - 4 * ip->ip_hl;
        tcp->th_sum = 0;
        unsigned sum = click_in_cksum((const unsigned char *) tcp, length);
        tcp->th_sum = click_in_cksum_pseudohdr(sum, ip, length);
    }
    static void resetTCPChecksum(WritablePacket *p) { computeTCPChecksum(p); }
};
#endif
