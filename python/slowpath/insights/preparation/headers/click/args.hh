// Arguments of configurations, by keyword or place.
#ifndef SLOWPATH_CLICK_ARGS_HH
#define SLOWPATH_CLICK_ARGS_HH
#include <click/element.hh>
#include <click/etheraddress.hh>

inline bool slowpath_click_number(const String &text, uint64_t most, uint64_t &value) {
    int at = 0, base = 10;
    if (text.length() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        at = 2;
    }
    if (at == text.length())
        return false;
    value = 0;
    for (; at < text.length(); at++) {
        char c = text[at] | 0x20;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
        if (digit >= base || value > (most - digit) / base)
            return false;
        value = value * base + digit;
    }
    return true;
}

#define SLOWPATH_UNSIGNED(type)                                                                  \
    inline bool slowpath_click_parse(const String &text, type &value) {                          \
        uint64_t found;                                                                          \
        if (!slowpath_click_number(text, (type) ~(type) 0, found))                               \
            return false;                                                                        \
        value = found;                                                                           \
        return true;                                                                             \
    }
#define SLOWPATH_SIGNED(type)                                                                    \
    inline bool slowpath_click_parse(const String &text, type &value) {                          \
        bool negative = text.length() > 1 && text[0] == '-';                                     \
        uint64_t found, most = ((uint64_t) 1 << (8 * sizeof(type) - 1)) - !negative;             \
        if (!slowpath_click_number(negative ? text.substring(1) : text, most, found))            \
            return false;                                                                        \
        value = negative ? -(int64_t) found : (int64_t) found;                                   \
        return true;                                                                             \
    }
SLOWPATH_UNSIGNED(unsigned char)
SLOWPATH_UNSIGNED(unsigned short)
SLOWPATH_UNSIGNED(unsigned)
SLOWPATH_UNSIGNED(unsigned long)
SLOWPATH_UNSIGNED(unsigned long long)
SLOWPATH_SIGNED(short)
SLOWPATH_SIGNED(int)
SLOWPATH_SIGNED(long)
SLOWPATH_SIGNED(long long)
#undef SLOWPATH_UNSIGNED
#undef SLOWPATH_SIGNED

inline bool slowpath_click_parse(const String &text, bool &value) {
    value = text == "true" || text == "1" || text == "yes";
    return value || text == "false" || text == "0" || text == "no";
}
inline bool slowpath_click_parse(const String &text, String &value) {
    bool quoted = text.length() > 1 && text[0] == '"' && text[text.length() - 1] == '"';
    value = quoted ? text.substring(1, text.length() - 2) : text;
    return true;
}
// Numbers with a character between them: addresses.
inline bool slowpath_click_numbers(const String &text, char between, int base, int count,
                                   unsigned char *to) {
    int at = 0;
    for (int part = 0; part < count; part++) {
        if (part && (at >= text.length() || text[at++] != between))
            return false;
        int value = 0, digits = 0;
        for (; at < text.length() && digits < 3; at++, digits++) {
            char c = text[at] | 0x20;
            int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
            if (digit >= base)
                break;
            value = value * base + digit;
        }
        if (!digits || value > 255)
            return false;
        to[part] = value;
    }
    return at == text.length();
}
inline bool slowpath_click_parse(const String &text, IPAddress &value) {
    unsigned char bytes[4];
    if (!slowpath_click_numbers(text, '.', 10, 4, bytes))
        return false;
    value = IPAddress(bytes);
    return true;
}
inline bool slowpath_click_parse(const String &text, EtherAddress &value) {
    return slowpath_click_numbers(text, ':', 16, 6, value.data());
}
inline bool slowpath_click_parse(const String &text, Timestamp &value) {
    unsigned seconds;
    if (!slowpath_click_parse(text, seconds))
        return false;
    value = Timestamp((long) seconds);
    return true;
}

