/* The fraction with the smallest denominator near a number: the first one in the Stern-Brocot tree. */
#ifndef SLOWPATH_DPDK_APPROX_H
#define SLOWPATH_DPDK_APPROX_H
#include <errno.h>
#include <rte_common.h>

SLOWPATH_KEPT int rte_approx_64(double alpha, double d, uint64_t *p, uint64_t *q)
{
	uint64_t low[2] = { 0, 1 }, high[2] = { 1, 1 };

	if (!(alpha > 0 && alpha < 1 && d > 0 && d < 1) || !p || !q)
		return -EINVAL;
	SLOWPATH_LOOP for (;;) {
		uint64_t between[2] = { low[0] + high[0], low[1] + high[1] };
		double found = (double)between[0] / (double)between[1];

		if (found >= alpha - d && found <= alpha + d) {
			*p = between[0];
			*q = between[1];
			return 0;
		}
		memcpy(found < alpha ? low : high, between, sizeof(between));
	}
}
SLOWPATH_KEPT int rte_approx(double alpha, double d, uint32_t *p, uint32_t *q)
{
	uint64_t above, below;
	int failed = p && q ? rte_approx_64(alpha, d, &above, &below) : -EINVAL;

	if (!failed && below > UINT32_MAX)
		failed = -ERANGE;
	if (!failed) {
		*p = (uint32_t)above;
		*q = (uint32_t)below;
	}
	return failed;
}
#endif
