//! Tests kernel functions for connection tracking, in the kernel and in slowpath's interpreter. The
//! tests are skipped if the running kernel does not have these functions.
//!
//! Test runs cannot cover the other kernel functions that XDP programs may call.
//! `bpf_xdp_metadata_rx_timestamp`, `_rx_hash` and `_rx_vlan_tag` are for programs that are bound
//! to a device (`fixup_kfunc_call` of `kernel/bpf/verifier.c`, through
//! `bpf_dev_bound_kfunc_check`). `bpf_prog_test_run_xdp` of `net/bpf/test_run.c` rejects such
//! programs with -EINVAL. `bpf_xdp_flow_lookup` is part of the module of flow tables
//! (`nf_flow_table_bpf.c`), whose types are not among the kernel's own.

use crate::support;

use rand::RngExt;
use rand::rngs::StdRng;
use slowpath_kernel::{Kernel, LoadError};
use slowpath_oracle::Oracle;
use support::pin::pin_here;
use support::words::Words;
use support::{kernel, object, path};

/// Number of packets for each program.
const PACKETS: usize = 600;

/// Returns a random packet that consists of 8-byte words below 2^16. With small values, both
/// connections and errors occur often.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    let word = |rng: &mut StdRng| u64::from(rng.random::<u16>());
    (0..8).flat_map(|_| word(rng).to_le_bytes()).collect()
}

const WORDS: Words = Words { packets: PACKETS, epoch: PACKETS / 4, packet, fill: |_, _| Ok(()) };

/// Returns true if the running kernel has functions for connection tracking.
fn has_connections(kernel: &Kernel) -> bool {
    let object = object(&path("tests/objects/conntrack.bpf.o"));
    !matches!(kernel.load(&object, 0), Err(LoadError::NoKernelFunction { .. }))
}

#[test]
fn kernel_and_interpreter_agree_on_connections() {
    let Some(kernel) = kernel() else { return };
    if !has_connections(&kernel) {
        eprintln!("this kernel has no functions for connections (CONFIG_NF_CONNTRACK)");
        return;
    }
    pin_here();
    let object = object(&path("tests/objects/conntrack.bpf.o"));
    for (number, program) in object.programs.iter().enumerate() {
        let compared = WORDS.compare(&kernel, &object, number);
        let compared = compared.unwrap_or_else(|fault| panic!("{}: {fault}", program.name));
        let (covered, blocks) = (compared.covered, compared.blocks);
        assert!(2 * covered > blocks, "{}: {covered} of {blocks} blocks", program.name);
        Oracle::Kernel.compared(compared.packets, "packets through kernel functions");
    }
}
