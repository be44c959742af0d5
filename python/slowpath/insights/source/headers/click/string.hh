// Text of configurations. Short text is in the object. Longer text is rare: copies share its memory
// until one changes, and the memory is never freed. Text beyond the limit ends the run.
#ifndef SLOWPATH_CLICK_STRING_HH
#define SLOWPATH_CLICK_STRING_HH
#include <click/algorithm.hh>

class StringAccum;

class String {
  public:
    enum { most = 4095 };
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
    explicit String(double x) { number(x < 0, x < 0 ? -x : x); }  // only the integer part

    static String make_empty() { return String(); }
    static String make_out_of_memory() { return String(); }
    static String make_stable(const char *text, int length = -1) { return String(text, length); }
    static String make_stable(const char *first, const char *end) { return String(first, end); }
    typedef int64_t int_large_t;
    typedef uint64_t uint_large_t;
    static String make_numeric(uint64_t x, int base = 10, bool upper = true) {
        char digits[65], *at = digits + sizeof digits;
        do
            *--at = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[x % base];
        while (x /= base);
        return String(at, (int) (digits + sizeof digits - at));
    }
    static String make_garbage(int length) {
        String made;
        made.append_fill(' ', length);
        return made;
    }

    // "\\<00ff>"
    String quoted_hex() const {
        String made("\\<");
        for (int at = 0; at < _length; at++) {
            const char *digits = "0123456789ABCDEF";
            char pair[2] = {digits[(unsigned char) data()[at] >> 4], digits[data()[at] & 15]};
            made += String(pair, 2);
        }
        return made += ">";
    }
    SLOWPATH_INLINE int length() const { return _length; }
    SLOWPATH_INLINE const char *data() const { return _length > within ? kept()->text : _text; }
    SLOWPATH_INLINE const char *c_str() const { return _length > within ? ended() : _text; }
    SLOWPATH_INLINE const char *begin() const { return data(); }
    SLOWPATH_INLINE const char *end() const { return data() + _length; }
    SLOWPATH_INLINE char *mutable_data() { return _length > within ? alone() : _text; }
    SLOWPATH_INLINE char *mutable_c_str() { return mutable_data(); }
    SLOWPATH_INLINE bool empty() const { return _length == 0; }
    SLOWPATH_INLINE bool out_of_memory() const { return false; }
    SLOWPATH_INLINE operator bool() const { return _length != 0; }
    SLOWPATH_INLINE char operator[](int at) const { return data()[at]; }
    SLOWPATH_INLINE char at(int at) const { return data()[at]; }
    SLOWPATH_INLINE char front() const { return data()[0]; }
    SLOWPATH_INLINE char back() const { return data()[_length - 1]; }
    bool equals(const char *text, int length) const {
        if (length < 0)
            length = strlen(text);
        return length == _length && memcmp(data(), text, length) == 0;
    }
    bool equals(const String &x) const { return equals(x.data(), x._length); }
    // Returns a negative number, 0, or a positive number, by lexicographic order.
    int compare(const String &x) const {
        int common = _length < x._length ? _length : x._length;
        int found = memcmp(data(), x.data(), common);
        return found ? found : _length - x._length;
    }
    static int compare(const String &x, const String &y) { return x.compare(y); }
    bool operator==(const String &x) const { return equals(x.data(), x._length); }
    bool operator!=(const String &x) const { return !(*this == x); }
    bool operator==(const char *x) const { return equals(x, strlen(x)); }
    bool operator!=(const char *x) const { return !(*this == x); }
    bool operator<(const String &x) const { return compare(x) < 0; }
    bool operator>(const String &x) const { return compare(x) > 0; }
    bool operator<=(const String &x) const { return compare(x) <= 0; }
    bool operator>=(const String &x) const { return compare(x) >= 0; }
    bool starts_with(const String &x) const {
        return x._length <= _length && memcmp(data(), x.data(), x._length) == 0;
    }
    int find_left(char c, int at = 0) const {
        const char *text = data();
        for (at = at < 0 ? 0 : at; at < _length; at++)
            if (text[at] == c)
                return at;
        return -1;
    }
    int find_left(const String &x, int at = 0) const {
        for (at = at < 0 ? 0 : at; at + x._length <= _length; at++)
            if (memcmp(data() + at, x.data(), x._length) == 0)
                return at;
        return -1;
    }
    int find_right(char c, int at = most) const {
        const char *text = data();
        for (at = at < _length ? at : _length - 1; at >= 0; at--)
            if (text[at] == c)
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
    // Returns a part of the text; a negative position or length counts from the end.
    String substring(int at, int length) const {
        at = at < 0 ? at + _length : at;
        at = at < 0 ? 0 : at < _length ? at : _length;
        int end = length < 0 ? _length + length : length < _length - at ? at + length : _length;
        return String(data() + at, data() + (end < at ? at : end));
    }
    String substring(int at) const { return substring(at, (int) most); }
    String substring(const char *first, const char *end) const { return String(first, end); }

    void append(char c) { append(&c, 1); }
    void append(const char *text, int length) {
        length = length < 0 ? strlen(text) : length;
        if (length > within - _length) {
            extend(text, length);
            return;
        }
        memcpy(_text + _length, text, length);
        _length += length;
        _text[_length] = 0;
    }
    void append(const char *first, const char *end) {
        append(first, first < end ? (int) (end - first) : 0);
    }
    void append(const String &x) { append(x.data(), x._length); }
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
        const char *text = data();
        for (int at = 0; at < _length; at++)
            hash = (hash ^ (unsigned char) text[at]) * 16777619u;
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
        char *text = made.mutable_data();
        for (int at = 0; at < _length; at++)
            if (text[at] >= first && text[at] <= last)
                text[at] += by;
        return made;
    }
    void set(const char *text, int length) {
        _length = 0;
        _text[0] = 0;
        if (length)
            append(text, length);
    }

    // Text longer than `within`, with a zero behind the last used character.
    struct Long {
        int used;  // used characters; texts that share them append only if this long
        char text[most + 1];
    };
    enum { within = 255 };
    SLOWPATH_INLINE Long *kept() const {
        Long *found;
        memcpy(&found, _text, sizeof found);
        return found;
    }
    Long *copied() const {
        Long *made = (Long *) malloc(sizeof(Long));
        if (!made)
            __builtin_trap();
        memcpy(made->text, data(), _length);
        made->text[_length] = 0;
        made->used = -1;
        return made;
    }
    SLOWPATH_KEPT const char *ended() const {
        Long *found = kept();
        if (found->used == _length)
            found->used = -1;
        return (found->text[_length] ? copied() : found)->text;
    }
    SLOWPATH_KEPT char *alone() {
        Long *made = copied();
        memcpy(_text, &made, sizeof made);
        return made->text;
    }
    // Copies the added text first, as it may be part of this text.
    SLOWPATH_KEPT void extend(const char *text, int length) {
        if (length > most - _length)
            slowpath_click_text_is_too_long();
        Long *to = _length > within && kept()->used == _length ? kept() : copied();
        memcpy(to->text + _length, text, length);
        _length += length;
        to->text[_length] = 0;
        to->used = _length;
        memcpy(_text, &to, sizeof to);
    }
    char _text[within + 1];  // or the address of a longer text
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
