// An element that lets Click's functions sum, correct and look up; a frame's sum is for no packet.
#include <click/config.h>
#include <click/crc32.h>
#include <click/element.hh>
#include <click/iptable.hh>
#include <clicknet/ip.h>

class Summing : public Element {
  public:
    const char *class_name() const { return "Summing"; }
    const char *port_count() const { return "1/1"; }
    int initialize(ErrorHandler *) {
        _routes.add(IPAddress(htonl(0x0a000000)), IPAddress(htonl(0xff000000)), IPAddress(), 1);
        _routes.add(IPAddress(htonl(0xc0000200)), IPAddress(htonl(0xffffff00)), IPAddress(), 2);
        return 0;
    }
    Packet *simple_action(Packet *p) {
        WritablePacket *q = p->uniqueify();
        click_ip *ip = q->ip_header();
        if (!ip || ip->ip_ttl < 2) {
            q->set_anno_u32(0, update_crc(~0u, (const char *) q->data(), q->length()));
        } else {
            IPAddress gateway;
            int port;
            if (_routes.lookup(IPAddress(ip->ip_dst), gateway, port))
                q->set_anno_u8(0, port);
            uint16_t before = ip->ip_off;
            ip->ip_off |= htons(IP_DF);
            click_update_in_cksum(&ip->ip_sum, before, ip->ip_off);
            q->set_anno_u8(1, click_in_cksum((const unsigned char *) ip, ip->ip_hl << 2) != 0);
        }
        return q;
    }

  private:
    IPTable _routes;
};
EXPORT_ELEMENT(Summing)
