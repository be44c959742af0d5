// An element of our own that makes an ARP reply, an ICMP error, and an IPv6 packet for each packet of
// IPv4, and looks at them again.
#include <click/config.h>
#include <click/args.hh>
#include <click/element.hh>
#include <click/ip6address.hh>
#include <click/packet_anno.hh>
#include <click/straccum.hh>

class Answers : public Element {
  public:
    const char *class_name() const { return "Answers"; }
    const char *port_count() const { return "1/3"; }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh)
            .read_mp("ADDR", _address)
            .read_mp("ADDR6", _address6)
            .read_mp("ETH", _ethernet)
            .complete();
    }
    Packet *arp() {
        WritablePacket *q = Packet::make(sizeof(click_ether) + sizeof(click_ether_arp));
        click_ether *frame = (click_ether *) q->data();
        q->set_ether_header(frame);
        memcpy(frame->ether_shost, _ethernet.data(), 6);
        memcpy(frame->ether_dhost, EtherAddress::make_broadcast().data(), 6);
        frame->ether_type = htons(ETHERTYPE_ARP);
        click_ether_arp *reply = (click_ether_arp *) (frame + 1);
        reply->ea_hdr.ar_op = htons(ARPOP_REPLY);
        memcpy(reply->arp_spa, &_address, 4);
        return q;
    }
    Packet *icmp(Packet *p) {
        WritablePacket *q = Packet::make(sizeof(click_ip) + sizeof(click_icmp_needfrag) + 28);
        click_ip *ip = (click_ip *) q->data();
        q->set_ip_header(ip, sizeof(click_ip));
        ip->ip_src = _address;
        ip->ip_dst = p->ip_header()->ip_src;
        click_icmp_needfrag *error = (click_icmp_needfrag *) (ip + 1);
        memset(error, 0, sizeof *error);
        error->icmp_type = ICMP_UNREACH;
        error->icmp_code = ICMP_UNREACH_NEEDFRAG;
        error->icmp_nextmtu = htons(1280);
        memcpy(error + 1, p->ip_header(), 28);
        error->icmp_cksum = click_in_cksum((unsigned char *) error, sizeof *error + 28);
        SET_ICMP_PARAMPROB_ANNO(q, 4);
        q->copy_annotations(p);
        return q;
    }
    Packet *ip6(Packet *p) {
        WritablePacket *q = Packet::make(sizeof(click_ip6) + 8);
        click_ip6 *ip = (click_ip6 *) q->data();
        memset(ip, 0, sizeof *ip + 8);
        ip->ip6_flow = htonl(6u << 28);
        ip->ip6_plen = htons(8);
        ip->ip6_nxt = IP_PROTO_UDP;
        ip->ip6_src = _address6;
        ip->ip6_dst = IP6Address(p->ip_header()->ip_src);
        q->set_ip6_header(ip);
        q->udp_header()->uh_sum = htons(in6_fast_cksum(&ip->ip6_src, &ip->ip6_dst, ip->ip6_plen,
                                                       ip->ip6_nxt, 0, q->transport_header(),
                                                       ip->ip6_plen));
        SET_DST_IP6_ANNO(q, IP6Address(ip->ip6_dst));
        return q;
    }
    // What was made is looked at again: 0 where it is what it should be.
    int check(Packet *p) {
        Packet *made[3] = {arp(), icmp(p), ip6(p)};
        int wrong = 0;
        wrong |= made[0]->length() != 42 || made[0]->data()[21] != 2
                 || memcmp(made[0]->data() + 28, &_address, 4) != 0;
        const click_icmp *error = made[1]->icmp_header();
        wrong |= (click_in_cksum((const unsigned char *) error, 36) != 0) << 1;
        wrong |= (made[1]->timestamp_anno() != p->timestamp_anno()) << 2;
        wrong |= (made[2]->ip6_header()->ip6_v != 6) << 3;
        wrong |= (DST_IP6_ANNO(made[2]).data()[12] != p->ip_header()->ip_src.s_addr % 256) << 4;
        wrong |= (IP6Address("2001:db8::1") != _address6) << 5;
        StringAccum text;
        text << _address << '/' << _ethernet << '/' << _address6;
        wrong |= (text.take_string() != "192.0.2.1/02-00-00-00-00-01/2001:db8::1") << 6;
        wrong |= (click_icmp_hl(ICMP_TSTAMP) != 20 || click_icmp_hl(ICMP_ECHO) != 8) << 7;
        for (int at = 0; at < 3; at++)
            output(at).push(made[at]);
        p->kill();
        return wrong;
    }
    void push(int, Packet *p) { check(p); }

  private:
    IPAddress _address;
    IP6Address _address6;
    EtherAddress _ethernet;
};
EXPORT_ELEMENT(Answers)
