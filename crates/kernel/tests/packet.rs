//! Tests sequences of calls that move the ends of a packet and copy its bytes, in the kernel and in
//! the concrete interpreter. Bytes can leave the packet and return to it.

use crate::support;

use rand::RngExt;
use rand::rngs::StdRng;
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_oracle::{Oracle, random_cases};
use support::pin::pin_here;
use support::words::{Compared, Words};
use support::{kernel, object, path};

/// Number of sequences for each program.
const SEQUENCES: u64 = 500;
/// Number of sequences after which the maps are reset.
const EPOCH: usize = 250;

/// Returns a random packet. Each of its first words selects a helper and a distance.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    /// Distances around the limits of headroom (216 bytes), metadata (252) and the shortest packet
    /// (14), and around the tailroom of packets of 64 bytes (3456).
    const NEAR: [i64; 16] =
        [-252, -216, -64, -50, -46, -14, -8, 0, 4, 14, 50, 216, 252, 3456, 3520, 4096];
    let mut packet = Vec::new();
    for _ in 0..8 {
        let distance: i64 = match rng.random_range(0..4) {
            0 => NEAR[rng.random_range(0..NEAR.len())] + rng.random_range(-4..5),
            1 => rng.random_range(-220..220),
            2 => 4 * rng.random_range(-16..17),
            _ => rng.random::<i16>().into(),
        };
        let word = u64::from(rng.random_range(0u16..256))
            | u64::from(distance as u16) << 16
            | u64::from(rng.random::<u32>()) << 32;
        packet.extend(word.to_le_bytes());
    }
    let rest = [0, 0, 1, 40, 100, 1400, 3000][rng.random_range(0..7)];
    packet.extend((0..rest).map(|_| rng.random::<u8>()));
    packet
}

fn agree(kernel: &Kernel, object: &Object, number: usize) -> Result<(), String> {
    let packets = random_cases(SEQUENCES) as usize;
    let words = Words { packets, epoch: EPOCH, packet, fill: |_, _| Ok(()) };
    let Compared { packets, covered, blocks } = words.compare(kernel, object, number)?;
    assert!(2 * covered > blocks, "only {covered} of {blocks} blocks were run");
    Oracle::Kernel.compared(packets, "packets that choose calls");
    Ok(())
}

#[test]
fn kernel_and_interpreter_agree_on_sequences_of_calls() {
    let Some(kernel) = kernel() else { return };
    pin_here();
    let object = object(&path("tests/objects/packet.bpf.o"));
    let mut faults = Vec::new();
    for (number, program) in object.programs.iter().enumerate() {
        if let Err(fault) = agree(&kernel, &object, number) {
            faults.push(format!("{}: {fault}", program.name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
