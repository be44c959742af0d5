// Tasks, which never run here.
#ifndef SLOWPATH_CLICK_TASK_HH
#define SLOWPATH_CLICK_TASK_HH
#include <click/element.hh>

// Returns true if the first of two pass numbers is later.
#define PASS_GT(x, y) ((int) ((x) - (y)) > 0)

typedef bool (*TaskCallback)(Task *, void *);

class Task {
  public:
    enum { DEFAULT_TICKETS = 1024, MAX_TICKETS = 1 << 15 };

    Task(Element *) {}
    Task(TaskCallback, void *) {}
    template <class... A> Task(TaskCallback, void *, A...) {}
    template <class... A> Task(Element *, A...) {}
    void initialize(Element *, bool) {}
    bool initialized() const { return true; }
    bool scheduled() const { return false; }
    int tickets() const { return DEFAULT_TICKETS; }
    void set_tickets(int) {}
    int home_thread_id() const { return 0; }
    void move_thread(int) {}
    void reschedule() {}
    void fast_reschedule() {}
    void unschedule() {}
    void strong_reschedule() {}
    void strong_unschedule() {}
};
#endif
