// Sends packets of odd length to output 1, and others to output 0.
#include <click/element.hh>

class Odd : public Element {
  public:
    const char *class_name() const { return "Odd"; }
    const char *port_count() const { return "1/2"; }
    const char *processing() const { return PUSH; }
    void push(int, Packet *p) { output(p->length() & 1).push(p); }
};

EXPORT_ELEMENT(Odd)
