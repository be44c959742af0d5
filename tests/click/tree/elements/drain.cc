// Pulls packets in its task, up to a number at once, and pushes them.
#include <click/args.hh>
#include <click/task.hh>

class Drain : public Element {
  public:
    Drain() : _burst(1), _rounds(0) {}
    const char *class_name() const { return "Drain"; }
    const char *port_count() const { return PORTS_1_1; }
    const char *processing() const { return PULL_TO_PUSH; }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh).read_mp("BURST", _burst).complete();
    }
    bool run_task(Task *) {
        _rounds++;
        for (uint32_t at = 0; at < _burst; at++) {
            Packet *p = input(0).pull();
            if (!p)
                return at;
            output(0).push(p);
        }
        return true;
    }

  private:
    uint32_t _burst;
    uint32_t _rounds;
};

EXPORT_ELEMENT(Drain)
