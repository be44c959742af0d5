// Replaces the destination of an IPv4 packet, given by an address or its name in AddressInfo.
#include <click/args.hh>
#include <click/etheraddress.hh>

class Named : public Element {
  public:
    const char *class_name() const { return "Named"; }
    const char *port_count() const { return PORTS_1_1; }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh)
            .read_mp("IP", _ip)
            .read_mp("ETH", _eth)
            .read_mp("NET", IPPrefixArg(true), _net, _mask)
            .complete();
    }
    Packet *simple_action(Packet *p) {
        WritablePacket *q = p->uniqueify();
        if (q->length() < 18)
            return q;
        memcpy(q->data(), _eth.data(), 6);
        memcpy(q->data() + 6, &_ip, 4);
        memcpy(q->data() + 10, &_net, 4);
        memcpy(q->data() + 14, &_mask, 4);
        return q;
    }

  private:
    IPAddress _ip, _net, _mask;
    EtherAddress _eth;
};

EXPORT_ELEMENT(Named)
