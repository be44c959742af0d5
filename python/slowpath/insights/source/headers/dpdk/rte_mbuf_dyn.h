/* Dynamic fields and flags of packets: the next free ones. */
#ifndef SLOWPATH_DPDK_MBUF_DYN_H
#define SLOWPATH_DPDK_MBUF_DYN_H
#include <rte_mbuf.h>
#include <rte_errno.h>
#define RTE_MBUF_DYN_NAMESIZE 64
#define RTE_MBUF_DYNFIELD_TIMESTAMP_NAME "rte_dynfield_timestamp"
struct rte_mbuf_dynfield {
	char name[RTE_MBUF_DYN_NAMESIZE];
	size_t size, align;
	unsigned flags;
};
struct rte_mbuf_dynflag {
	char name[RTE_MBUF_DYN_NAMESIZE];
	unsigned flags;
};
typedef uint64_t rte_mbuf_timestamp_t;
#define RTE_MBUF_DYNFIELD(m, offset, type) ((type)((uintptr_t)(m) + (offset)))
SLOWPATH_C SLOWPATH_ONE unsigned slowpath_dpdk_members = offsetof(struct rte_mbuf, dynfield1);
SLOWPATH_C SLOWPATH_ONE int slowpath_dpdk_flags = 23; /* first free bit */
SLOWPATH_KEPT int rte_mbuf_dynfield_register(const struct rte_mbuf_dynfield *asked)
{
	size_t at = RTE_ALIGN_CEIL((size_t)slowpath_dpdk_members, asked->align);

	if (!rte_is_power_of_2((uint32_t)asked->align) || at + asked->size > sizeof(struct rte_mbuf)) {
		rte_errno = ENOENT;
		return -1;
	}
	slowpath_dpdk_members = (unsigned)(at + asked->size);
	return (int)at;
}
SLOWPATH_KEPT int rte_mbuf_dyn_rx_timestamp_register(int *member, uint64_t *flag)
{
	struct rte_mbuf_dynfield asked = {RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, sizeof(rte_mbuf_timestamp_t),
					  sizeof(rte_mbuf_timestamp_t), 0};
	int found = rte_mbuf_dynfield_register(&asked);

	if (found < 0)
		return -1;
	if (member)
		*member = found;
	if (flag)
		*flag = UINT64_C(1) << slowpath_dpdk_flags++;
	return 0;
}
SLOWPATH_KEPT int rte_mbuf_dynflag_register(const struct rte_mbuf_dynflag *asked)
{
	(void)asked;
	return slowpath_dpdk_flags <= 40 ? slowpath_dpdk_flags++ : -1;
}
#endif
