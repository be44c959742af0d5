// Arguments of configurations, by keyword or position.
#ifndef SLOWPATH_CLICK_ARGS_HH
#define SLOWPATH_CLICK_ARGS_HH
#include <click/element.hh>
#include <click/packet_anno.hh>
#include <click/router.hh>
#include <click/texts.hh>

// The element and the error handler for the parsing of an argument.
class ArgContext {
  public:
    ArgContext(const Element *context = 0, ErrorHandler *errh = 0)
        : _context(context), _errh(errh) {}
    explicit ArgContext(ErrorHandler *errh) : _context(0), _errh(errh) {}
    const Element *context() const { return _context; }
    ErrorHandler *errh() const { return _errh; }
    void error(const char *format, ...) const {
        if (_errh)
            _errh->error(format);
    }
    void warning(const char *, ...) const {}
    void message(const char *, ...) const {}

  protected:
    const Element *_context;
    ErrorHandler *_errh;
};

// Common base: parsers are called with the variables that they fill.
struct slowpath_click_plain {
    template <class T>
    bool parse(const String &text, T &value, const ArgContext & = ArgContext()) const {
        return slowpath_click_parse(text, value);
    }
};
template <class T> struct DefaultArg : slowpath_click_plain {};

struct NumArg {
    enum { status_ok, status_inval, status_range, status_notsup, status_unitless };
};
struct IntArg : NumArg {
    int base;
    int status;
    IntArg(int given = 0) : base(given), status(status_ok) {}
    template <class T>
    bool parse(const String &text, T &value, const ArgContext & = ArgContext()) {
        T found;
        uint64_t any;
        bool right = slowpath_click_parse(text, found, base);
        status = right ? status_ok
                 : slowpath_click_number(text, ~(uint64_t) 0, any, base) ? status_range
                                                                         : status_inval;
        if (right)
            value = found;
        return right;
    }
    // A number that is too large becomes the largest number of the type.
    template <class T>
    bool parse_saturating(const String &text, T &value, const ArgContext &context = ArgContext()) {
        if (parse(text, value, context))
            return true;
        if (status == status_range)
            value = (T) -1 > (T) 0 ? (T) -1 : (T) ~((uint64_t) 1 << (8 * sizeof(T) - 1));
        return status == status_range;
    }
};
struct BoundedIntArg : NumArg {
    long low, high;
    BoundedIntArg(long least, long most) : low(least), high(most) {}
    template <class T>
    bool parse(const String &text, T &value, const ArgContext & = ArgContext()) const {
        long found;
        if (!slowpath_click_parse(text, found) || found < low || found > high)
            return false;
        value = found;
        return true;
    }
};
struct NamedIntArg {  // a number, or its name
    uint32_t type;
    NamedIntArg(uint32_t kind) : type(kind) {}
    template <class T>
    bool parse(const String &text, T &value, const ArgContext &context = ArgContext()) const {
        int32_t found;
        if (!NameInfo::query_int(type, context.context(), text, &found))
            return false;
        value = found;
        return true;
    }
};
struct FixedPointArg : NumArg {  // with this many bits after the binary point
    int bits;
    FixedPointArg(int fraction) : bits(fraction) {}
    template <class T>
    bool parse(const String &text, T &value, const ArgContext & = ArgContext()) const {
        int64_t found;
        if (!slowpath_click_decimal(text, 9, found))
            return false;
        int64_t whole = found / 1000000000, rest = found % 1000000000;
        value = (T) ((whole << bits) + ((rest << bits) + 500000000) / 1000000000);
        return true;
    }
};
struct DecimalFixedPointArg : NumArg {  // with this many digits after the decimal point
    int digits;
    DecimalFixedPointArg(int fraction) : digits(fraction) {}
    template <class T>
    bool parse(const String &text, T &value, const ArgContext & = ArgContext()) const {
        int64_t found;
        if (!slowpath_click_decimal(text, digits, found))
            return false;
        value = (T) found;
        return true;
    }
};
struct DoubleArg : slowpath_click_plain, NumArg {};
struct BoolArg : slowpath_click_plain {
    static String unparse(bool x) { return String(x); }
};
struct IPAddressArg : slowpath_click_plain {
    using slowpath_click_plain::parse;
    bool parse(const String &text, unsigned char *to, const ArgContext & = ArgContext()) const {
        return slowpath_click_lookup(text, 4, to) || slowpath_click_numbers(text, '.', 10, 4, to);
    }
};
struct EtherAddressArg : slowpath_click_plain {
    using slowpath_click_plain::parse;
    bool parse(const String &text, unsigned char *to, const ArgContext & = ArgContext()) const {
        EtherAddress found;
        bool right = slowpath_click_parse(text, found);
        memcpy(to, found.data(), 6);
        return right;
    }
};
struct StringArg : slowpath_click_plain {};
struct FilenameArg : slowpath_click_plain {};
struct TimestampArg : slowpath_click_plain {
    TimestampArg(bool = false) {}
};
struct WordArg {
    bool parse(const String &text, String &value, const ArgContext & = ArgContext()) const {
        return cp_word(text, &value);
    }
};
struct KeywordArg : WordArg {};
struct AnyArg {
    bool parse(const String &text, String &value, const ArgContext & = ArgContext()) const {
        value = text;
        return true;
    }
    bool parse(const String &text, Vector<String> &value,
               const ArgContext & = ArgContext()) const {
        value.push_back(text);
        return true;
    }
};
struct AnnoArg {  // an annotation of this size: its offset, or its name
    int size;
    AnnoArg(int bytes) : size(bytes) {}
    bool parse(const String &text, int &value, const ArgContext & = ArgContext()) const {
        static const struct {
            const char *name;
            int place;
        } known[] = {
            {"DST_IP", DST_IP_ANNO_OFFSET},
            {"PAINT", PAINT_ANNO_OFFSET},
            {"FIX_IP_SRC", FIX_IP_SRC_ANNO_OFFSET},
            {"VLAN_TCI", VLAN_TCI_ANNO_OFFSET},
            {"AGGREGATE", AGGREGATE_ANNO_OFFSET},
            {"FWD_RATE", FWD_RATE_ANNO_OFFSET},
            {"EXTRA_LENGTH", EXTRA_LENGTH_ANNO_OFFSET},
            {"EXTRA_PACKETS", EXTRA_PACKETS_ANNO_OFFSET},
            {"FIRST_TIMESTAMP", FIRST_TIMESTAMP_ANNO_OFFSET},
            {"SEQUENCE_NUMBER", SEQUENCE_NUMBER_ANNO_OFFSET},
            {"PACKET_NUMBER", PACKET_NUMBER_ANNO_OFFSET},
        };
        for (const auto &one : known)
            if (text == one.name) {
                value = one.place;
                return true;
            }
        return slowpath_click_parse(text, value) && value >= 0
               && value + (size > 0 ? size : 1) <= Packet::anno_size;
    }
};
inline bool cp_anno(const String &text, int size, int *value, const Element * = 0) {
    return AnnoArg(size).parse(text, *value);
}
struct SecondsArg : NumArg {  // seconds, in units of a power of ten
    int digits;
    SecondsArg(int fraction = 0) : digits(fraction) {}
    template <class T>
    bool parse(const String &text, T &value, const ArgContext & = ArgContext()) const {
        int64_t found;
        if (!slowpath_click_seconds(text, digits, found) || (T) found != found)
            return false;
        value = (T) found;
        return true;
    }
    template <class T>
    bool parse_saturating(const String &text, T &value, const ArgContext & = ArgContext()) const {
        int64_t found;
        if (!slowpath_click_seconds(text, digits, found))
            return false;
        value = (T) found == found ? (T) found : (T) -1;
        return true;
    }
};
struct BandwidthArg : NumArg {  // bytes per second; units such as "kbps" mean bits
    int status;
    BandwidthArg() : status(status_ok) {}
    bool parse(const String &text, uint64_t &value, const ArgContext & = ArgContext()) {
        uint32_t found = 0;
        bool right = parse(text, found);
        value = found;
        return right;
    }
    bool parse(const String &given, uint32_t &value, const ArgContext & = ArgContext()) {
        String text = given.trim_space();
        int end = text.length();
        while (end && !(text[end - 1] >= '0' && text[end - 1] <= '9') && text[end - 1] != '.')
            end--;
        String unit = text.substring(end).trim_space();
        uint64_t times = 1;
        if (unit && unit != "bps" && unit != "Bps" && unit != "baud") {
            times = unit[0] == 'k' || unit[0] == 'K' ? 1000 : unit[0] == 'M' ? 1000000
                    : unit[0] == 'G' ? 1000000000 : 0;
            unit = unit.substring(1);
        } else if (!unit)
            status = status_unitless;
        bool bits = unit == "bps" || unit == "b/s" || unit == "baud";
        int64_t found;
        if (!times || (unit && !bits && unit != "Bps" && unit != "B/s")
            || !slowpath_click_decimal(text.substring(0, end), 3, found) || found < 0)
            return false;
        uint64_t bytes = (uint64_t) found * times / (bits ? 8000 : 1000);
        if (bytes > 0xffffffff) {
            status = status_range;
            return false;
        }
        value = bytes;
        return true;
    }
    static String unparse(uint32_t x) { return String(x) + "Bps"; }
};
struct IPPortArg {  // in host byte order
    int protocol;
    IPPortArg(int given) : protocol(given) {}
    bool parse(const String &text, uint16_t &value, const ArgContext &context = ArgContext()) const {
        uint32_t found;
        if (!NameInfo::query_int(NameInfo::T_IP_PORT + protocol, context.context(), text, &found)
            || found > 0xffff)
            return false;
        value = found;
        return true;
    }
};
struct IPPrefixArg {
    bool bare;
    IPPrefixArg(bool allow_bare = false) : bare(allow_bare) {}
    template <class A, class M>
    bool parse(const String &text, A &address, M &mask, const ArgContext & = ArgContext()) const {
        IPAddress to, of;
        bool right = read(text, to, of);
        address = to;
        mask = of;
        return right;
    }

