// An element whose push is that of a base class, and that asks another element.
#include <click/config.h>
#include <click/args.hh>
#include <elements/mine/limits.hh>
#include "counting.hh"

class Gate : public Counting {
  public:
    Gate() : _limits(0) {}
    const char *class_name() const { return "Gate"; }
    const char *port_count() const { return "1/2"; }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh)
            .read_mp("LIMITS", ElementCastArg("Limits"), _limits)
            .complete();
    }
    int way(Packet *p) override { return _limits->allows(p->length()) ? 0 : 1; }

  private:
    Limits *_limits;
};

// A second element of the file.
class Open : public Element {
  public:
    const char *class_name() const { return "Open"; }
    Packet *simple_action(Packet *p) { return p; }
};

ELEMENT_REQUIRES(Limits Counting)
EXPORT_ELEMENT(Gate)
EXPORT_ELEMENT(Open)
