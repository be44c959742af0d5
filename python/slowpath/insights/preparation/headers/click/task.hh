// Tasks, which never run here.
#ifndef SLOWPATH_CLICK_TASK_HH
#define SLOWPATH_CLICK_TASK_HH
#include <click/element.hh>

class Task {
  public:
    Task(Element *) {}
    void initialize(Element *, bool) {}
    bool scheduled() const { return false; }
    void reschedule() {}
    void fast_reschedule() {}
    void unschedule() {}
};
#endif
