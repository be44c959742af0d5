// Splitting of configuration text: words at blanks, arguments at commas. Quotes and brackets
// protect their content.
#ifndef SLOWPATH_CLICK_TEXTS_HH
#define SLOWPATH_CLICK_TEXTS_HH
#include <click/error.hh>
#include <click/nameinfo.hh>
#include <click/parsing.hh>
#include <click/router.hh>
#include <click/straccum.hh>
#include <click/vector.hh>

class Element;

inline bool cp_is_space(const String &text) { return text.trim_space().empty(); }
inline bool cp_is_word(const String &text) {
    for (int at = 0; at < text.length(); at++)
        if ((unsigned char) text[at] <= ' ' || text[at] == '"' || text[at] == '\'')
            return false;
    return !text.empty();
}
inline const char *cp_skip_space(const char *at, const char *end) {
    while (at < end && (unsigned char) *at <= ' ')
        at++;
    return at;
}
inline bool cp_eat_space(String &text) {
    const char *at = cp_skip_space(text.begin(), text.end());
    bool any = at > text.begin();
    text = String(at, text.end());
    return any;
}
// Returns the position after a quotation that begins at `at`, or after one character.
inline const char *slowpath_click_past(const char *at, const char *end) {
    char quote = *at++;
    if (quote == '\\' && at < end && *at == '<') {
        while (at < end && *at != '>')
            at++;
        return at < end ? at + 1 : end;
    }
    if (quote != '"' && quote != '\'')
        return at;
    for (; at < end && *at != quote; at++)
        if (quote == '"' && *at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}
inline const char *cp_skip_double_quote(const char *at, const char *end) {
    return at < end && *at == '"' ? slowpath_click_past(at, end) : at;
}
// Returns the end of a word or argument: a blank or comma outside of quotes and brackets.
inline const char *slowpath_click_end_of(const char *at, const char *end, bool commas) {
    int depth = 0;
    while (at < end) {
        char c = *at;
        if (depth == 0 && (commas ? c == ',' : (unsigned char) c <= ' '))
            break;
        if (commas) {
            depth += c == '(' || c == '[' || c == '{';
            depth -= depth && (c == ')' || c == ']' || c == '}');
        }
        at = slowpath_click_past(at, end);
    }
    return at;
}

// Removes comments, and blanks around the text.
inline String cp_uncomment(const String &text) {
    String made;
    for (const char *at = text.begin(), *end = text.end(); at < end;) {
        bool line = at + 1 < end && at[0] == '/' && at[1] == '/';
        bool block = at + 1 < end && at[0] == '/' && at[1] == '*';
        if (line || block) {
            for (at += 2; at < end; at++)
                if (line ? *at == '\n' : at[-1] == '*' && *at == '/')
                    break;
            at += at < end;
            made += ' ';
            continue;
        }
        const char *next = slowpath_click_past(at, end);
        made.append(at, next);
        at = next;
    }
    return made.trim_space();
}
// Removes quotation marks, and resolves backslashes in quotes.
inline String cp_unquote(const String &given) {
    String text = cp_uncomment(given), made;
    for (const char *at = text.begin(), *end = text.end(); at < end;) {
        char quote = *at;
        const char *next = slowpath_click_past(at, end);
        if (quote == '\'')
            made.append(at + 1, next - 1);
        else if (quote == '\\' && next > at + 1) {  // \<hex>
            unsigned value = 0, digits = 0;
            for (const char *digit = at + 2; digit + 1 < next; digit++) {
                char c = *digit | 0x20;
                bool number = c >= '0' && c <= '9';
                if (!number && !(c >= 'a' && c <= 'f'))
                    continue;
                value = value * 16 + (number ? c - '0' : c - 'a' + 10);
                if (++digits % 2 == 0)
                    made += (char) value;
            }
        } else if (quote == '"') {
            for (const char *in = at + 1; in + 1 < next; in++) {
                if (*in == '\\' && in + 2 < next) {
                    in++;
                    made += *in == 'n' ? '\n' : *in == 't' ? '\t' : *in == 'r' ? '\r'
                            : *in == '0' ? '\0' : *in;
                } else
                    made += *in;
            }
        } else
            made.append(at, next);
        at = next;
    }
    return made;
}
inline bool slowpath_click_parse(const String &text, String &value) {
    value = cp_unquote(text);
    return true;
}
// Puts text in quotation marks.
inline String cp_quote(const String &text, bool = false) {
    String made = "\"";
    for (int at = 0; at < text.length(); at++) {
        if (text[at] == '"' || text[at] == '\\')
            made += '\\';
        made += text[at];
    }
    return made + "\"";
}

inline void cp_argvec(const String &given, Vector<String> &found) {
    String text = cp_uncomment(given);
    for (const char *at = text.begin(), *end = text.end(); at < end;) {
        const char *last = slowpath_click_end_of(at, end, true);
        found.push_back(String(at, last).trim_space());
        at = last + 1;
    }
}
inline void cp_spacevec(const String &given, Vector<String> &found) {
    String text = cp_uncomment(given);
    for (const char *at = text.begin(), *end = text.end(); at < end;) {
        const char *last = slowpath_click_end_of(at, end, false);
        found.push_back(String(at, last));
        at = cp_skip_space(last, end);
    }
}
// Removes and returns the first word; empty if there is none.
inline String cp_shift_spacevec(String &text) {
    text = cp_uncomment(text);
    const char *last = slowpath_click_end_of(text.begin(), text.end(), false);
    String word(text.begin(), last);
    text = String(cp_skip_space(last, text.end()), text.end());
    return word;
}
inline String cp_pop_spacevec(String &text) {
    Vector<String> words;
    cp_spacevec(text, words);
    text = String();
    for (int at = 0; at + 1 < words.size(); at++)
        text += (at ? " " : "") + words[at];
    return words.size() ? words.back() : String();
}
inline String slowpath_click_join(const Vector<String> &words, const char *between) {
    String made;
    for (int at = 0; at < words.size(); at++)
        made += (at ? between : "") + words[at];
    return made;
}
inline String cp_unargvec(const Vector<String> &words) { return slowpath_click_join(words, ", "); }
inline String cp_unspacevec(const Vector<String> &words) { return slowpath_click_join(words, " "); }
inline String cp_unspacevec(const String *first, const String *end) {
    String made;
    for (const String *at = first; at < end; at++)
        made += (at > first ? " " : "") + *at;
    return made;
}

inline bool cp_string(const String &given, String *value, String *rest = 0) {
    String text = given, word = rest ? cp_shift_spacevec(text) : given;
    if (word.empty())
        return false;
    *value = cp_unquote(word);
    if (rest)
        *rest = text;
    return true;
}
inline bool cp_word(const String &given, String *value, String *rest = 0) {
    String found, left;
    if (!cp_string(given, &found, rest ? &left : 0) || !cp_is_word(found))
        return false;
    *value = found;
    if (rest)
        *rest = left;
    return true;
}
// Parses a list of addresses.
inline bool slowpath_click_parse(const String &text, Vector<IPAddress> &value) {
    Vector<String> words;
    Vector<IPAddress> found;
    cp_spacevec(text, words);
    for (int at = 0; at < words.size(); at++) {
        found.push_back(IPAddress());
        if (!slowpath_click_parse(words[at], found.back()))
            return false;
    }
    value = found;
    return true;
}
template <class T> inline bool slowpath_click_into(const String &text, T *value) {
    return slowpath_click_parse(text, *value);
}
template <class T> inline bool cp_integer(const String &text, T *value) {
    return slowpath_click_parse(text, *value);
}
template <class T> inline bool cp_integer(const String &text, int base, T *value) {
    return slowpath_click_parse(text, *value, base);
}
// Parses the number at the start of a text; returns its end, or `first` if there is no number.
template <class T>
inline const char *cp_integer(const char *first, const char *end, int base, T *value) {
    const char *at = first + (first < end && *first == '-');
    int told = slowpath_click_base(at, end, base);
    while (at < end && slowpath_click_digit(*at) < told)
        at++;
    return slowpath_click_parse(String(first, at), *value, base) ? at : first;
}
template <class T>
inline const unsigned char *cp_integer(const unsigned char *first, const unsigned char *end, int base,
                                       T *value) {
    return (const unsigned char *) cp_integer((const char *) first, (const char *) end, base, value);
}
inline bool cp_bool(const String &text, bool *value) { return slowpath_click_into(text, value); }
inline bool cp_time(const String &text, Timestamp *value, bool = false) {
    return slowpath_click_into(text, value);
}
inline bool cp_ip_address(const String &text, IPAddress *value, const Element * = 0) {
    return slowpath_click_into(text, value);
}
inline bool cp_ethernet_address(const String &text, EtherAddress *value, const Element * = 0) {
    return slowpath_click_into(text, value);
}
// Finds an element by name; a run knows only one.
inline Element *cp_element(const String &text, const Element *, ErrorHandler *errh = 0,
                           const char * = 0) {
    return slowpath_click_router.find(text, 0, errh);
}

// Formats a fixed-point number with `bits` fractional bits, with six digits.
inline String cp_unparse_real2(uint64_t value, int bits) {
    uint64_t mask = ((uint64_t) 1 << bits) - 1, rest = value & mask;
    String made((unsigned long long) (value >> bits));
    for (int place = 0; place < 6 && rest; place++) {
        made += place ? "" : ".";
        rest = (rest & mask) * 10;
        made += (char) ('0' + (rest >> bits));
        rest &= mask;
    }
    return made;
}
inline String cp_unparse_microseconds(uint32_t value) {
    return Timestamp::make_usec((int64_t) value).unparse();
}
#endif
