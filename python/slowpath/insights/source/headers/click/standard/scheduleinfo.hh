// Scheduling of tasks, which never run here.
#ifndef SLOWPATH_CLICK_STANDARD_SCHEDULEINFO_HH
#define SLOWPATH_CLICK_STANDARD_SCHEDULEINFO_HH
#include <click/element.hh>
#include <click/task.hh>

class ScheduleInfo {
  public:
    enum { FRAC_BITS = 10, DEFAULT = 1 << FRAC_BITS };
    static int query(Element *, ErrorHandler *) { return DEFAULT; }
    static bool query(Element *, int &tickets) {
        tickets = DEFAULT;
        return true;
    }
    static void initialize_task(Element *e, Task *task, bool schedule, ErrorHandler *) {
        task->initialize(e, schedule);
    }
    static void initialize_task(Element *e, Task *task, ErrorHandler *errh) {
        initialize_task(e, task, true, errh);
    }
    static void join_scheduler(Element *e, Task *task, ErrorHandler *errh) {
        initialize_task(e, task, true, errh);
    }
};
#endif
