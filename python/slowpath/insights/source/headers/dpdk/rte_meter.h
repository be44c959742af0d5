/* Meters with two buckets and three colours: srTCM (RFC 2697), trTCM (RFC 2698) and the trTCM of RFC 4115. Buckets get
 * tokens periodically; structures have the layout of DPDK 22.11. */
#ifndef SLOWPATH_DPDK_METER_H
#define SLOWPATH_DPDK_METER_H
#include <rte_common.h>
#include <rte_cycles.h>

enum rte_color { RTE_COLOR_GREEN = 0, RTE_COLOR_YELLOW, RTE_COLOR_RED, RTE_COLORS };

/* Rates in bytes per second, and bucket sizes in bytes. */
struct rte_meter_srtcm_params { uint64_t cir, cbs, ebs; };
struct rte_meter_trtcm_params { uint64_t cir, pir, cbs, pbs; };
struct rte_meter_trtcm_rfc4115_params { uint64_t cir, eir, cbs, ebs; };

struct rte_meter_srtcm_profile { uint64_t cbs, ebs, cir_period, cir_bytes_per_period; };
struct rte_meter_trtcm_profile {
	uint64_t cbs, pbs, cir_period, cir_bytes_per_period, pir_period, pir_bytes_per_period;
};
struct rte_meter_trtcm_rfc4115_profile {
	uint64_t cbs, ebs, cir_period, cir_bytes_per_period, eir_period, eir_bytes_per_period;
};
struct rte_meter_srtcm { uint64_t time, tc, te; };
struct rte_meter_trtcm { uint64_t time_tc, time_tp, tc, tp; };
struct rte_meter_trtcm_rfc4115 { uint64_t time_tc, time_te, tc, te; };

/* Minimum number of cycles between two updates of a bucket. */
#define SLOWPATH_PERIOD 100

/* Computes the period in cycles for one token; if that is too short, the shortest period and its tokens. */
SLOWPATH_INLINE void slowpath_dpdk_rate(uint64_t rate, uint64_t *period, uint64_t *tokens)
{
	uint64_t hz = rte_get_tsc_hz();

	*tokens = rate ? (SLOWPATH_PERIOD * rate + hz - 1) / hz : 0;
	*period = rate ? hz * *tokens / rate : SLOWPATH_PERIOD;
}

/* Returns the number of whole periods since `*since`, and advances it by them. */
SLOWPATH_INLINE uint64_t slowpath_dpdk_periods(uint64_t *since, uint64_t now, uint64_t period)
{
	uint64_t whole = (now - *since) / period;

	*since += whole * period;
	return whole;
}
SLOWPATH_INLINE uint64_t slowpath_dpdk_filled(uint64_t had, uint64_t more, uint64_t most)
{
	return had + more < most ? had + more : most;
}

/* Takes a packet's bytes from the first bucket, else from the second. */
SLOWPATH_INLINE enum rte_color slowpath_dpdk_first_or_second(uint64_t *first, uint64_t *second, uint32_t length,
							     enum rte_color color)
{
	if (color == RTE_COLOR_GREEN && *first >= length) {
		*first -= length;
		return RTE_COLOR_GREEN;
	}
	if (color == RTE_COLOR_RED || *second < length)
		return RTE_COLOR_RED;
	*second -= length;
	return RTE_COLOR_YELLOW;
}

SLOWPATH_INLINE enum rte_color rte_meter_srtcm_color_aware_check(struct rte_meter_srtcm *m,
								 struct rte_meter_srtcm_profile *p, uint64_t time,
								 uint32_t length, enum rte_color color)
{
	uint64_t tokens = m->tc + slowpath_dpdk_periods(&m->time, time, p->cir_period) * p->cir_bytes_per_period;

	/* Tokens that do not fit into the first bucket go into the second. */
	if (tokens > p->cbs) {
		m->te = slowpath_dpdk_filled(m->te, tokens - p->cbs, p->ebs);
		tokens = p->cbs;
	}
	m->tc = tokens;
	return slowpath_dpdk_first_or_second(&m->tc, &m->te, length, color);
}

