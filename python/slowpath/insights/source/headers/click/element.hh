// Elements. Packets that an element pushes are counted by output.
#ifndef SLOWPATH_CLICK_ELEMENT_HH
#define SLOWPATH_CLICK_ELEMENT_HH
#include <click/atomic.hh>
#include <click/error.hh>
#include <click/packetbatch.hh>
#include <click/straccum.hh>
#include <click/vector.hh>

class Args;
class Bitvector;
class Master;
class Router;
class IdleTask;
class Task;
class Timer;

class Handler {
  public:
    enum { OP_READ = 0, OP_WRITE = 1, READ_PARAM = 4 };
    enum { f_read = 1, f_write = 2, f_read_param = 4, f_exclusive = 8, f_button = 32 };
    enum { f_calm = 64, f_expensive = 128, f_raw = 256, f_checkbox = 512, f_nonexclusive = 0 };
    enum { f_uncommon = 1024, f_deprecated = 2048, f_read_private = 4096, f_write_private = 8192 };
    enum { h_nonexclusive = 0, h_deprecated = f_deprecated, RAW = f_raw, NONEXCLUSIVE = 0 };
    enum { EXCLUSIVE = f_exclusive };
    enum { h_read = f_read, h_write = f_write, h_button = f_button, h_calm = f_calm };
    enum { h_expensive = f_expensive, h_raw = f_raw, h_checkbox = f_checkbox };
    const String &name() const { return _name; }
    void *user_data(int) const { return 0; }
    void *read_user_data() const { return 0; }
    void *write_user_data() const { return 0; }
    bool readable() const { return false; }
    bool writable() const { return false; }
    template <class... A> String call_read(A...) const { return String(); }
    template <class... A> int call_write(A &&...) const { return 0; }
    enum { BUTTON = f_button, CALM = f_calm, EXPENSIVE = f_expensive, CHECKBOX = f_checkbox };

  private:
    String _name;
};

class Element;
typedef String (*ReadHandlerCallback)(Element *, void *);
typedef int (*WriteHandlerCallback)(const String &, Element *, void *, ErrorHandler *);
typedef int (*HandlerCallback)(int, String &, Element *, const Handler *, ErrorHandler *);

#ifdef SLOWPATH_GRAPH
// The element is a part of a configuration: its ports lead to functions that pass packets on.
extern "C" SLOWPATH_ONE void (*slowpath_click_send)(int, Packet *) = 0;
extern "C" SLOWPATH_ONE Packet *(*slowpath_click_fetch)(int) = 0;
extern "C" SLOWPATH_ONE int slowpath_click_connected[2] = {};  // inputs and outputs
extern "C" SLOWPATH_ONE unsigned char slowpath_click_pulls[2][SLOWPATH_PORTS] = {};
extern "C" SLOWPATH_ONE char slowpath_click_called[64] = {};  // name in the configuration
extern "C" SLOWPATH_ONE uint32_t slowpath_click_packet_bytes = sizeof(Packet);
extern "C" SLOWPATH_ONE SLOWPATH_KEPT void slowpath_click_leave(int number, Packet *p) {
    if ((unsigned) number >= (unsigned) slowpath_click_connected[1])
        slowpath_click_no_such_output();
    slowpath_click_totals.pushed[number]++;
    slowpath_click_send(number, p);
    p->_used = false;
}
extern "C" SLOWPATH_ONE SLOWPATH_KEPT Packet *slowpath_click_get(int number) {
    if ((unsigned) number >= (unsigned) slowpath_click_connected[0])
        slowpath_click_no_such_output();
    return slowpath_click_fetch(number);
}
// Takes a copy of a packet of another element; returns 0 if no buffer is free.
extern "C" SLOWPATH_ONE SLOWPATH_KEPT Packet *slowpath_click_hand(const Packet *from) {
    uint32_t before = from->_data - from->_buffer;
    Packet *p = (Packet *) slowpath_click_take(before, from->_length);
    if (!p) {
        slowpath_click_totals.unmade++;
        return 0;
    }
    memcpy(p->_buffer, from->_buffer, before + from->_length);
    p->_mac = from->_mac ? p->_buffer + (from->_mac - from->_buffer) : 0;
    p->_network = from->_network ? p->_buffer + (from->_network - from->_buffer) : 0;
    p->_transport = from->_transport ? p->_buffer + (from->_transport - from->_buffer) : 0;
    p->copy_annotations(from);
    return p;
}
extern "C" SLOWPATH_ONE SLOWPATH_KEPT void slowpath_click_free(Packet *p) { p->_used = false; }
// Returns the number of packets that the element keeps.
extern "C" SLOWPATH_ONE SLOWPATH_KEPT uint32_t slowpath_click_held() {
    uint32_t held = 0;
    for (unsigned at = 0; at < SLOWPATH_PACKETS; at++)
        held += ((Packet *) slowpath_click_packets[at])->_used;
    return held;
}
#endif

