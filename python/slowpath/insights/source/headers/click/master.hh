// Threads: a run has one.
#ifndef SLOWPATH_CLICK_MASTER_HH
#define SLOWPATH_CLICK_MASTER_HH
#include <click/router.hh>

class RouterThread {
  public:
    int thread_id() const { return 0; }
};
class Master {
  public:
    int nthreads() const { return 1; }
};
#endif
