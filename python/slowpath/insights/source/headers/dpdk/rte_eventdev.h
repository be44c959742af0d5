/* Event devices, which cards lack: types, and functions without definitions. */
#ifndef SLOWPATH_DPDK_EVENTDEV_H
#define SLOWPATH_DPDK_EVENTDEV_H
#include <ctype.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#define RTE_EVENT_OP_NEW 0
#define RTE_EVENT_OP_FORWARD 1
#define RTE_EVENT_OP_RELEASE 2
#define RTE_SCHED_TYPE_ORDERED 0
#define RTE_SCHED_TYPE_ATOMIC 1
#define RTE_SCHED_TYPE_PARALLEL 2

struct rte_event_vector {
	uint16_t nb_elem;
	uint16_t elem_offset : 12, rsvd : 3, attr_valid : 1;
	uint16_t port, queue;
	uint64_t reserved;
	union {
		struct rte_mbuf *mbufs[0];
		void *ptrs[0];
		uint64_t u64s[0];
	};
};
struct rte_event {
	union {
		uint64_t event;
		struct {
			uint32_t flow_id : 20, sub_event_type : 8, event_type : 4;
			uint8_t op : 2, rsvd : 4, sched_type : 2;
			uint8_t queue_id, priority, impl_opaque;
		};
	};
	union {
		uint64_t u64;
		void *event_ptr;
		struct rte_mbuf *mbuf;
		struct rte_event_vector *vec;
	};
};
struct rte_event_port_conf {
	int32_t new_event_threshold;
	uint16_t dequeue_depth, enqueue_depth;
	uint32_t event_port_cfg;
};
SLOWPATH_C uint16_t rte_event_dequeue_burst(uint8_t device, uint8_t port, struct rte_event *events, uint16_t count,
					    uint64_t timeout);
SLOWPATH_C uint16_t rte_event_enqueue_burst(uint8_t device, uint8_t port, const struct rte_event *events, uint16_t count);
#endif
