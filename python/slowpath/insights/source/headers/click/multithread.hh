// FastClick's per-thread variables; a run has one core.
#ifndef CLICK_MULTITHREAD_HH
#define CLICK_MULTITHREAD_HH
#include <click/bitvector.hh>
#include <click/sync.hh>
#include <click/task.hh>
#include <click/vector.hh>

template <class T> class per_thread {
  public:
    per_thread() : _value() {}
    explicit per_thread(const T &value) : _value(value) {}
    T *operator->() { return &_value; }
    const T *operator->() const { return &_value; }
    T &operator*() { return _value; }
    const T &operator*() const { return _value; }
    T &get() { return _value; }
    const T &get() const { return _value; }
    void set(const T &value) { _value = value; }
    T &get_value(int) { return _value; }
    const T &get_value(int) const { return _value; }
    void set_value(int, const T &value) { _value = value; }
    T &get_value_for_thread(int) { return _value; }
    const T &get_value_for_thread(int) const { return _value; }
    bool initialized() const { return true; }
    int get_mapping(int) const { return 0; }
    void resize(unsigned) {}
    void compress(const Bitvector &) {}
    unsigned size() const { return 1; }
    T *begin() { return &_value; }
    T *end() { return &_value + 1; }
    unsigned weight() const { return 1; }

  private:
    T _value;
};
template <class T> using per_thread_oread = per_thread<T>;
template <class T> using per_thread_omem = per_thread<T>;
template <class T> using not_per_thread = per_thread<T>;

#define PER_THREAD_SUM(type, sum, pt) type sum = (pt).get();
#define PER_THREAD_MEMBER_SUM(type, sum, pt, member) type sum = (pt)->member;
#endif
