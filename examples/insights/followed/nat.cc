// ../nat.cc with the advice of the report followed: the struct and the variables of the element in the
// order that it gives, sums corrected by the engine; nat.json beside it says where state stands.
#include <click/config.h>
#include <click/args.hh>
#include <click/element.hh>
#include <click/hashmap.hh>
#include <click/ipflowid.hh>
#include <nic/engine.h>
CLICK_DECLS

struct Mapping {
    uint64_t packets;
    uint64_t last_seen;
    uint64_t bytes;
    IPAddress inside;
    uint16_t inside_port;
    uint16_t public_port;
    uint64_t created;
    uint8_t protocol;
    uint8_t closing;
};
static_assert(sizeof(Mapping) == 48, "Mapping has another size");

class NAT : public Element {
  public:
    NAT() : _first(1024), _ports(4096), _next(0), _translated(0), _dropped(0) {}
    const char *class_name() const { return "NAT"; }
    const char *port_count() const { return "2/2"; }
    const char *processing() const { return PUSH; }

    int configure(Vector<String> &conf, ErrorHandler *errh);
    void push(int port, Packet *p);

  private:
    bool outwards(WritablePacket *p);
    bool inwards(WritablePacket *p);
    Mapping *open(const IPFlowID &flow, uint8_t protocol);

    uint16_t _first;
    uint16_t _ports;
    uint16_t _next;
    uint64_t _translated;
    uint64_t _dropped;
    IPAddress _network;
    IPAddress _mask;
    IPAddress _public;
    HashMap<IPFlowID, uint16_t> _flows;
    Mapping _mappings[4096];
};

int NAT::configure(Vector<String> &conf, ErrorHandler *errh) {
    if (Args(conf, this, errh)
            .read_mp("PUBLIC", _public)
            .read_mp("NETWORK", _network)
            .read_mp("MASK", _mask)
            .read("FIRST", _first)
            .complete() < 0)
        return -1;
    if (_first > 65535 - _ports)
        return errh->error("FIRST is too large");
    return 0;
}

void NAT::push(int, Packet *packet) {
    WritablePacket *p = packet->uniqueify();
    if (!p->has_network_header()
        || (p->ip_header()->ip_p != IP_PROTO_TCP && p->ip_header()->ip_p != IP_PROTO_UDP)) {
        _dropped++;
        p->kill();
        return;
    }
    bool leaves = IPAddress(p->ip_header()->ip_src).matches_prefix(_network, _mask);
    bool known = leaves ? outwards(p) : inwards(p);
    if (!known) {
        _dropped++;
        p->kill();
        return;
    }
    _translated++;
    output(leaves ? 0 : 1).push(p);
}

Mapping *NAT::open(const IPFlowID &flow, uint8_t protocol) {
    for (int tries = 0; tries < 16; tries++) {
        Mapping *found = &_mappings[_next];
        uint16_t port = _first + _next;
        _next = (_next + 1) % _ports;
        if (found->public_port)
            continue;
        if (!_flows.insert(flow, port))
            return 0;
        found->created = Timestamp::now().usecval();
        found->inside = flow.saddr();
        found->inside_port = flow.sport();
        found->public_port = htons(port);
        found->packets = 0;
        found->bytes = 0;
        found->protocol = protocol;
        found->closing = 0;
        return found;
    }
    return 0;
}

bool NAT::outwards(WritablePacket *p) {
    click_ip *ip = p->ip_header();
    IPFlowID flow(p);
    uint16_t *port = _flows.findp(flow);
    Mapping *found = port ? &_mappings[*port - _first] : open(flow, ip->ip_p);
    if (!found)
        return false;
    found->packets++;
    found->bytes += p->length();
    found->last_seen = Timestamp::now().usecval();
    nic_engine_correct_checksum(&ip->ip_sum, ip->ip_src.s_addr, _public.addr());
    ip->ip_src = _public.in_addr();
    p->udp_header()->uh_sport = found->public_port;
    if (ip->ip_p == IP_PROTO_TCP && p->tcp_header()->th_flags & (TH_FIN | TH_RST))
        found->closing = 1;
    return true;
}

bool NAT::inwards(WritablePacket *p) {
    click_ip *ip = p->ip_header();
    uint16_t place = ntohs(p->udp_header()->uh_dport) - _first;
    if (place >= _ports)
        return false;
    Mapping *found = &_mappings[place];
    if (!found->public_port || found->protocol != ip->ip_p)
        return false;
    found->packets++;
    found->bytes += p->length();
    found->last_seen = Timestamp::now().usecval();
    nic_engine_correct_checksum(&ip->ip_sum, ip->ip_dst.s_addr, found->inside.addr());
    ip->ip_dst = found->inside.in_addr();
    p->udp_header()->uh_dport = found->inside_port;
    return true;
}

CLICK_ENDDECLS
EXPORT_ELEMENT(NAT)
