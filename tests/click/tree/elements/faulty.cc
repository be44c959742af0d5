// Fails in the way that its configuration names.
#include <click/args.hh>

class Faulty : public Element {
  public:
    Faulty() : _at(0), _seen(0), _nowhere(0) {}
    const char *class_name() const { return "Faulty"; }
    const char *port_count() const { return PORTS_1_1; }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh).read_mp("AT", _at).complete();
    }
    Packet *simple_action(Packet *p) {
        if (++_seen == _at)
            *_nowhere = 1;
        return p;
    }

  private:
    uint32_t _at;
    uint32_t _seen;
    volatile int *_nowhere;
};

EXPORT_ELEMENT(Faulty)
