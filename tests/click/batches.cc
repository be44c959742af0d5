// Batches alone: packets by parity of their length, those below a limit dropped.
#include <click/config.h>
#include <click/args.hh>
#include <click/batchelement.hh>

class Parity : public BatchElement {
  public:
    const char *class_name() const { return "Parity"; }
    const char *port_count() const { return "1/2"; }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh).read_mp("LEAST", _least).complete();
    }
    void push_batch(int, PacketBatch *batch) override {
        auto long_enough = [this](Packet *p) -> Packet * {
            return p->length() < _least ? 0 : p;
        };
        EXECUTE_FOR_EACH_PACKET_DROPPABLE(long_enough, batch, [](Packet *p) { p->kill(); });
        if (!batch)
            return;
        _seen += batch->count();
        auto parity = [](Packet *p) { return p->length() % 2; };
        CLASSIFY_EACH_PACKET(3, parity, batch, checked_output_push_batch);
    }

  private:
    uint32_t _least;
    uint32_t _seen = 0;
};

EXPORT_ELEMENT(Parity)
