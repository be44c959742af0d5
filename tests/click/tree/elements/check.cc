// Checks that packets have the bytes of its configuration; others are killed.
#include <click/args.hh>

class Check : public Element {
  public:
    const char *class_name() const { return "Check"; }
    const char *port_count() const { return PORTS_1_1; }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh).read_mp("OFFSET", _offset).read_mp("VALUE", _value).complete();
    }
    Packet *simple_action(Packet *p) {
        if (p->length() > _offset && p->data()[_offset] == _value)
            return p;
        p->kill();
        return 0;
    }

  private:
    uint32_t _offset;
    uint32_t _value;
};

EXPORT_ELEMENT(Check)
