// Sends each packet to all of its outputs; two classes share the source.
#include <click/element.hh>

class Copies : public Element {
  public:
    const char *class_name() const { return "Copies"; }
    const char *port_count() const { return "1/1-"; }
    const char *processing() const { return PUSH; }
    void push(int, Packet *p) {
        for (int at = 0; at + 1 < noutputs(); at++)
            if (Packet *q = p->clone())
                output(at).push(q);
        output(noutputs() - 1).push(p);
    }
};

class Last : public Element {
  public:
    const char *class_name() const { return "Last"; }
    const char *port_count() const { return "1/1-"; }
    const char *processing() const { return PUSH; }
    void push(int, Packet *p) { output(noutputs() - 1).push(p); }
};

EXPORT_ELEMENT(Copies Last)