class Element {
  public:
    class Port {
      public:
        constexpr Port() : _number(0) {}
        SLOWPATH_INLINE Port(int number) : _number(number) {}
        SLOWPATH_INLINE bool active() const { return true; }
        Element *element() const { return 0; }  // neighbours do not exist in a run
        int port() const { return -1; }
        void assign(bool, Element *, int) {}
        SLOWPATH_INLINE void push(Packet *p) const { Element::sent(_number, p); }
        SLOWPATH_INLINE Packet *pull() const { return Element::fetched(_number); }
        SLOWPATH_INLINE void push_batch(PacketBatch *packets) const {
            Element::sent_all(_number, packets);
        }
        SLOWPATH_INLINE PacketBatch *pull_batch(unsigned) const {
            return PacketBatch::make_from_packet(Element::fetched(_number));
        }

      private:
        int _number;
    };

    static const char *const PORTS_0_0, *const PORTS_0_1, *const PORTS_1_0, *const PORTS_1_1,
        *const PORTS_1_1X2;
    static const char *const AGNOSTIC, *const PUSH, *const PULL, *const PUSH_TO_PULL,
        *const PULL_TO_PUSH, *const PROCESSING_A_AH;
    static const char *const COMPLETE_FLOW;

    enum ConfigurePhase {
        CONFIGURE_PHASE_FIRST = 0,
        CONFIGURE_PHASE_INFO = 20,
        CONFIGURE_PHASE_PRIVILEGED = 90,
        CONFIGURE_PHASE_DEFAULT = 100,
        CONFIGURE_PHASE_LAST = 2000
    };
    enum { SELECT_READ = 1, SELECT_WRITE = 2 };
    enum CleanupStage {
        CLEANUP_NO_ROUTER,
        CLEANUP_CONFIGURE_FAILED,
        CLEANUP_CONFIGURED,
        CLEANUP_INITIALIZE_FAILED,
        CLEANUP_INITIALIZED,
        CLEANUP_ROUTER_INITIALIZED,
        CLEANUP_MANUAL
    };

    enum batch_mode { BATCH_MODE_NO, BATCH_MODE_IFPOSSIBLE, BATCH_MODE_NEEDED, BATCH_MODE_YES };
    enum ThreadReconfigurationStage {
        THREAD_INITIALIZE,
        THREAD_RECONFIGURE_UP_PRE,
        THREAD_RECONFIGURE_UP_POST,
        THREAD_RECONFIGURE_DOWN_PRE,
        THREAD_RECONFIGURE_DOWN_POST
    };

