// A text builder with a limited length; longer text ends the run.
#ifndef SLOWPATH_CLICK_STRACCUM_HH
#define SLOWPATH_CLICK_STRACCUM_HH
#include <click/ipaddress.hh>

class StringAccum {
  public:
    enum { most = 4095 };

    StringAccum() : _length(0) {}
    explicit StringAccum(int) : _length(0) {}
    explicit StringAccum(const String &x) : _length(0) { *this << x; }

    SLOWPATH_INLINE int length() const { return _length; }
    SLOWPATH_INLINE int capacity() const { return most; }
    SLOWPATH_INLINE bool empty() const { return _length == 0; }
    SLOWPATH_INLINE bool out_of_memory() const { return false; }
    SLOWPATH_INLINE operator bool() const { return _length != 0; }
    SLOWPATH_INLINE const char *data() const { return _text; }
    SLOWPATH_INLINE char *data() { return _text; }
    SLOWPATH_INLINE const char *begin() const { return _text; }
    SLOWPATH_INLINE char *begin() { return _text; }
    SLOWPATH_INLINE const char *end() const { return _text + _length; }
    SLOWPATH_INLINE char *end() { return _text + _length; }
    SLOWPATH_INLINE char operator[](int at) const { return _text[at]; }
    SLOWPATH_INLINE char &operator[](int at) { return _text[at]; }
    SLOWPATH_INLINE char back() const { return _text[_length - 1]; }
    const char *c_str() {
        _text[_length] = 0;
        return _text;
    }
    void clear() { _length = 0; }
    void pop_back(int count = 1) { _length -= count < _length ? count : _length; }
    String take_string() {
        String made(_text, _length);
        clear();
        return made;
    }

    // Returns room for `count` characters at the end; 0 if there is none.
    char *reserve(int count) { return count <= most - _length ? _text + _length : 0; }
    char *extend(int count, int = 0) {
        char *at = reserve(count);
        _length += at ? count : 0;
        return at;
    }
    void adjust_length(int by) { _length += by; }
    void set_length(int length) { _length = length; }

    void append(char c) {
        if (_length >= most)
            slowpath_click_text_is_too_long();
        _text[_length++] = c;
    }
    void append(unsigned char c) { append((char) c); }
    void append(const char *text, int length) {
        length = length < 0 ? strlen(text) : length;
        for (int at = 0; at < length; at++)
            append(text[at]);
    }
    void append(const unsigned char *text, int length) { append((const char *) text, length); }
    void append(const char *first, const char *end) { append(first, (int) (end - first)); }
    void append(const String &x) { append(x.data(), x.length()); }
    void append_fill(int c, int length) {
        while (length-- > 0)
            append((char) c);
    }
    // Formatted text is dropped.
    StringAccum &snprintf(int, const char *, ...) { return *this; }

  private:
    char _text[most + 1];
    int _length;
};

inline StringAccum &operator<<(StringAccum &to, const String &x) {
    to.append(x);
    return to;
}
inline StringAccum &operator<<(StringAccum &to, const char *x) {
    to.append(x, -1);
    return to;
}
inline StringAccum &operator<<(StringAccum &to, char x) {
    to.append(x);
    return to;
}
inline StringAccum &operator<<(StringAccum &to, unsigned char x) {
    to.append(x);
    return to;
}
inline StringAccum &operator<<(StringAccum &to, const StringAccum &x) {
    to.append(x.data(), x.length());
    return to;
}
inline StringAccum &operator<<(StringAccum &to, const struct in_addr &x) {
    to.append(IPAddress(x).unparse());
    return to;
}
#define SLOWPATH_TEXT_OF(type)                                                                   \
    inline StringAccum &operator<<(StringAccum &to, type x) { return to << String(x); }
SLOWPATH_TEXT_OF(bool)
SLOWPATH_TEXT_OF(short)
SLOWPATH_TEXT_OF(unsigned short)
SLOWPATH_TEXT_OF(int)
SLOWPATH_TEXT_OF(unsigned)
SLOWPATH_TEXT_OF(long)
SLOWPATH_TEXT_OF(unsigned long)
SLOWPATH_TEXT_OF(long long)
SLOWPATH_TEXT_OF(unsigned long long)
SLOWPATH_TEXT_OF(double)
#undef SLOWPATH_TEXT_OF
// Appends objects with an unparse() method, such as addresses and times.
template <class T>
inline auto operator<<(StringAccum &to, const T &x) -> decltype((void) x.unparse(), (to)) {
    to.append(x.unparse());
    return to;
}
#endif
