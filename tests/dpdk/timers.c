/* Timers that packets set and stop: returns which have fired, in order. */
#include <rte_mbuf.h>
#include <rte_timer.h>

#define TIMERS 4

static struct rte_timer timers[TIMERS];
static int fired;

static void fire(struct rte_timer *timer, void *given)
{
	(void)given;
	fired = fired * (TIMERS + 1) + (int)(timer - timers) + 1;
}

int take(struct rte_mbuf *m)
{
	const uint8_t *b = rte_pktmbuf_mtod(m, const uint8_t *);
	struct rte_timer *timer = &timers[b[0] % TIMERS];

	fired = 0;
	rte_timer_manage();
	switch (b[1]) {
	case 0: rte_timer_reset(timer, b[2] * 1000, SINGLE, 0, fire, NULL); break;
	case 1: rte_timer_reset(timer, b[2] * 1000, PERIODICAL, 0, fire, NULL); break;
	case 2: rte_timer_stop(timer); break;
	}
	return fired;
}