    Element() {}
    virtual ~Element() {}
    virtual const char *class_name() const = 0;
    virtual const char *port_count() const { return "1/1"; }
    virtual const char *processing() const { return "a/a"; }
    virtual const char *flow_code() const { return "x/x"; }
    virtual const char *flags() const { return ""; }
    virtual int configure_phase() const { return CONFIGURE_PHASE_DEFAULT; }
    virtual int configure(Vector<String> &, ErrorHandler *) { return 0; }
    virtual int initialize(ErrorHandler *) { return 0; }
    virtual bool can_live_reconfigure() const { return false; }
    virtual int live_reconfigure(Vector<String> &conf, ErrorHandler *errh) {
        return configure(conf, errh);
    }
    virtual int llrpc(unsigned, void *) { return -EINVAL; }
    virtual int local_llrpc(unsigned, void *) { return -EINVAL; }
    virtual void selected(int, int) {}
    virtual void *port_cast(bool, int, const char *) { return 0; }
    virtual void cleanup(CleanupStage) {}
    virtual void add_handlers() {}
    virtual void push(int, Packet *p) {
        p = simple_action(p);
        if (p)
            output(0).push(p);
    }
    virtual Packet *pull(int) {
        Packet *p = input(0).pull();
        return p ? simple_action(p) : 0;
    }
    virtual Packet *simple_action(Packet *p) { return p; }
    virtual void push_batch(int port, PacketBatch *packets) {
        FOR_EACH_PACKET_SAFE(packets, p) {
            p->set_next(0);
            push(port, p);
        }
    }
    virtual PacketBatch *pull_batch(int port, unsigned) {
        return PacketBatch::make_from_packet(pull(port));
    }
    virtual void run_timer(Timer *) {}
    virtual bool run_task(Task *) { return false; }
    virtual bool run_idle_task(IdleTask *) { return false; }
    virtual bool get_spawning_threads(Bitvector &, bool, int) { return true; }
    virtual bool is_mt_safe() { return true; }
    virtual bool do_mt_safe_check(ErrorHandler *) { return true; }
    virtual int thread_configure(ThreadReconfigurationStage, ErrorHandler *, Bitvector);
    template <class... A> inline Bitvector get_passing_threads(A...);
    inline Bitvector get_pushing_threads();
    inline Bitvector get_spawning_threads();
    void add_remote_element(Element *) {}
    bool is_fullpush() const { return true; }
    bool port_active(bool, int) const { return true; }
    virtual void *cast(const char *name) { return strcmp(name, class_name()) ? 0 : this; }
    virtual void take_state(Element *, ErrorHandler *) {}

