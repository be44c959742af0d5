// Errors of configure() and initialize(). Only the first one is kept, unformatted; warnings and
// messages are discarded.
#ifndef SLOWPATH_CLICK_ERROR_HH
#define SLOWPATH_CLICK_ERROR_HH
#include <click/string.hh>

class ErrorHandler {
  public:
    enum { ok_result = 0, error_result = -1 };
    static constexpr const char *e_error = "<3>", *e_warning = "<4>", *e_info = "<6>";
    static constexpr const char *e_warning_annotated = "<4>";

    constexpr explicit ErrorHandler(ErrorHandler *behind = 0) : _behind(behind), _errors(0) {}
    static ErrorHandler *default_handler();
    static ErrorHandler *silent_handler() { return default_handler(); }
    SLOWPATH_INLINE int nerrors() const { return _errors; }
    SLOWPATH_INLINE int nwarnings() const { return 0; }
    void clear() { _errors = 0; }

    int error(const char *format, ...) { return say(format); }
    int fatal(const char *format, ...) { return say(format); }
    int lerror(const String &, const char *format, ...) { return say(format); }
    int lfatal(const String &, const char *format, ...) { return say(format); }
    int warning(const char *, ...) { return -1; }
    int lwarning(const String &, const char *, ...) { return -1; }
    void message(const char *, ...) {}
    void lmessage(const String &, const char *, ...) {}
    void debug(const char *, ...) {}
    template <class... A> int xmessage(const A &...) { return 0; }
    template <class... A> static String xformat(const A &...) { return String(); }
    static const char *make_text(const char *, ...) { return ""; }

  protected:
    int say(const char *format) {
        if (!slowpath_click_totals.said)
            slowpath_click_totals.said = format;
        for (ErrorHandler *at = this; at; at = at->_behind)
            at->_errors++;
        return -1;
    }

  private:
    ErrorHandler *_behind;
    int _errors;
};
extern "C" SLOWPATH_ONE ErrorHandler slowpath_click_errors __attribute__((no_destroy)) =
    ErrorHandler();

inline ErrorHandler *ErrorHandler::default_handler() { return &slowpath_click_errors; }

// Error handlers that ignore their additional text.
class PrefixErrorHandler : public ErrorHandler {
  public:
    PrefixErrorHandler(ErrorHandler *errh, const String &) : ErrorHandler(errh) {}
};
class ContextErrorHandler : public ErrorHandler {
  public:
    template <class... A>
    ContextErrorHandler(ErrorHandler *errh, const A &...) : ErrorHandler(errh) {}
};
#endif
