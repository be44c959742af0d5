// Texts that handlers put together; handlers never run here, so nothing is kept of them.
#ifndef SLOWPATH_CLICK_STRACCUM_HH
#define SLOWPATH_CLICK_STRACCUM_HH
#include <click/string.hh>

class StringAccum {
  public:
    StringAccum() {}
    explicit StringAccum(int) {}
    StringAccum(const String &) {}
    template <class T> StringAccum &operator<<(const T &) { return *this; }
    template <class T> void append(const T &) {}
    template <class T> void append(const T &, int) {}
    void append_fill(int, int) {}
    char *reserve(int) { return 0; }
    char *extend(int) { return 0; }
    void adjust_length(int) {}
    StringAccum &snprintf(int, const char *, ...) { return *this; }
    int length() const { return 0; }
    const char *data() const { return ""; }
    const char *c_str() { return ""; }
    void clear() {}
    void pop_back(int = 1) {}
    operator bool() const { return false; }
    String take_string() { return String(); }
};
#endif
