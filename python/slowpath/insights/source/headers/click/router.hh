// The router of the run. It has the element, and other elements that its configuration names by
// class.
#include <click/element.hh>  // first, because it needs the declarations below
#ifndef SLOWPATH_CLICK_ROUTER_HH
#define SLOWPATH_CLICK_ROUTER_HH

class Master;
class RouterVisitor;

// An element that other elements may request.
struct slowpath_click_other {
    slowpath_click_other(const char *name, Element *(*make)());
    const char *name;
    Element *(*make)();
    Element *element;  // 0 until the first request
    slowpath_click_other *next;
};
extern "C" SLOWPATH_ONE slowpath_click_other *slowpath_click_others = 0;
inline slowpath_click_other::slowpath_click_other(const char *name, Element *(*make)())
    : name(name), make(make), element(0), next(slowpath_click_others) {
    slowpath_click_others = this;
}

class Router {
  public:
    enum { slots = 8 };

    bool initialized() const { return _initialized; }
    bool handlers_ready() const { return _initialized; }
    bool running() const { return _initialized; }
    Master *master() const { return 0; }
    int nelements() const { return 1; }
    // Finds the element "Class(configuration)", and creates it on the first request.
    inline Element *find(const String &name, Element *, ErrorHandler *errh = 0) const;
    Element *find(const String &name, ErrorHandler *errh = 0) const { return find(name, 0, errh); }
    Element *find(const String &name, const String &, ErrorHandler *errh = 0) const {
        return find(name, 0, errh);
    }
    String ename(int) const { return String(); }
    int visit(Element *, bool, int, RouterVisitor *) const { return 0; }
    int visit_downstream(Element *, int, RouterVisitor *) const { return 0; }
    int visit_upstream(Element *, int, RouterVisitor *) const { return 0; }
    int downstream_elements(Element *, int, Vector<Element *> &) const { return 0; }
    int upstream_elements(Element *, int, Vector<Element *> &) const { return 0; }
    void set_flow_code_override(int, const String &) {}
    void please_stop_driver() {}  // a run ends only with the trace
    void adjust_runcount(int32_t) {}
    int home_thread_id(const Element *) const { return 0; }
    ErrorHandler *chatter_channel(const String &) const { return ErrorHandler::default_handler(); }

    // Objects that elements of a router share, by name.
    void *attachment(const String &name) const {
        for (int at = 0; at < slots; at++)
            if (_names[at] && name == _names[at])
                return _values[at];
        return 0;
    }
    void *&force_attachment(const String &name) {
        int at = 0;
        while (at < slots && _names[at] && !(name == _names[at]))
            at++;
        if (at == slots)
            slowpath_click_router_is_full();
        if (!_names[at]) {
            char *kept = (char *) malloc(name.length() + 1);
            memcpy(kept, name.c_str(), name.length() + 1);
            _names[at] = kept;
        }
        return _values[at];
    }
    void *set_attachment(const String &name, void *value) {
        void *&place = force_attachment(name), *old = place;
        place = value;
        return old;
    }

    const char *_names[slots];
    void *_values[slots];
    bool _initialized;
};
extern "C" SLOWPATH_ONE Router slowpath_click_router = {};

inline Router *Element::router() const { return &slowpath_click_router; }
#endif
