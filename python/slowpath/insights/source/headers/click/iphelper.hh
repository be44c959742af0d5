// FastClick's helper functions for IPv4 headers.
#ifndef SLOWPATH_CLICK_IPHELPER_HH
#define SLOWPATH_CLICK_IPHELPER_HH
#include <click/packet.hh>

class IPHelper {
  public:
    uint16_t packetTotalLength(Packet *p) const { return ntohs(p->ip_header()->ip_len); }
    uint16_t getIPHeaderOffset(Packet *p) const { return p->ip_header_offset(); }
    void setPacketTotalLength(WritablePacket *p, unsigned length) const {
        p->ip_header()->ip_len = htons(length);
    }
    uint32_t getSourceAddress(Packet *p) const { return p->ip_header()->ip_src.s_addr; }
    uint32_t getDestinationAddress(Packet *p) const { return p->ip_header()->ip_dst.s_addr; }
    void computeIPChecksum(WritablePacket *p) const {
        click_ip *ip = p->ip_header();
        ip->ip_sum = 0;
        ip->ip_sum = click_in_cksum((const unsigned char *) ip, 4 * ip->ip_hl);
    }
    // Rewrites the source (shift 0) or destination (shift 1) of a packet, and its checksums (RFC
    // 1624).
    void rewrite_ipport(WritablePacket *p, IPAddress address, uint16_t port, int shift, bool tcp) {
        uint8_t *at = (uint8_t *) p->ip_header() + 12 + 4 * shift;
        uint16_t before[3], after[3], *ports = (uint16_t *) p->transport_header() + shift;
        memcpy(before, at, 4);
        before[2] = *ports;
        uint32_t word = address.addr();
        memcpy(at, &word, 4);
        *ports = port;
        memcpy(after, at, 4);
        after[2] = port;
        uint16_t *sum = tcp ? &p->tcp_header()->th_sum : &p->udp_header()->uh_sum;
        for (int of = 0; of < 3; of++) {
            if (of < 2)
                click_update_in_cksum(&p->ip_header()->ip_sum, before[of], after[of]);
            click_update_in_cksum(sum, before[of], after[of]);
        }
    }
};
#endif
