// Texts of configurations, of a limited length.
#ifndef SLOWPATH_CLICK_STRING_HH
#define SLOWPATH_CLICK_STRING_HH
#include <click/glue.hh>

class String {
  public:
    enum { most = 255 };

    String() : _length(0) { _text[0] = 0; }
    String(const char *text) { set(text, strlen(text)); }
    String(const char *text, int length) { set(text, length); }
    // Texts of numbers are of handlers, which never run.
    explicit String(int) : _length(0) { _text[0] = 0; }
    explicit String(uint32_t) : _length(0) { _text[0] = 0; }
    explicit String(uint64_t) : _length(0) { _text[0] = 0; }
    explicit String(bool) : _length(0) { _text[0] = 0; }

    SLOWPATH_INLINE int length() const { return _length; }
    SLOWPATH_INLINE const char *data() const { return _text; }
    SLOWPATH_INLINE const char *c_str() const { return _text; }
    SLOWPATH_INLINE const char *begin() const { return _text; }
    SLOWPATH_INLINE const char *end() const { return _text + _length; }
    SLOWPATH_INLINE bool empty() const { return _length == 0; }
    SLOWPATH_INLINE operator bool() const { return _length != 0; }
    SLOWPATH_INLINE char operator[](int at) const { return _text[at]; }
    bool equals(const char *text, int length) const {
        return length == _length && memcmp(_text, text, length) == 0;
    }
    bool operator==(const String &x) const { return equals(x._text, x._length); }
    bool operator!=(const String &x) const { return !(*this == x); }
    bool operator==(const char *x) const { return equals(x, strlen(x)); }
    int find_left(char c, int at = 0) const {
        for (; at < _length; at++)
            if (_text[at] == c)
                return at;
        return -1;
    }
    String lower() const { return folded('A', 'Z', 'a' - 'A'); }
    String upper() const { return folded('a', 'z', 'A' - 'a'); }
    String substring(int at, int length) const { return String(_text + at, length); }
    String substring(int at) const { return String(_text + at, _length - at); }
    String &operator+=(const String &x) {
        for (int at = 0; at < x._length && _length < most; at++)
            _text[_length++] = x._text[at];
        _text[_length] = 0;
        return *this;
    }
    hashcode_t hashcode() const {
        uint32_t hash = 2166136261u;
        for (int at = 0; at < _length; at++)
            hash = (hash ^ (unsigned char) _text[at]) * 16777619u;
        return hash;
    }

  private:
    String folded(char first, char last, int by) const {
        String made = *this;
        for (int at = 0; at < _length; at++)
            if (_text[at] >= first && _text[at] <= last)
                made._text[at] += by;
        return made;
    }
    void set(const char *text, int length) {
        _length = length < most ? length : most;
        memcpy(_text, text, _length);
        _text[_length] = 0;
    }
    char _text[most + 1];
    int _length;
};
#endif