  private:
    bool read(const String &text, IPAddress &address, IPAddress &mask) const {
        int at = text.find_left('/');
        unsigned length = 32;
        unsigned char named[8];
        if (slowpath_click_lookup(text, 8, named)) {
            address = IPAddress(named);
            mask = IPAddress(named + 4);
            return true;
        }
        if (at < 0 && !bare)
            return false;
        if (at >= 0) {
            String behind = text.substring(at + 1);
            if (slowpath_click_parse(behind, mask))
                return slowpath_click_parse(text.substring(0, at), address);
            if (!slowpath_click_parse(behind, length) || length > 32)
                return false;
        }
        mask = IPAddress::make_prefix(length);
        return slowpath_click_parse(at < 0 ? text : text.substring(0, at), address);
    }
};
inline bool cp_bandwidth(const String &text, uint32_t *value) {
    return BandwidthArg().parse(text, *value);
}
struct ElementArg {
    bool parse(const String &text, Element *&value, const ArgContext &context) const {
        value = cp_element(text, context.context(), context.errh());
        return value;
    }
};
template <> struct DefaultArg<Element *> : ElementArg {};
struct ElementCastArg {
    ElementCastArg(const char *type) : _type(type) {}
    template <class T> bool parse(const String &text, T *&value, const ArgContext &context) const {
        Element *found = cp_element(text, context.context(), context.errh());
        value = found ? (T *) found->cast(_type) : 0;
        if (found && !value && context.errh())
            context.errh()->error("the element is of another class");
        return value;
    }

