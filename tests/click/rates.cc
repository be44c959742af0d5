// A meter of our own: of the packets to named ports, those that a rate lets through leave by output 0,
// the others by output 1, and flows have averages. What a class does once names the ports.
#include <click/config.h>
#include <click/args.hh>
#include <click/confparse.hh>
#include <click/element.hh>
#include <click/ewma.hh>
#include <click/hashcontainer.hh>
#include <click/ipflowid.hh>
#include <click/nameinfo.hh>
#include <click/tokenbucket.hh>

class Meter : public Element {
  public:
    struct Flow {
        typedef IPFlowID key_type;
        typedef const IPFlowID &key_const_reference;
        explicit Flow(const IPFlowID &given) : id(given), packets(0), _hashnext(0) {}
        key_const_reference hashkey() const { return id; }
        IPFlowID id;
        uint32_t packets;
        RateEWMA rate;
        Flow *_hashnext;
    };
    Meter() : _port(0), _lost(0) {}
    const char *class_name() const { return "Meter"; }
    const char *port_count() const { return "1/2"; }
    static void static_initialize() {
        static const StaticNameDB::Entry entries[] = {{"service", 443}, {"other", 7}};
        NameInfo::installdb(new StaticNameDB(NameInfo::T_TCP_PORT, String(), entries, 2), 0);
    }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        uint32_t rate, burst = 1;
        if (Args(conf, this, errh)
                .read_mp("PORT", IPPortArg(IP_PROTO_TCP), _port)
                .read_mp("RATE", rate)
                .read("BURST", burst)
                .complete() < 0)
            return -1;
        _tokens.assign(rate, burst);
        _tokens.set_full();
        return 0;
    }
    void push(int, Packet *p) {
        if (!p->has_network_header() || p->ip_header()->ip_p != IP_PROTO_TCP
            || ntohs(p->tcp_header()->th_dport) != _port) {
            p->kill();
            return;
        }
        IPFlowID id(p);
        Flow *flow = _flows.get(id);
        if (!flow) {
            void *slot = _slots.allocate();
            if (!slot) {
                _lost++;
                p->kill();
                return;
            }
            flow = new (slot) Flow(id);
            _flows.set(flow);
        }
        flow->packets++;
        flow->rate.update(p->length());
        _tokens.refill();
        output(_tokens.remove_if(1) ? 0 : 1).push(p);
    }

  private:
    uint16_t _port;
    uint32_t _lost;
    TokenBucket _tokens;
    HashContainer<Flow> _flows;
    SizedHashAllocator<sizeof(Flow)> _slots;
};
EXPORT_ELEMENT(Meter)
