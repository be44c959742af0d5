/* Timers in a list sorted by expiry. `rte_timer_manage` calls the functions of expired timers; the current time is the
 * packet's. */
#ifndef SLOWPATH_DPDK_TIMER_H
#define SLOWPATH_DPDK_TIMER_H
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_spinlock.h>

#define RTE_TIMER_STOP 0
#define RTE_TIMER_PENDING 1
#define RTE_TIMER_RUNNING 2
#define RTE_TIMER_CONFIG 3
#define RTE_TIMER_NO_OWNER -2
#define MAX_SKIPLIST_DEPTH 10

enum rte_timer_type { SINGLE, PERIODICAL };
union rte_timer_status {
	struct {
		uint16_t state;
		int16_t owner;
	};
	uint32_t u32;
};
struct rte_timer;
typedef void (*rte_timer_cb_t)(struct rte_timer *timer, void *given);
struct rte_timer {
	uint64_t expire;
	struct rte_timer *sl_next[MAX_SKIPLIST_DEPTH]; /* only the first link is used */
	volatile union rte_timer_status status;
	uint64_t period;
	rte_timer_cb_t f;
	void *arg;
};
#define RTE_TIMER_INITIALIZER { .status = {{ .state = RTE_TIMER_STOP, .owner = RTE_TIMER_NO_OWNER }} }

SLOWPATH_C SLOWPATH_ONE struct rte_timer *rte_timer_next = 0;

SLOWPATH_INLINE void slowpath_dpdk_timed(struct rte_timer *timer, uint16_t state, int16_t owner)
{
	timer->status.state = state;
	timer->status.owner = owner;
}
SLOWPATH_KEPT void rte_timer_unlinked(struct rte_timer *timer)
{
	struct rte_timer **at = &rte_timer_next;

	SLOWPATH_LOOP while (*at && *at != timer)
		at = &(*at)->sl_next[0];
	if (*at)
		*at = timer->sl_next[0];
}
SLOWPATH_KEPT void rte_timer_linked(struct rte_timer *timer)
{
	struct rte_timer **at = &rte_timer_next;

	SLOWPATH_LOOP while (*at && (*at)->expire <= timer->expire)
		at = &(*at)->sl_next[0];
	timer->sl_next[0] = *at;
	*at = timer;
	slowpath_dpdk_timed(timer, RTE_TIMER_PENDING, 0);
}

SLOWPATH_INLINE int rte_timer_subsystem_init(void) { return 0; }
SLOWPATH_INLINE void rte_timer_subsystem_finalize(void) { }
SLOWPATH_INLINE void rte_timer_init(struct rte_timer *timer)
{
	slowpath_dpdk_timed(timer, RTE_TIMER_STOP, RTE_TIMER_NO_OWNER);
}
SLOWPATH_INLINE int rte_timer_pending(struct rte_timer *timer) { return timer->status.state == RTE_TIMER_PENDING; }
SLOWPATH_INLINE int rte_timer_stop(struct rte_timer *timer)
{
	if (rte_timer_pending(timer))
		rte_timer_unlinked(timer);
	rte_timer_init(timer);
	return 0;
}
SLOWPATH_INLINE int rte_timer_reset(struct rte_timer *timer, uint64_t ticks, enum rte_timer_type type, unsigned lcore,
				    rte_timer_cb_t called, void *given)
{
	(void)lcore;
	if (rte_timer_pending(timer))
		rte_timer_unlinked(timer);
	timer->expire = rte_get_timer_cycles() + ticks;
	timer->period = type == PERIODICAL ? ticks : 0;
	timer->f = called;
	timer->arg = given;
	rte_timer_linked(timer);
	return 0;
}
#define rte_timer_reset_sync(...) ((void)rte_timer_reset(__VA_ARGS__))
#define rte_timer_stop_sync(timer) ((void)rte_timer_stop(timer))

/* Calls the functions of expired timers. A periodic timer that its function neither stops nor sets then waits for
 * another period. */
SLOWPATH_KEPT int rte_timer_manage(void)
{
	struct rte_timer *due = rte_timer_next, **at = &rte_timer_next, *next;

	SLOWPATH_LOOP while (*at && (*at)->expire <= rte_get_timer_cycles()) {
		slowpath_dpdk_timed(*at, RTE_TIMER_RUNNING, 0);
		at = &(*at)->sl_next[0];
	}
	next = *at;
	*at = 0;
	if (at == &rte_timer_next)
		due = 0;
	rte_timer_next = next;
	SLOWPATH_LOOP for (; due; due = next) {
		next = due->sl_next[0];
		due->f(due, due->arg);
		if (due->status.state != RTE_TIMER_RUNNING)
			continue;
		slowpath_dpdk_timed(due, RTE_TIMER_STOP, RTE_TIMER_NO_OWNER);
		if (due->period) {
			due->expire += due->period;
			rte_timer_linked(due);
		}
	}
	return 0;
}
#endif
