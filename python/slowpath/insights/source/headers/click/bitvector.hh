// A vector of bits with a limited length.
#ifndef SLOWPATH_CLICK_BITVECTOR_HH
#define SLOWPATH_CLICK_BITVECTOR_HH
#include <click/string.hh>
#include <click/vector.hh>

class Bitvector {
  public:
    enum { most = SLOWPATH_VECTOR };

    class Bit {
      public:
        Bit(uint32_t &word, uint32_t mask) : _word(word), _mask(mask) {}
        SLOWPATH_INLINE operator bool() const { return _word & _mask; }
        SLOWPATH_INLINE Bit &operator=(bool x) {
            _word = x ? _word | _mask : _word & ~_mask;
            return *this;
        }
        SLOWPATH_INLINE Bit &operator=(const Bit &x) { return *this = (bool) x; }
        SLOWPATH_INLINE Bit &operator|=(bool x) { return *this = *this || x; }
        SLOWPATH_INLINE Bit &operator&=(bool x) { return *this = *this && x; }

      private:
        uint32_t &_word;
        uint32_t _mask;
    };

    Bitvector() : _size(0) { clear(); }
    explicit Bitvector(int size, bool value = false) : _size(0) { assign(size, value); }

    SLOWPATH_INLINE int size() const { return _size; }
    SLOWPATH_INLINE bool operator[](int at) const { return _words[at / 32] >> at % 32 & 1; }
    SLOWPATH_INLINE Bit operator[](int at) {
        return Bit(_words[at / 32], (uint32_t) 1 << at % 32);
    }
    // Returns a text such as "0110", first bit first.
    String unparse() const {
        String made;
        for (int at = 0; at < _size; at++)
            made += (*this)[at] ? '1' : '0';
        return made;
    }
    bool zero() const {
        for (int at = 0; at < words; at++)
            if (_words[at])
                return false;
        return true;
    }
    int weight() const {
        int count = 0;
        for (int at = 0; at < words; at++)
            count += __builtin_popcount(_words[at]);
        return count;
    }
    void clear() { memset(_words, 0, sizeof _words); }
    void resize(int size) { extend(size, false); }
    void push_back(bool value) { extend(_size + 1, value); }
    void assign(int size, bool value) {
        clear();
        _size = 0;
        extend(size, value);
    }
    bool operator==(const Bitvector &x) const {
        return _size == x._size && memcmp(_words, x._words, sizeof _words) == 0;
    }
    Bitvector &operator|=(const Bitvector &x) {
        for (int at = 0; at < words; at++)
            _words[at] |= x._words[at];
        return *this;
    }
    Bitvector &operator&=(const Bitvector &x) {
        for (int at = 0; at < words; at++)
            _words[at] &= x._words[at];
        return *this;
    }

  private:
    enum { words = (most + 31) / 32 };
    void extend(int size, bool value) {
        if (size > most)
            slowpath_click_vector_is_full();
        int from = _size < size ? _size : size;
        _size = size;
        for (int at = from; at < most; at++)
            (*this)[at] = value && at < size;
    }
    uint32_t _words[words];
    int _size;
};
#endif
