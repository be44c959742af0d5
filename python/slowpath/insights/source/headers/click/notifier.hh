// Signals of elements that have packets or room. The upstream neighbour of the run's element always
// has packets, and the downstream neighbour always has room.
#ifndef SLOWPATH_CLICK_NOTIFIER_HH
#define SLOWPATH_CLICK_NOTIFIER_HH
#include <click/element.hh>
#include <click/task.hh>

extern "C" SLOWPATH_ONE bool slowpath_click_signals[2] = {false, true};  // idle, busy

class NotifierSignal {
  public:
    SLOWPATH_INLINE NotifierSignal() : _active(&slowpath_click_signals[1]) {}
    SLOWPATH_INLINE explicit NotifierSignal(const bool *active) : _active(active) {}
    SLOWPATH_INLINE static NotifierSignal idle_signal() {
        return NotifierSignal(&slowpath_click_signals[0]);
    }
    SLOWPATH_INLINE static NotifierSignal busy_signal() {
        return NotifierSignal(&slowpath_click_signals[1]);
    }
    SLOWPATH_INLINE static NotifierSignal overderived_signal() { return busy_signal(); }
    SLOWPATH_INLINE static NotifierSignal uninitialized_signal() { return busy_signal(); }

    SLOWPATH_INLINE bool active() const { return *_active; }
    SLOWPATH_INLINE operator bool() const { return *_active; }
    SLOWPATH_INLINE bool idle() const { return _active == &slowpath_click_signals[0]; }
    SLOWPATH_INLINE bool busy() const { return _active == &slowpath_click_signals[1]; }
    SLOWPATH_INLINE bool initialized() const { return true; }
    // A combination of two different signals is unknown, so it is always active.
    NotifierSignal &operator+=(const NotifierSignal &x) {
        if (idle())
            _active = x._active;
        else if (!x.idle() && _active != x._active)
            _active = &slowpath_click_signals[1];
        return *this;
    }
    String unparse(Router *) const { return active() ? "*active*" : "*idle*"; }

  private:
    const bool *_active;
};
inline NotifierSignal operator+(NotifierSignal x, const NotifierSignal &y) { return x += y; }

class Notifier {
  public:
    enum SearchOp { SEARCH_STOP = 0, SEARCH_CONTINUE, SEARCH_CONTINUE_WAKE };
    typedef void (*callback_type)(void *, Notifier *);
    static constexpr const char *EMPTY_NOTIFIER = "empty";
    static constexpr const char *FULL_NOTIFIER = "full";

    explicit Notifier(SearchOp op = SEARCH_STOP)
        : _signal(&_awake), _op(op), _awake(true), _initialized(false) {}
    explicit Notifier(const NotifierSignal &signal, SearchOp op = SEARCH_STOP)
        : _signal(signal), _op(op), _awake(true), _initialized(true) {}
    virtual ~Notifier() {}
    int initialize(const char *, Router *) {
        _initialized = true;
        return 0;
    }
    SLOWPATH_INLINE bool initialized() const { return _initialized; }
    SLOWPATH_INLINE const NotifierSignal &signal() const { return _signal; }
    SLOWPATH_INLINE SearchOp search_op() const { return _op; }
    SLOWPATH_INLINE bool active() const { return _signal.active(); }
    // Listeners are outside of the run, so none is notified.
    SLOWPATH_INLINE void set_active(bool active, bool = true) { _awake = active; }
    SLOWPATH_INLINE void wake() { _awake = true; }
    SLOWPATH_INLINE void sleep() { _awake = false; }
    virtual int add_activate_callback(callback_type, void *) { return 0; }
    virtual void remove_activate_callback(callback_type, void *) {}
    String unparse(Router *router) const { return _signal.unparse(router); }

    template <class... A> static NotifierSignal upstream_empty_signal(Element *, int, A...) {
        return NotifierSignal::busy_signal();
    }
    template <class... A> static NotifierSignal downstream_full_signal(Element *, int, A...) {
        return NotifierSignal::busy_signal();
    }

  private:
    Notifier(const Notifier &);
    Notifier &operator=(const Notifier &);
    NotifierSignal _signal;
    SearchOp _op;
    bool _awake;
    bool _initialized;
};

class ActiveNotifier : public Notifier {
  public:
    explicit ActiveNotifier(SearchOp op = SEARCH_STOP) : Notifier(op) {}
    int add_listener(Task *) { return 0; }
    void remove_listener(Task *) {}
    void add_dependent_signal(NotifierSignal *) {}
};
#endif