    SLOWPATH_INLINE int noutputs() const { return _outputs; }
    SLOWPATH_INLINE int ninputs() const { return _inputs; }
    SLOWPATH_INLINE int nports(bool isoutput) const { return isoutput ? _outputs : _inputs; }
    // Keeps a port for each direction and number, so that references to ports stay valid.
    const Port &port(bool isoutput, int number) const {
        static Port ports[2][SLOWPATH_PORTS];
        if ((unsigned) number >= SLOWPATH_PORTS)
            slowpath_click_no_such_output();
        Port &asked = ports[isoutput][number];
        asked = Port(number);
        return asked;
    }
#ifdef SLOWPATH_GRAPH
    static int checked_outputs() { return _outputs; }
    bool input_is_pull(int number) const { return slowpath_click_pulls[0][number]; }
    bool output_is_pull(int number) const { return slowpath_click_pulls[1][number]; }
    bool input_is_push(int number) const { return !input_is_pull(number); }
    bool output_is_push(int number) const { return !output_is_pull(number); }
#else
    static constexpr int checked_outputs() { return SLOWPATH_PORTS; }
    // All ports are push ports, as the run enters the element by push().
    bool input_is_push(int) const { return true; }
    bool input_is_pull(int) const { return false; }
    bool output_is_push(int) const { return true; }
    bool output_is_pull(int) const { return false; }
#endif
    SLOWPATH_INLINE Port output(int number) const { return Port(number); }
    SLOWPATH_INLINE Port input(int number) const { return Port(number); }
    SLOWPATH_INLINE void checked_output_push(int number, Packet *p) const {
        if ((unsigned) number < (unsigned) checked_outputs())
            sent(number, p);
        else
            p->kill();
    }
    SLOWPATH_INLINE Packet *checked_input_pull(int number) const { return fetched(number); }
    SLOWPATH_INLINE void output_push(int number, Packet *p) const { sent(number, p); }
    SLOWPATH_INLINE void output_push_batch(int number, PacketBatch *packets) const {
        sent_all(number, packets);
    }
    SLOWPATH_INLINE void checked_output_push_batch(int number, PacketBatch *packets) const {
        if ((unsigned) number < (unsigned) noutputs())
            sent_all(number, packets);
        else
            packets->kill();
    }
    SLOWPATH_INLINE PacketBatch *input_pull_batch(int number, unsigned) const {
        return PacketBatch::make_from_packet(fetched(number));
    }
#ifdef SLOWPATH_GRAPH
    String name() const { return String((const char *) slowpath_click_called); }
#else
    String name() const { return String(class_name()); }
#endif
    String declaration() const { return String(class_name()); }
    static int reconfigure_keyword_handler(const String &, Element *, void *, ErrorHandler *) {
        return 0;
    }
    static String read_keyword_handler(Element *, void *) { return String(); }
    static int reconfigure_positional_handler(const String &, Element *, void *, ErrorHandler *) {
        return 0;
    }
    static String read_positional_handler(Element *, void *) { return String(); }
    template <class U>
    void add_read_handler(const String &, ReadHandlerCallback, U, uint32_t = 0) {}
    void add_read_handler(const String &, ReadHandlerCallback) {}
    template <class U>
    void add_write_handler(const String &, WriteHandlerCallback, U, uint32_t = 0) {}
    void add_write_handler(const String &, WriteHandlerCallback) {}
    template <class... A> void set_handler(const String &, int, HandlerCallback, A...) {}
    void set_handler(const String &, int) {}
    void set_handler_flags(const String &, int, int = 0) {}
    template <class... A> void add_data_handlers(const String &, int, const A &...) {}
    template <class... A> void add_net_order_data_handlers(const String &, int, const A &...) {}
    template <class... A> void add_task_handlers(const A &...) {}
    template <class... A> int add_select(const A &...) { return 0; }
    template <class... A> int remove_select(const A &...) { return 0; }

    inline Router *router() const;
    void attach_router(Router *, int) {}
    Master *master() const { return 0; }
    int eindex() const { return 0; }
    int eindex(Router *) const { return 0; }
    int home_thread_id() const { return 0; }
    String id() const { return name(); }
    String landmark() const { return String(); }
    String configuration() const { return String(); }

    static batch_mode in_batch_mode;
    static Packet *_waiting;  // the packet that input(0).pull() returns
    static int _inputs, _outputs;

  private:
#ifdef SLOWPATH_GRAPH
    SLOWPATH_INLINE static void sent(int number, Packet *p) { slowpath_click_leave(number, p); }
    SLOWPATH_INLINE static Packet *fetched(int number) { return slowpath_click_get(number); }
#else
    SLOWPATH_KEPT static void sent(int number, Packet *p) {
        if ((unsigned) number >= SLOWPATH_PORTS)
            slowpath_click_no_such_output();
        slowpath_click_totals.pushed[number]++;
        p->_used = false;
    }
    SLOWPATH_INLINE static Packet *fetched(int) { return fetched(); }
    SLOWPATH_KEPT static Packet *fetched() {
        Packet *p = _waiting;
        _waiting = 0;
        return p;
    }
#endif
    SLOWPATH_KEPT static void sent_all(int number, PacketBatch *packets) {
        SLOWPATH_LOOP for (Packet *at = packets, *next; at; at = next) {
            next = at->next();
            sent(number, at);
        }
    }
};

