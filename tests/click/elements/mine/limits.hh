#ifndef LIMITS_HH
#define LIMITS_HH
#include <click/element.hh>

// How long packets may be, for elements that ask by name.
class Limits : public Element {
  public:
    Limits();
    const char *class_name() const { return "Limits"; }
    const char *port_count() const { return "0/0"; }
    int configure(Vector<String> &conf, ErrorHandler *errh);
    bool allows(uint32_t length);

  private:
    uint32_t _least, _most, _asked;
};
#endif
