//! Tests calls that use different callbacks or program arrays on different paths, in the kernel and
//! in the concrete interpreter. Compilers create such calls when they merge the calls of two
//! branches (tail merging).

use crate::support;

use rand::RngExt;
use rand::rngs::StdRng;
use slowpath_oracle::Oracle;
use support::pin::pin_here;
use support::words::Words;
use support::{kernel, object, path};

/// Number of packets for each program.
const PACKETS: usize = 300;

/// Returns a random packet of eight words, half of which are small.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    let word = |rng: &mut StdRng| match rng.random_bool(0.5) {
        true => rng.random(),
        false => rng.random_range(0..64u64),
    };
    (0..8).flat_map(|_| word(rng).to_le_bytes()).collect()
}

const WORDS: Words = Words { packets: PACKETS, epoch: PACKETS / 3, packet, fill: |_, _| Ok(()) };

#[test]
fn kernel_and_interpreter_agree_on_merged_calls() {
    let Some(kernel) = kernel() else { return };
    pin_here();
    let object = object(&path("tests/objects/merged.bpf.o"));
    for (number, program) in object.programs.iter().enumerate() {
        let compared = WORDS.compare(&kernel, &object, number);
        let compared = compared.unwrap_or_else(|fault| panic!("{}: {fault}", program.name));
        let (covered, blocks) = (compared.covered, compared.blocks);
        assert!(4 * covered > 3 * blocks, "{}: {covered} of {blocks} blocks", program.name);
        Oracle::Kernel.compared(compared.packets, "packets through merged calls");
    }
}