SLOWPATH_ONE Packet *Element::_waiting = 0;
SLOWPATH_ONE Element::batch_mode Element::in_batch_mode = Element::BATCH_MODE_NO;
SLOWPATH_ONE int Element::_inputs = 1;
SLOWPATH_ONE int Element::_outputs = 1;
SLOWPATH_ONE const char *const Element::PORTS_0_0 = "0/0";
SLOWPATH_ONE const char *const Element::PORTS_0_1 = "0/1";
SLOWPATH_ONE const char *const Element::PORTS_1_0 = "1/0";
SLOWPATH_ONE const char *const Element::PORTS_1_1 = "1/1";
SLOWPATH_ONE const char *const Element::PORTS_1_1X2 = "1/1-2";
SLOWPATH_ONE const char *const Element::AGNOSTIC = "a";
SLOWPATH_ONE const char *const Element::PUSH = "h";
SLOWPATH_ONE const char *const Element::PULL = "l";
SLOWPATH_ONE const char *const Element::PUSH_TO_PULL = "h/l";
SLOWPATH_ONE const char *const Element::PULL_TO_PUSH = "l/h";
SLOWPATH_ONE const char *const Element::PROCESSING_A_AH = "a/ah";
SLOWPATH_ONE const char *const Element::COMPLETE_FLOW = "x/x";

#include <click/bitvector.hh>
#include <click/router.hh>

// A run has one thread.
inline int Element::thread_configure(ThreadReconfigurationStage, ErrorHandler *, Bitvector) {
    return 0;
}
template <class... A> inline Bitvector Element::get_passing_threads(A...) {
    return Bitvector(1, true);
}
inline Bitvector Element::get_pushing_threads() { return Bitvector(1, true); }
inline Bitvector Element::get_spawning_threads() { return Bitvector(1, true); }

// Splits the arguments of a configuration at commas outside of quotes and parentheses, and removes
// blanks around arguments.
inline void slowpath_click_split(const char *text, Vector<String> &words) {
    bool quoted = false;
    int depth = 0;
    const char *start = text;
    for (const char *at = text;; at++) {
        quoted ^= *at == '"';
        depth += quoted ? 0 : (*at == '(') - (*at == ')' && depth);
        if (*at && (*at != ',' || quoted || depth))
            continue;
        const char *first = start, *end = at;
        while (first < end && (*first == ' ' || *first == '\t'))
            first++;
        while (end > first && (end[-1] == ' ' || end[-1] == '\t'))
            end--;
        if (first < end || *at)
            words.push_back(String(first, end - first));
        if (!*at)
            return;
        start = at + 1;
    }
}

// Parses the number of ports in port_count(), such as "1/1-2"; a range counts as its minimum, but
// at least one.
inline int slowpath_click_ports(const char *&text) {
    int number = 0;
    for (; *text && *text != '/'; text++)
        if (*text == '-') {
            number = number ? number : 1;
            while (text[1] && text[1] != '/')
                text++;
        } else if (*text >= '0' && *text <= '9')
            number = 10 * number + *text - '0';
    return number;
}

// Initialises a class before its first element is configured.
template <class E> inline auto slowpath_click_class(int) -> decltype(E::static_initialize()) {
    E::static_initialize();
}
template <class E> inline void slowpath_click_class(long) {}

inline int slowpath_click_prepare(Element *element, const char *text) {
    const char *ports = element->port_count();
    Element::_inputs = Element::_outputs = slowpath_click_ports(ports);
    if (*ports == '/' && *++ports != '=')
        Element::_outputs = slowpath_click_ports(ports);
#ifdef SLOWPATH_OUTPUTS
    Element::_outputs = SLOWPATH_OUTPUTS;
#endif
#ifdef SLOWPATH_GRAPH
    Element::_inputs = slowpath_click_connected[0];
    Element::_outputs = slowpath_click_connected[1];
#endif
    static Vector<String> words;
    ErrorHandler errors;
    slowpath_click_split(text, words);
    int code = element->configure(words, &errors);
    code = code < 0 ? code : element->initialize(&errors);
    slowpath_click_router._initialized = true;
    return code;
}