  private:
    const char *_type;
};

class Args : public ArgContext {
  public:
    enum Flags { mandatory = 1, positional = 2, deprecated = 4, firstmatch = 8 };

    Args(const Vector<String> &conf, const Element *context = 0, ErrorHandler *errh = 0)
        : ArgContext(context, errh), _conf(&conf), _bound(0) {
        begin();
    }
    explicit Args(const Element *context = 0, ErrorHandler *errh = 0)
        : ArgContext(context, errh), _conf(&_own), _bound(0) {
        begin();
    }
    // Reads from these arguments; consume() removes the arguments that were read.
    Args &bind(Vector<String> &conf) {
        _conf = _bound = &conf;
        begin();
        return *this;
    }
    Args &push_back(const String &text) {
        _own.push_back(text);
        return *this;
    }
    Args &push_back_args(const String &text) {
        cp_argvec(text, _own);
        return *this;
    }
    Args &push_back_words(const String &text) {
        cp_spacevec(text, _own);
        return *this;
    }
    bool empty() const { return _conf->empty(); }

    template <class T> Args &read(const char *word, T &x) { return look(word, 0, Plain<T>(), x); }
    template <class T> Args &read(const char *word, Flags flags, T &x) {
        return look(word, flags, Plain<T>(), x);
    }
    template <class P, class T> Args &read(const char *word, Flags flags, P parser, T &x) {
        return look(word, flags, parser, x);
    }
    // Like read(), and stores whether the argument exists.
    template <class T> Args &read(const char *word, bool &found, T &x) {
        return read(word, x).read_status(found);
    }
    template <class P, class T> Args &read(const char *word, bool &found, P parser, T &x) {
        return look(word, 0, parser, x).read_status(found);
    }
    template <class T> Args &read_p(const char *word, bool &found, T &x) {
        return read_p(word, x).read_status(found);
    }
    template <class T> Args &read_m(const char *word, T &x) {
        return look(word, mandatory, Plain<T>(), x);
    }
    template <class T> Args &read_p(const char *word, T &x) {
        return look(word, positional, Plain<T>(), x);
    }
    template <class T> Args &read_mp(const char *word, T &x) {
        return look(word, mandatory | positional, Plain<T>(), x);
    }
    Args &read_status(bool &found) {
        found = _found;
        return *this;
    }
    template <class T, class V> Args &read_or_set(const char *word, T &x, const V &value) {
        x = value;
        return read(word, x);
    }
    template <class T, class V> Args &read_or_set_p(const char *word, T &x, const V &value) {
        x = value;
        return read_p(word, x);
    }
    template <class P, class A, class... B> Args &read(const char *word, P parser, A &a, B &...b) {
        return look(word, 0, parser, a, b...);
    }
    template <class P, class A, class... B>
    Args &read_m(const char *word, P parser, A &a, B &...b) {
        return look(word, mandatory, parser, a, b...);
    }
    template <class P, class A, class... B>
    Args &read_p(const char *word, P parser, A &a, B &...b) {
        return look(word, positional, parser, a, b...);
    }
    template <class P, class A, class... B>
    Args &read_mp(const char *word, P parser, A &a, B &...b) {
        return look(word, mandatory | positional, parser, a, b...);
    }
    // Reads all arguments with a keyword; without a variable, they are only removed.
    Args &read_with(const char *word, AnyArg) {
        Vector<String> nowhere;
        return read_with(word, AnyArg(), nowhere);
    }
    template <class P, class A, class... B>
    Args &read_with(const char *word, P parser, A &a, B &...b) {
        _found = false;
        for (int at = 0; at < _conf->size(); at++)
            if (int value = keyword((*_conf)[at], word)) {
                _taken[at] = _found = true;
                parse((*_conf)[at].substring(value), word, parser, a, b...);
            }
        return *this;
    }
    template <class T> Args &read_all(const char *word, Vector<T> &x) {
        for (int at = 0; at < _conf->size(); at++)
            if (int value = keyword((*_conf)[at], word)) {
                T one;
                _taken[at] = true;
                parse((*_conf)[at].substring(value), word, Plain<T>(), one);
                x.push_back(one);
            }
        return *this;
    }
    int complete() {
        for (int at = 0; at < _conf->size(); at++)
            if (!_taken[at] && !_bad)
                fail("an argument is not understood");
        return execute();
    }
    int execute() { return _bad ? -1 : 0; }
    int consume() {
        if (!_bound)
            return execute();
        int left = 0;
        for (int at = 0; at < _bound->size(); at++)
            if (!_taken[at])
                (*_bound)[left++] = (*_bound)[at];
        _bound->resize(left);
        memset(_taken, 0, sizeof _taken);
        _place = 0;
        return execute();
    }

