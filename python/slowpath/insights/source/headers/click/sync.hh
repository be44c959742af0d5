// Locks, which are always free because packets run one after the other.
#ifndef SLOWPATH_CLICK_SYNC_HH
#define SLOWPATH_CLICK_SYNC_HH
#include <click/atomic.hh>

class SimpleSpinlock {
  public:
    SLOWPATH_INLINE void acquire() {}
    SLOWPATH_INLINE bool attempt() { return true; }
    SLOWPATH_INLINE void release() {}
};
class Spinlock : public SimpleSpinlock {
  public:
    SLOWPATH_INLINE bool nested() const { return false; }
};
class SpinlockIRQ {
  public:
    typedef int flags_t;
    SLOWPATH_INLINE flags_t acquire() { return 0; }
    SLOWPATH_INLINE void release(flags_t) {}
};
class RWLock {
  public:
    SLOWPATH_INLINE void read_begin() {}
    SLOWPATH_INLINE void read_end() {}
    SLOWPATH_INLINE void read_get() {}
    SLOWPATH_INLINE void write_begin() {}
    SLOWPATH_INLINE bool write_attempt() { return true; }
    SLOWPATH_INLINE void write_end() {}
    SLOWPATH_INLINE bool read_to_write() { return true; }
    SLOWPATH_INLINE void write_to_read() {}
};
typedef RWLock nolock, rXwlock, rXwlockPR, rXwlockPW;
class ReadWriteLock {
  public:
    SLOWPATH_INLINE void acquire_read() {}
    SLOWPATH_INLINE bool attempt_read() { return true; }
    SLOWPATH_INLINE void release_read() {}
    SLOWPATH_INLINE void acquire_write() {}
    SLOWPATH_INLINE bool attempt_write() { return true; }
    SLOWPATH_INLINE void release_write() {}
};
#endif
