// A queue of our own with everything around one: signals, a ring, a timer, a task, handlers. On its
// input 0 packets are kept, as many as fit; of every fourth one, the oldest goes on, and those that
// find no room leave by output 1.
#include <click/config.h>
#include <click/args.hh>
#include <click/element.hh>
#include <click/handlercall.hh>
#include <click/notifier.hh>
#include <click/router.hh>
#include <click/standard/scheduleinfo.hh>
#include <click/standard/storage.hh>
#include <click/task.hh>
#include <click/timer.hh>

class Keeper : public Element, public Storage {
  public:
    Keeper() : _task(this), _timer(this), _seen(0), _dropped(0) {}
    const char *class_name() const { return "Keeper"; }
    const char *port_count() const { return PORTS_1_1X2; }
    const char *processing() const { return "h/lh"; }
    void *cast(const char *name) {
        if (strcmp(name, Notifier::EMPTY_NOTIFIER) == 0)
            return static_cast<Notifier *>(&_note);
        return Element::cast(name);
    }
    int configure(Vector<String> &conf, ErrorHandler *errh) {
        unsigned capacity = 3;
        HandlerCall full;
        if (Args(conf, this, errh)
                .read_p("CAPACITY", capacity)
                .read("FULL", HandlerCallArg(HandlerCall::writable), full)
                .complete() < 0)
            return -1;
        if (capacity > 15)
            return errh->error("CAPACITY is at most 15");
        if (router()->initialized() || router()->find("Other", this))
            return errh->error("nothing runs yet");
        set_capacity(capacity);
        _call = full;
        return _note.initialize(Notifier::EMPTY_NOTIFIER, router());
    }
    int initialize(ErrorHandler *errh) {
        _upstream = Notifier::upstream_empty_signal(this, 0, &_task);
        ScheduleInfo::initialize_task(this, &_task, errh);
        _timer.initialize(this);
        _note.sleep();
        return _upstream.active() && !_note.active() ? 0 : errh->error("signals are wrong");
    }
    void push(int, Packet *p) {
        unsigned length = p->length();
        p->kill();
        if (++_seen % 4 == 0 && !empty()) {
            set_head(next_i(head()));
            _note.set_active(!empty());
            if (Packet *made = Packet::make(_lengths[head()]))
                output(0).push(made);
        }
        if (next_i(tail()) == head()) {
            _dropped++;
            (void) _call.call_write();
            if (Packet *made = Packet::make(length))
                checked_output_push(1, made);
            return;
        }
        _lengths[tail()] = length;
        set_tail(next_i(tail()));
        _note.wake();
        if (!_timer.scheduled())
            _timer.schedule_after_msec(10);
        _task.reschedule();
    }
    void add_handlers() {
        add_read_handler("length", read_length, 0);
        add_write_handler("reset", write_reset, 0, Handler::BUTTON);
        add_data_handlers("seen", Handler::OP_READ, &_seen);
        add_task_handlers(&_task, &_upstream);
    }
    static String read_length(Element *e, void *) { return String(static_cast<Keeper *>(e)->size()); }
    static int write_reset(const String &, Element *e, void *, ErrorHandler *) {
        static_cast<Keeper *>(e)->_dropped = 0;
        return 0;
    }

  private:
    ActiveNotifier _note;
    NotifierSignal _upstream;
    HandlerCall _call;
    Task _task;
    Timer _timer;
    uint32_t _seen;
    uint32_t _dropped;
    uint16_t _lengths[16];
};
EXPORT_ELEMENT(Keeper Keeper-KeepsThings)
