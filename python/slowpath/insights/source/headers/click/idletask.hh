// Tasks for idle times, which never run here.
#ifndef SLOWPATH_CLICK_IDLETASK_HH
#define SLOWPATH_CLICK_IDLETASK_HH
#include <click/task.hh>

class IdleTask {
  public:
    IdleTask(Element *) {}
    template <class... A> void initialize(A...) {}
    void reschedule() {}
};
#endif
