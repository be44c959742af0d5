// State of each flow: the first packets of one leave by output 0, all others by 1.
#include <click/config.h>
#include <click/args.hh>
#include <click/flow/flowelement.hh>

struct Seen {
    Seen() {}  // a new flow has zeros all the same
    uint32_t packets;
};

class FirstOfFlow : public FlowSpaceElement<Seen> {
  public:
    const char *class_name() const { return "FirstOfFlow"; }
    const char *port_count() const { return "1/2"; }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh).read_mp("FIRST", _first).complete();
    }
    FLOW_ELEMENT_DEFINE_SESSION_CONTEXT(DEFAULT_4TUPLE, FLOW_IP);
    void push_flow(int, Seen *flow, PacketBatch *batch) override {
        bool first = flow->packets < _first;
        flow->packets += batch->count();
        output_push_batch(first ? 0 : 1, batch);
    }

  private:
    uint32_t _first;
};

EXPORT_ELEMENT(FirstOfFlow)
