#ifndef STAMP_HH
#define STAMP_HH
#include <click/element.hh>

class Stamp : public Element {
  public:
    Stamp() : _number(0), _seen(0) {}
    const char *class_name() const { return "Stamp"; }
    const char *port_count() const { return PORTS_1_1; }
    int configure(Vector<String> &, ErrorHandler *);
    Packet *simple_action(Packet *);

  private:
    uint32_t _number;
    uint32_t _seen;
};
#endif