  private:
    template <class T> using Plain = DefaultArg<T>;

    void begin() {
        _place = 0;
        _bad = _found = false;
        memset(_taken, 0, sizeof _taken);
    }
    void fail(const char *why) {
        _bad = true;
        if (_errh)
            _errh->error(why);
    }
    // Returns where the value begins if an argument is `word` with a value; else a negative number.
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
        for (int at = 0; at < _conf->size(); at++) {
            int value = keyword((*_conf)[at], word);
            if (value) {
                _taken[at] = true;
                return parse((*_conf)[at].substring(value), word, parser, x...);
            }
        }
        while (_place < _conf->size() && (_taken[_place] || has_keyword((*_conf)[_place])))
            _place++;
        if ((flags & positional) && _place < _conf->size()) {
            _taken[_place] = true;
            return parse((*_conf)[_place], word, parser, x...);
        }
        _found = false;
        if (flags & mandatory)
            fail(word);
        return *this;
    }
    template <class P, class... T>
    Args &parse(const String &text, const char *word, P parser, T &...x) {
        if (!parsed(0, text, parser, x...))
            fail(word);
        return *this;
    }
    // Passes the context to parsers that take one.
    template <class P, class... T>
    auto parsed(int, const String &text, P &parser, T &...x)
        -> decltype((bool) parser.parse(text, x..., *(Args *) 0)) {
        return parser.parse(text, x..., *this);
    }
    template <class P, class... T> bool parsed(long, const String &text, P &parser, T &...x) {
        return parser.parse(text, x...);
    }

    const Vector<String> *_conf;
    Vector<String> *_bound;
    Vector<String> _own;
    int _place;
    bool _bad;
    bool _found;  // whether the last argument exists
    bool _taken[SLOWPATH_VECTOR];
};
#endif
