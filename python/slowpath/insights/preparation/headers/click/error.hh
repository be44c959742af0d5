// Errors of configure() and initialize(): the first one is kept as it is written, not formatted.
#ifndef SLOWPATH_CLICK_ERROR_HH
#define SLOWPATH_CLICK_ERROR_HH
#include <click/string.hh>

class ErrorHandler {
  public:
    int error(const char *format, ...) {
        if (!slowpath_click_totals.said)
            slowpath_click_totals.said = format;
        return -1;
    }
    int fatal(const char *format, ...) {
        if (!slowpath_click_totals.said)
            slowpath_click_totals.said = format;
        return -1;
    }
    int warning(const char *, ...) { return -1; }
    void message(const char *, ...) {}
    void debug(const char *, ...) {}
};
#endif
