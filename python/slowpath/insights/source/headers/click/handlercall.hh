// Calls of handlers, which do nothing in a run.
#ifndef SLOWPATH_CLICK_HANDLERCALL_HH
#define SLOWPATH_CLICK_HANDLERCALL_HH
#include <click/args.hh>
#include <click/router.hh>

class HandlerCall {
  public:
    enum Flags { readable = 1, writable = 2 };

    HandlerCall() {}
    explicit HandlerCall(const String &text) : _text(text) {}
    SLOWPATH_INLINE operator bool() const { return !_text.empty(); }
    SLOWPATH_INLINE bool empty() const { return _text.empty(); }
    SLOWPATH_INLINE bool initialized() const { return true; }
    Element *element() const { return 0; }
    const Handler *handler() const { return 0; }
    const String &value() const { return _text; }
    void set_value(const String &) {}
    String unparse() const { return _text; }
    void clear() { _text = String(); }
    int assign(const String &text) {
        _text = text;
        return 0;
    }
    int initialize(int, const Element *, ErrorHandler * = 0) { return 0; }
    int initialize_read(const Element *, ErrorHandler * = 0) { return 0; }
    int initialize_write(const Element *, ErrorHandler * = 0) { return 0; }
    template <class... A> String call_read(A...) const { return String(); }
    template <class... A> int call_write(A &&...) const { return 0; }
    template <class... A> static String call_read(Element *, const char *, A...) { return String(); }
    template <class... A> static String call_read(const Element *, const String &, A...) {
        return String();
    }
    template <class... A> static int call_write(Element *, const char *, A...) { return 0; }
    static int reset(HandlerCall *&call, const String &text, int, const Element *, ErrorHandler *) {
        if (!call)
            call = new HandlerCall;
        return call->assign(text);
    }
    static int reset_read(HandlerCall *&call, const String &text, const Element *e,
                          ErrorHandler *errh = 0) {
        return reset(call, text, readable, e, errh);
    }
    static int reset_read(HandlerCall *&call, Element *e, const String &text,
                          ErrorHandler *errh = 0) {
        return reset(call, text, readable, e, errh);
    }
    static int reset_write(HandlerCall *&call, const String &text, const Element *e,
                           ErrorHandler *errh = 0) {
        return reset(call, text, writable, e, errh);
    }
    static int reset_write(HandlerCall *&call, Element *e, const String &text,
                           ErrorHandler *errh = 0) {
        return reset(call, text, writable, e, errh);
    }

  private:
    String _text;
};

struct HandlerCallArg {
    HandlerCallArg(int) {}
    bool parse(const String &text, HandlerCall &value, const ArgContext & = ArgContext()) const {
        return value.assign(text) == 0;
    }
};
#endif
