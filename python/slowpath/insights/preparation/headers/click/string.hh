// Texts of configurations, of a limited length.
#ifndef SLOWPATH_CLICK_STRING_HH
#define SLOWPATH_CLICK_STRING_HH
#include <click/algorithm.hh>

class StringAccum;

class String {
  public:
    enum { most = 255 };
    typedef const char *const_iterator;

    String() : _length(0) { _text[0] = 0; }
    String(const char *text) { set(text, text ? strlen(text) : 0); }
    String(const char *text, int length) { set(text, length < 0 ? strlen(text) : length); }
    String(const char *first, const char *end) { set(first, first < end ? end - first : 0); }
    explicit String(char x) { set(&x, 1); }
    explicit String(unsigned char x) { set((const char *) &x, 1); }
    explicit String(bool x) { set(x ? "true" : "false", x ? 4 : 5); }
    explicit String(short x) { number(x < 0, magnitude(x)); }
    explicit String(unsigned short x) { number(false, x); }
    explicit String(int x) { number(x < 0, magnitude(x)); }
    explicit String(unsigned x) { number(false, x); }
    explicit String(long x) { number(x < 0, magnitude(x)); }
    explicit String(unsigned long x) { number(false, x); }
    explicit String(long long x) { number(x < 0, magnitude(x)); }
    explicit String(unsigned long long x) { number(false, x); }
    explicit String(double x) { number(x < 0, x < 0 ? -x : x); }  // whole numbers only

    static String make_empty() { return String(); }
    static String make_out_of_memory() { return String(); }
    static String make_stable(const char *text, int length = -1) { return String(text, length); }
    static String make_stable(const char *first, const char *end) { return String(first, end); }
    static String make_garbage(int length) {
        String made;
        made._length = length < most ? length : most;
        made._text[made._length] = 0;
        return made;
    }

    SLOWPATH_INLINE int length() const { return _length; }
    SLOWPATH_INLINE const char *data() const { return _text; }
    SLOWPATH_INLINE const char *c_str() const { return _text; }
    SLOWPATH_INLINE const char *begin() const { return _text; }
    SLOWPATH_INLINE const char *end() const { return _text + _length; }
    SLOWPATH_INLINE char *mutable_data() { return _text; }
    SLOWPATH_INLINE char *mutable_c_str() { return _text; }
    SLOWPATH_INLINE bool empty() const { return _length == 0; }
    SLOWPATH_INLINE bool out_of_memory() const { return false; }
    SLOWPATH_INLINE operator bool() const { return _length != 0; }
    SLOWPATH_INLINE char operator[](int at) const { return _text[at]; }
    SLOWPATH_INLINE char at(int at) const { return _text[at]; }
    SLOWPATH_INLINE char front() const { return _text[0]; }
    SLOWPATH_INLINE char back() const { return _text[_length - 1]; }
    bool equals(const char *text, int length) const {
        if (length < 0)
            length = strlen(text);
        return length == _length && memcmp(_text, text, length) == 0;
    }
    bool equals(const String &x) const { return equals(x._text, x._length); }
    // Below 0, 0, or above it, as texts are ordered.
    int compare(const String &x) const {
        int common = _length < x._length ? _length : x._length;
        int found = memcmp(_text, x._text, common);
        return found ? found : _length - x._length;
    }
    static int compare(const String &x, const String &y) { return x.compare(y); }
    bool operator==(const String &x) const { return equals(x._text, x._length); }
    bool operator!=(const String &x) const { return !(*this == x); }
    bool operator==(const char *x) const { return equals(x, strlen(x)); }
    bool operator!=(const char *x) const { return !(*this == x); }
    bool operator<(const String &x) const { return compare(x) < 0; }
    bool operator>(const String &x) const { return compare(x) > 0; }
    bool operator<=(const String &x) const { return compare(x) <= 0; }
    bool operator>=(const String &x) const { return compare(x) >= 0; }
    bool starts_with(const String &x) const {
        return x._length <= _length && memcmp(_text, x._text, x._length) == 0;
    }
    int find_left(char c, int at = 0) const {
        for (at = at < 0 ? 0 : at; at < _length; at++)
            if (_text[at] == c)
                return at;
        return -1;
    }
    int find_left(const String &x, int at = 0) const {
        for (at = at < 0 ? 0 : at; at + x._length <= _length; at++)
            if (memcmp(_text + at, x._text, x._length) == 0)
                return at;
        return -1;
    }
    int find_right(char c, int at = most) const {
        for (at = at < _length ? at : _length - 1; at >= 0; at--)
            if (_text[at] == c)
                return at;
        return -1;
    }
    String lower() const { return folded('A', 'Z', 'a' - 'A'); }
    String upper() const { return folded('a', 'z', 'A' - 'a'); }
    String trim_space() const {
        const char *first = begin(), *last = end();
        while (first < last && (unsigned char) *first <= ' ')
            first++;
        while (last > first && (unsigned char) last[-1] <= ' ')
            last--;
        return String(first, last);
    }
    // From a place on; places and lengths below 0 count from the end.
    String substring(int at, int length) const {
        at = at < 0 ? at + _length : at;
        at = at < 0 ? 0 : at < _length ? at : _length;
        int end = length < 0 ? _length + length : length < _length - at ? at + length : _length;
        return String(_text + at, _text + (end < at ? at : end));
    }
    String substring(int at) const { return substring(at, (int) most); }
    String substring(const char *first, const char *end) const { return String(first, end); }

    void append(char c) { append(&c, 1); }
    void append(const char *text, int length) {
        length = length < 0 ? strlen(text) : length;
        for (int at = 0; at < length && _length < most; at++)
            _text[_length++] = text[at];
        _text[_length] = 0;
    }
    void append(const char *first, const char *end) { append(first, (int) (end - first)); }
    void append(const String &x) { append(x._text, x._length); }
    void append_fill(int c, int length) {
        while (length-- > 0)
            append((char) c);
    }
    String &operator+=(const String &x) {
        append(x);
        return *this;
    }
    String &operator+=(const char *x) {
        append(x, -1);
        return *this;
    }
    String &operator+=(char x) {
        append(x);
        return *this;
    }
    hashcode_t hashcode() const {
        uint32_t hash = 2166136261u;
        for (int at = 0; at < _length; at++)
            hash = (hash ^ (unsigned char) _text[at]) * 16777619u;
        return hash;
    }

  private:
    template <class T> static uint64_t magnitude(T x) {
        return x < 0 ? -(uint64_t) x : (uint64_t) x;
    }
    void number(bool negative, uint64_t value) {
        char digits[24];
        int at = sizeof digits;
        do
            digits[--at] = '0' + value % 10;
        while (value /= 10);
        if (negative)
            digits[--at] = '-';
        set(digits + at, sizeof digits - at);
    }
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

inline const char *find(const String &text, char c) { return find(text.begin(), text.end(), c); }
inline String operator+(String x, const String &y) { return x += y; }
inline String operator+(String x, const char *y) { return x += y; }
inline String operator+(String x, char y) { return x += y; }
inline String operator+(const char *x, const String &y) { return String(x) + y; }
inline bool operator==(const char *x, const String &y) { return y == x; }
inline bool operator!=(const char *x, const String &y) { return y != x; }
#endif
