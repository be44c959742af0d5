// Texts, as functions that a test calls: each gives what it has found as a text.
#include <click/args.hh>
#include <click/handlercall.hh>
#include <click/ip6address.hh>
#include <setjmp.h>

class Plain : public Element {
    const char *class_name() const { return "Plain"; }
};

extern "C" {
// Where a test goes on when what it calls ends the run.
static jmp_buf ended;
void slowpath_click_text_is_too_long(void) { longjmp(ended, 1); }
void slowpath_click_router_is_full(void) { longjmp(ended, 1); }
void slowpath_click_vector_is_full(void) { __builtin_trap(); }
void slowpath_click_buffer_is_full(void) { __builtin_trap(); }
void slowpath_click_no_such_output(void) { __builtin_trap(); }

static char given[String::most + 1];
static const char *give(const String &text) {
    memcpy(given, text.c_str(), text.length() + 1);
    return given;
}
static const char *give(bool right, const String &text) { return right ? give(text) : 0; }
static const char *joined(const Vector<String> &words) {
    String made;
    for (int at = 0; at < words.size(); at++)
        made += (at ? "|" : "") + words[at];
    return give(made);
}

const char *unquoted(const char *text) { return give(cp_unquote(text)); }
const char *quoted(const char *text) { return give(cp_quote(text)); }
const char *uncommented(const char *text) { return give(cp_uncomment(text)); }
const char *words_of(const char *text) {
    Vector<String> words;
    cp_spacevec(text, words);
    return joined(words);
}
const char *shifted(const char *text) {
    Vector<String> words;
    for (String left = text; String word = cp_shift_spacevec(left);)
        words.push_back(word);
    return joined(words);
}
const char *arguments_of(const char *text) {
    Vector<String> words;
    cp_argvec(text, words);
    return joined(words);
}
const char *integer(const char *text, int bits, int base) {
    if (bits == 32) {
        int32_t value;
        return give(IntArg(base).parse(text, value), String(value));
    }
    if (bits == -8) {
        uint8_t value;
        return give(IntArg(base).parse(text, value), String((int) value));
    }
    uint64_t value;
    return give(IntArg(base).parse(text, value), String((unsigned long) value));
}
int integer_begins(const char *text, int base) {
    int value = 0;
    return cp_integer(text, text + strlen(text), base, &value) - text;
}
int integer_status(const char *text) {
    IntArg arg;
    uint16_t value;
    arg.parse(text, value);
    return arg.status == IntArg::status_range ? 2 : arg.status == IntArg::status_ok ? 0 : 1;
}
long saturated(const char *text) {
    uint32_t value = 0;
    return IntArg().parse_saturating(text, value) ? (long) value : -1;
}
const char *seconds(const char *text, int digits) {
    int64_t value;
    return give(SecondsArg(digits).parse(text, value), String((long) value));
}
const char *fixed(const char *text, int bits) {
    int64_t value;
    return give(FixedPointArg(bits).parse(text, value), String((long) value));
}
const char *unparsed_fixed(uint64_t value, int bits) { return give(cp_unparse_real2(value, bits)); }
const char *bandwidth(const char *text) {
    uint32_t value;
    return give(BandwidthArg().parse(text, value), String(value));
}
const char *moment(const char *text) {
    Timestamp value;
    return give(cp_time(text, &value), value.unparse());
}
const char *prefix(const char *text, int bare) {
    IPAddress address, mask;
    bool right = IPPrefixArg(bare).parse(text, address, mask);
    return give(right, address.unparse_with_mask(mask));
}
const char *address6(const char *text) {
    IP6Address value;
    return give(cp_ip6_address(text, &value), value.unparse());
}
const char *prefix6(const char *text) {
    IP6Address value, mask;
    return give(IP6PrefixArg().parse(text, value, mask), value.unparse_with_mask(mask));
}
const char *ethernet(const char *text) {
    EtherAddress value;
    return give(EtherAddressArg().parse(text, value), value.unparse_colon());
}
const char *port(const char *text, int protocol) {
    uint16_t value;
    return give(IPPortArg(protocol).parse(text, value), String(value));
}
const char *named(uint32_t type, const char *text) {
    int value;
    return give(NameInfo::query_int(type, 0, text, &value), String(value));
}
void define(uint32_t type, const char *text, int value) {
    NameInfo::define_int(type, 0, text, value);
}
const char *name_of(uint32_t type, int value) {
    return give(NameInfo::revquery_int(type, 0, value));
}
int annotation(const char *text, int size) {
    int value;
    return AnnoArg(size).parse(text, value) ? value : -1;
}

// Arguments in any order: an address, numbers, what is left over.
const char *configured(const char *text) {
    Vector<String> conf, extra;
    cp_argvec(text, conf);
    ErrorHandler errors;
    IPAddress address;
    int count = 7, total = 0;
    bool given_count = false, verbose = false;
    Vector<int> all;
    HandlerCall call;
    slowpath_click_totals.said = 0;
    if (Args((const Element *) 0, &errors)
            .bind(conf)
            .read_mp("ADDR", address)
            .read("COUNT", given_count, IntArg(), count)
            .read_all("ADD", all)
            .read_with("WITH", AnyArg(), extra)
            .read("CALL", HandlerCallArg(HandlerCall::writable), call)
            .read_or_set("VERBOSE", verbose, true)
            .consume() < 0)
        return give(String("error ") + slowpath_click_totals.said + " "
                    + String(errors.nerrors()));
    for (int at = 0; at < all.size(); at++)
        total += all[at];
    String left = cp_unargvec(conf);
    return give(address.unparse() + " " + String(count) + " " + String(given_count) + " "
                + String(total) + " " + cp_unspacevec(extra) + " " + call.unparse() + " "
                + String(verbose) + " [" + left + "]");
}

const char *put_together(int number, unsigned address, long nanoseconds) {
    StringAccum made;
    made << "n=" << number << ' ' << IPAddress(address) << ' ' << String("x") << true
         << Timestamp::make_nsec((int64_t) nanoseconds);
    made.pop_back(3);
    made.append_fill('-', 2);
    return give(made.take_string());
}
// The length of a text that is put together of so many characters; -1: it is too long.
int put_together_of(int characters) {
    StringAccum made;
    if (setjmp(ended))
        return -1;
    for (int at = 0; at < characters; at++)
        made << (char) ('a' + at % 26);
    return made.take_string().length();
}
int text_of(int characters, int at_once) {
    if (setjmp(ended))
        return -1;
    String made;
    for (int left = characters; left > 0; left -= at_once)
        made += String::make_garbage(left < at_once ? left : at_once);
    return made.length();
}
// Texts that are copied and changed.
static String kept[4];
void keep(int to, const char *text) { kept[to] = text; }
void change(int action, int to, int from, int at) {
    if (action == 0)
        kept[to] = kept[from];
    else if (action == 1)
        kept[to] += kept[from];
    else if (action == 2)
        kept[to] += (char) ('a' + at % 26);
    else if (action == 3)
        kept[to] = kept[from].substring(at % 300);
    else if (action == 4)
        kept[to] = kept[from].upper();
    else if (kept[to])
        kept[to].mutable_data()[at % kept[to].length()] = '-';
}
const char *kept_as(int which) { return kept[which].c_str(); }
int kept_length(int which) { return kept[which].length(); }

// So many names, each with a value of its own: how many are right; -1: they are too many.
int shared(int names) {
    Router router = {};
    if (setjmp(ended))
        return -1;
    for (int at = 0; at < names; at++)
        router.force_attachment("name" + String(at)) = &router._values[at];
    int right = 0;
    for (int at = 0; at < names; at++)
        right += router.attachment("name" + String(at)) == &router._values[at];
    return right;
}
// Which output a reference to a port pushes to, after another one was asked for.
int pushes_to(int number, int other) {
    Plain plain;
    const Element::Port &port = plain.port(true, number), &behind = plain.port(true, other);
    if (&port == &plain.port(false, number))
        return -1;
    slowpath_click_totals = {};
    port.push(Packet::make(60));
    for (int at = 0; at < SLOWPATH_PORTS; at++)
        if (slowpath_click_totals.pushed[at])
            return at;
    return -1;
}
const char *masked6(const char *text, const char *mask) {
    return give(IP6Address(String(text)).unparse_with_mask(IP6Address(String(mask))));
}
const char *part_of(const char *text, int at, int length) {
    return give(String(text).substring(at, length));
}
int ordered(const char *x, const char *y) {
    return String(x) < String(y) ? -1 : String(x) == String(y) ? 0 : 1;
}
int found_at(const char *text, const char *other) { return String(text).find_left(String(other)); }
int found_last(const char *text, int c) { return String(text).find_right((char) c); }
}
