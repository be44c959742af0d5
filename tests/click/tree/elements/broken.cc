// Does not compile, because the header does not exist.
#include <click/element.hh>
#include "nowhere.hh"

class Broken : public Element {
  public:
    const char *class_name() const { return "Broken"; }
    const char *port_count() const { return PORTS_1_1; }
    Packet *simple_action(Packet *p) { return nowhere(p); }
};

EXPORT_ELEMENT(Broken)