SLOWPATH_INLINE enum rte_color rte_meter_trtcm_color_aware_check(struct rte_meter_trtcm *m,
								 struct rte_meter_trtcm_profile *p, uint64_t time,
								 uint32_t length, enum rte_color color)
{
	uint64_t committed = slowpath_dpdk_periods(&m->time_tc, time, p->cir_period) * p->cir_bytes_per_period;
	uint64_t peak = slowpath_dpdk_periods(&m->time_tp, time, p->pir_period) * p->pir_bytes_per_period;

	m->tc = slowpath_dpdk_filled(m->tc, committed, p->cbs);
	m->tp = slowpath_dpdk_filled(m->tp, peak, p->pbs);
	if (color == RTE_COLOR_RED || m->tp < length)
		return RTE_COLOR_RED;
	m->tp -= length;
	if (color == RTE_COLOR_YELLOW || m->tc < length)
		return RTE_COLOR_YELLOW;
	m->tc -= length;
	return RTE_COLOR_GREEN;
}

SLOWPATH_INLINE enum rte_color rte_meter_trtcm_rfc4115_color_aware_check(struct rte_meter_trtcm_rfc4115 *m,
									 struct rte_meter_trtcm_rfc4115_profile *p,
									 uint64_t time, uint32_t length,
									 enum rte_color color)
{
	uint64_t committed = slowpath_dpdk_periods(&m->time_tc, time, p->cir_period) * p->cir_bytes_per_period;
	uint64_t excess = slowpath_dpdk_periods(&m->time_te, time, p->eir_period) * p->eir_bytes_per_period;

	m->tc = slowpath_dpdk_filled(m->tc, committed, p->cbs);
	m->te = slowpath_dpdk_filled(m->te, excess, p->ebs);
	return slowpath_dpdk_first_or_second(&m->tc, &m->te, length, color);
}

/* Colour-blind meters treat all packets as green. Buckets are full initially. */
#define SLOWPATH_METER(kind, second, full, wrong, asked) \
	SLOWPATH_INLINE enum rte_color kind##_color_blind_check(struct kind *m, struct kind##_profile *p, \
								uint64_t time, uint32_t length) \
	{ \
		return kind##_color_aware_check(m, p, time, length, RTE_COLOR_GREEN); \
	} \
	SLOWPATH_INLINE int kind##_profile_config(struct kind##_profile *p, struct kind##_params *params) \
	{ \
		if (!p || !params || (wrong)) \
			return -EINVAL; \
		p->cbs = params->cbs; \
		p->full = params->full; \
		slowpath_dpdk_rate(params->cir, &p->cir_period, &p->cir_bytes_per_period); \
		asked; \
		return 0; \
	} \
	SLOWPATH_INLINE int kind##_config(struct kind *m, struct kind##_profile *p) \
	{ \
		struct kind begun = {0}; \
		if (!m || !p) \
			return -EINVAL; \
		begun.tc = p->cbs; \
		begun.second = p->full; \
		*m = begun; \
		slowpath_dpdk_begun_##kind(m, rte_get_tsc_cycles()); \
		return 0; \
	}
SLOWPATH_INLINE void slowpath_dpdk_begun_rte_meter_srtcm(struct rte_meter_srtcm *m, uint64_t now) { m->time = now; }
SLOWPATH_INLINE void slowpath_dpdk_begun_rte_meter_trtcm(struct rte_meter_trtcm *m, uint64_t now)
{
	m->time_tc = m->time_tp = now;
}
SLOWPATH_INLINE void slowpath_dpdk_begun_rte_meter_trtcm_rfc4115(struct rte_meter_trtcm_rfc4115 *m, uint64_t now)
{
	m->time_tc = m->time_te = now;
}
SLOWPATH_METER(rte_meter_srtcm, te, ebs, !params->cir || !(params->cbs | params->ebs), (void)0)
SLOWPATH_METER(rte_meter_trtcm, tp, pbs,
	       !params->cir || params->pir < params->cir || !params->cbs || !params->pbs,
	       slowpath_dpdk_rate(params->pir, &p->pir_period, &p->pir_bytes_per_period))
SLOWPATH_METER(rte_meter_trtcm_rfc4115, te, ebs,
	       (params->cir && !params->cbs) || (params->eir && !params->ebs),
	       slowpath_dpdk_rate(params->eir, &p->eir_period, &p->eir_bytes_per_period))
#endif
