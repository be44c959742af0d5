/* BPF programs that an application loads: types, so that it compiles. Loading a program ends the run. */
#ifndef SLOWPATH_DPDK_BPF_H
#define SLOWPATH_DPDK_BPF_H
#include <rte_common.h>

enum rte_bpf_arg_type { RTE_BPF_ARG_UNDEF, RTE_BPF_ARG_RAW, RTE_BPF_ARG_PTR = 0x10, RTE_BPF_ARG_PTR_MBUF, RTE_BPF_ARG_PTR_STACK };
struct rte_bpf_arg {
	enum rte_bpf_arg_type type;
	size_t size;
	size_t buf_size;
};
struct ebpf_insn;
struct rte_bpf_xsym;
struct rte_bpf;
struct rte_bpf_prm {
	const struct ebpf_insn *ins;
	uint32_t nb_ins;
	const struct rte_bpf_xsym *xsym;
	uint32_t nb_xsym;
	struct rte_bpf_arg prog_arg;
};
struct rte_bpf_jit {
	uint64_t (*func)(void *);
	size_t sz;
};
struct rte_bpf *rte_bpf_load(const struct rte_bpf_prm *prm);
struct rte_bpf *rte_bpf_elf_load(const struct rte_bpf_prm *prm, const char *fname, const char *sname);
void rte_bpf_destroy(struct rte_bpf *bpf);
uint64_t rte_bpf_exec(const struct rte_bpf *bpf, void *ctx);
uint32_t rte_bpf_exec_burst(const struct rte_bpf *bpf, void *ctx[], uint64_t rc[], uint32_t num);
int rte_bpf_get_jit(const struct rte_bpf *bpf, struct rte_bpf_jit *jit);
#endif