// Parsers that stand in front of what they fill.
struct slowpath_click_plain {
    template <class T> bool parse(const String &text, T &value) const {
        return slowpath_click_parse(text, value);
    }
};
struct IntArg : slowpath_click_plain {
    IntArg(int = 0) {}
};
struct BoolArg : slowpath_click_plain {};
struct IPAddressArg : slowpath_click_plain {};
struct EtherAddressArg : slowpath_click_plain {};
struct StringArg : slowpath_click_plain {};
struct WordArg : slowpath_click_plain {};
struct KeywordArg : slowpath_click_plain {};
struct AnnoArg : slowpath_click_plain {  // by number; names of annotations are not known
    AnnoArg(int) {}
};
struct AnyArg {
    bool parse(const String &text, String &value) const {
        value = text;
        return true;
    }
};
struct BoundedIntArg {
    long low, high;
    BoundedIntArg(long least, long most) : low(least), high(most) {}
    template <class T> bool parse(const String &text, T &value) const {
        long found;
        if (!slowpath_click_parse(text, found) || found < low || found > high)
            return false;
        value = found;
        return true;
    }
};
struct SecondsArg {  // whole seconds, in units of a power of ten
    uint64_t unit;
    SecondsArg(int digits = 0) : unit(1) {
        while (digits-- > 0)
            unit *= 10;
    }
    template <class T> bool parse(const String &text, T &value) const {
        unsigned long found;
        if (!slowpath_click_parse(text, found))
            return false;
        value = found * unit;
        return true;
    }
};
struct IPPrefixArg {
    bool bare;
    IPPrefixArg(bool allow_bare = false) : bare(allow_bare) {}
    bool parse(const String &text, IPAddress &address, IPAddress &mask) const {
        int at = 0;
        while (at < text.length() && text[at] != '/')
            at++;
        unsigned length = 32;
        if (at < text.length()) {
            if (!slowpath_click_parse(text.substring(at + 1), length) || length > 32)
                return false;
        } else if (!bare)
            return false;
        mask = IPAddress::make_prefix(length);
        return slowpath_click_parse(text.substring(0, at), address);
    }
};

class Args {
  public:
    enum { mandatory = 1, positional = 2 };

    Args(const Vector<String> &conf, const Element *, ErrorHandler *errh)
        : _conf(conf), _errh(errh), _place(0), _bad(false), _found(false) {
        memset(_taken, 0, sizeof _taken);
    }

    template <class T> Args &read(const char *word, T &x) { return look(word, 0, Plain(), x); }
    template <class T> Args &read_m(const char *word, T &x) {
        return look(word, mandatory, Plain(), x);
    }
    template <class T> Args &read_p(const char *word, T &x) {
        return look(word, positional, Plain(), x);
    }
    template <class T> Args &read_mp(const char *word, T &x) {
        return look(word, mandatory | positional, Plain(), x);
    }
    Args &read_status(bool &found) {
        found = _found;
        return *this;
    }
    template <class T> Args &read_or_set(const char *word, T &x, const T &value) {
        x = value;
        return read(word, x);
    }
    template <class P, class T> Args &read(const char *word, P parser, T &x) {
        return look(word, 0, parser, x);
    }
    template <class P, class T> Args &read_m(const char *word, P parser, T &x) {
        return look(word, mandatory, parser, x);
    }
    template <class P, class T> Args &read_p(const char *word, P parser, T &x) {
        return look(word, positional, parser, x);
    }
    template <class P, class T> Args &read_mp(const char *word, P parser, T &x) {
        return look(word, mandatory | positional, parser, x);
    }
    template <class P, class A, class B> Args &read(const char *word, P parser, A &a, B &b) {
        return look(word, 0, parser, a, b);
    }
    template <class P, class A, class B> Args &read_mp(const char *word, P parser, A &a, B &b) {
        return look(word, mandatory | positional, parser, a, b);
    }
    int complete() {
        for (int at = 0; at < _conf.size(); at++)
            if (!_taken[at] && !_bad)
                fail("an argument is not understood");
        return _bad ? -1 : 0;
    }
    int consume() { return _bad ? -1 : 0; }
    int execute() { return _bad ? -1 : 0; }

  private:
    typedef slowpath_click_plain Plain;

    void fail(const char *why) {
        _bad = true;
        _errh->error(why);
    }
    // Whether an argument is a keyword with a value, and where that begins.
    static int keyword(const String &text, const char *word) {
        int length = strlen(word);
        if (text.length() <= length || memcmp(text.data(), word, length) || text[length] != ' ')
            return 0;
        while (text[length] == ' ')
            length++;
        return length;
    }
    static bool has_keyword(const String &text) {
        int at = 0;
        while ((text[at] >= 'A' && text[at] <= 'Z') || text[at] == '_')
            at++;
        return at > 0 && text[at] == ' ';
    }
    template <class P, class... T> Args &look(const char *word, int flags, P parser, T &...x) {
        _found = true;
        for (int at = 0; at < _conf.size(); at++) {
            int value = keyword(_conf[at], word);
            if (value) {
                _taken[at] = true;
                return parse(_conf[at].substring(value), word, parser, x...);
            }
        }
        while (_place < _conf.size() && (_taken[_place] || has_keyword(_conf[_place])))
            _place++;
        if ((flags & positional) && _place < _conf.size()) {
            _taken[_place] = true;
            return parse(_conf[_place], word, parser, x...);
        }
        _found = false;
        if (flags & mandatory)
            fail(word);
        return *this;
    }
    template <class P, class... T>
    Args &parse(const String &text, const char *word, P parser, T &...x) {
        if (!parser.parse(text, x...))
            fail(word);
        return *this;
    }

    const Vector<String> &_conf;
    ErrorHandler *_errh;
    int _place;
    bool _bad;
    bool _found;  // whether the last argument is there
    bool _taken[SLOWPATH_VECTOR];
};
#endif
