// Locks, which are free: packets run one after the other.
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