inline Element *Router::find(const String &name, Element *, ErrorHandler *errh) const {
    int length = 0;
    while (length < name.length() && name[length] != '(' && name[length] != ' ')
        length++;
    for (slowpath_click_other *at = slowpath_click_others; at; at = at->next) {
        if (!(name.substring(0, length) == at->name))
            continue;
        if (at->element)
            return at->element;
        at->element = at->make();
        int first = length, end = name.length();
        while (first < end && name[first++] != '(') {
        }
        if (end > first && name[end - 1] == ')')
            end--;
        static Vector<String> words;
        words.clear();
        slowpath_click_split(name.substring(first, end - first).c_str(), words);
        if (at->element->configure(words, errh) < 0 || at->element->initialize(errh) < 0)
            return 0;
        return at->element;
    }
    if (errh)
        errh->error("no other element of this class is compiled; it is named as Class(...)");
    return 0;
}

// Counts a returned packet as sent to output 0; the second function sets the packet for pull().
extern "C" SLOWPATH_ONE SLOWPATH_KEPT void slowpath_click_given(Packet *p) {
    if (p && p->_used) {
        slowpath_click_totals.pushed[0]++;
        p->_used = false;
    }
}
extern "C" SLOWPATH_ONE SLOWPATH_KEPT void slowpath_click_wait(Packet *p) { Element::_waiting = p; }

// Creates an element of an exported class on the first request of another element.
#define SLOWPATH_OTHER(type)                                                                     \
    static Element *slowpath_make_##type() {                                                     \
        static type other __asm__("slowpath_element_" #type);                                    \
        slowpath_click_class<type>(0);                                                           \
        return &other;                                                                           \
    }                                                                                            \
    static slowpath_click_other slowpath_other_##type(#type, slowpath_make_##type);

#ifdef SLOWPATH_GRAPH  // volatile, so that the methods are called and not inlined here
#define SLOWPATH_CALLS(name)                                                                     \
    static Element *volatile slowpath_click_here_##name = &slowpath_element_##name;              \
    extern "C" __attribute__((used)) void slowpath_click_pushed_##name(int port, Packet *p) {    \
        slowpath_click_here_##name->push(port, p);                                               \
    }                                                                                            \
    extern "C" __attribute__((used)) void slowpath_click_batch_##name(int port, Packet *p) {     \
        slowpath_click_here_##name->push_batch(port, PacketBatch::make_from_packet(p));          \
    }                                                                                            \
    extern "C" __attribute__((used)) Packet *slowpath_click_pulled_##name(int port) {            \
        return slowpath_click_here_##name->pull(port);                                           \
    }                                                                                            \
    extern "C" __attribute__((used)) int slowpath_click_task_##name() {                          \
        return slowpath_click_here_##name->run_task(0);                                          \
    }
#else
#define SLOWPATH_CALLS(name)
#endif

// The element of the run, with the functions that configure it and pass packets to it.
#define SLOWPATH_EXPORT(name)                                                                    \
    name slowpath_element_##name __attribute__((no_destroy));                                    \
    extern "C" __attribute__((used)) int slowpath_click_start_##name(const char *text) {         \
        slowpath_click_class<name>(0);                                                           \
        return slowpath_click_prepare(&slowpath_element_##name, text);                           \
    }                                                                                            \
    extern "C" __attribute__((used)) void slowpath_click_push_##name(int port, Packet *p) {      \
        slowpath_element_##name.push(port, p);                                                   \
    }                                                                                            \
    SLOWPATH_CALLS(name)
#ifdef SLOWPATH_COMPANION  // the source of another element that the element needs
#undef SLOWPATH_EXPORT
#define SLOWPATH_EXPORT(name) SLOWPATH_OTHER(name)
#endif
#ifdef SLOWPATH_ELEMENT  // the first of two names
#define SLOWPATH_EXPORT_OF(name) SLOWPATH_EXPORT(name)
#define EXPORT_ELEMENT(name) SLOWPATH_EXPORT_OF(SLOWPATH_ELEMENT)
#else
#define EXPORT_ELEMENT(name) SLOWPATH_EXPORT(name)
#endif
#endif
