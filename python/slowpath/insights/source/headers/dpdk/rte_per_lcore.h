/* Per-core variables; a run has one core. */
#ifndef SLOWPATH_DPDK_PER_LCORE_H
#define SLOWPATH_DPDK_PER_LCORE_H
#define RTE_DEFINE_PER_LCORE(type, name) __typeof__(type) per_lcore_##name
#define RTE_DECLARE_PER_LCORE(type, name) extern __typeof__(type) per_lcore_##name
#define RTE_PER_LCORE(name) (per_lcore_##name)
#endif
