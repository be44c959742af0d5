// Timers, which never run here.
#ifndef SLOWPATH_CLICK_TIMER_HH
#define SLOWPATH_CLICK_TIMER_HH
#include <click/element.hh>

class Timer;
typedef void (*TimerCallback)(Timer *, void *);

class Timer {
  public:
    Timer() : _expiry(), _scheduled(false) {}
    Timer(Element *) : _expiry(), _scheduled(false) {}
    Timer(Task *) : _expiry(), _scheduled(false) {}
    Timer(TimerCallback, void *) : _expiry(), _scheduled(false) {}
    static Timestamp adjustment() { return Timestamp(); }  // timers are never late
    static void do_nothing_hook(Timer *, void *) {}
    void assign() {}
    void assign(Element *) {}
    void assign(TimerCallback, void *) {}
    void initialize(Element *, bool = false) {}
    bool initialized() const { return true; }
    int home_thread_id() const { return 0; }
    void move_thread(int) {}
    SLOWPATH_INLINE bool scheduled() const { return _scheduled; }
    SLOWPATH_INLINE Timestamp expiry() const { return _expiry; }
    SLOWPATH_INLINE Timestamp expiry_steady() const { return _expiry; }
    SLOWPATH_INLINE void schedule_at(const Timestamp &at) {
        _expiry = at;
        _scheduled = true;
    }
    SLOWPATH_INLINE void schedule_at_steady(const Timestamp &at) { schedule_at(at); }
    SLOWPATH_INLINE void schedule_now() { schedule_at(Timestamp::now()); }
    SLOWPATH_INLINE void schedule_after(const Timestamp &time) {
        schedule_at(Timestamp::now() + time);
    }
    SLOWPATH_INLINE void schedule_after_sec(uint32_t time) {
        schedule_after(Timestamp((long) time));
    }
    SLOWPATH_INLINE void schedule_after_msec(uint32_t time) {
        schedule_after(Timestamp::make_msec((int64_t) time));
    }
    SLOWPATH_INLINE void reschedule_at(const Timestamp &at) { schedule_at(at); }
    SLOWPATH_INLINE void reschedule_after(const Timestamp &time) { schedule_at(_expiry + time); }
    SLOWPATH_INLINE void reschedule_after_sec(uint32_t time) {
        reschedule_after(Timestamp((long) time));
    }
    SLOWPATH_INLINE void reschedule_after_msec(uint32_t time) {
        reschedule_after(Timestamp::make_msec((int64_t) time));
    }
    SLOWPATH_INLINE void reschedule_at_steady(const Timestamp &at) { schedule_at(at); }
    SLOWPATH_INLINE void schedule_after_s(uint32_t time) { schedule_after_sec(time); }
    SLOWPATH_INLINE void schedule_after_ms(uint32_t time) { schedule_after_msec(time); }
    SLOWPATH_INLINE void unschedule() { _scheduled = false; }
    SLOWPATH_INLINE void clear() { _scheduled = false; }

  private:
    Timestamp _expiry;
    bool _scheduled;
};
#endif
