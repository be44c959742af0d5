//! Compares programs that read their arguments from the first 8-byte words of the packet
//! (`objects/words.h`), in the kernel and in the concrete interpreter.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::rngs::StdRng;
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;

use super::replay_pair::ReplayPair;

/// A comparison of kernel and interpreter on random packets: their number, generator and map
/// content.
pub struct Words {
    /// Number of packets for each program.
    pub packets: usize,
    /// Number of packets after which the maps are reset.
    pub epoch: usize,
    pub packet: fn(&mut StdRng) -> Vec<u8>,
    /// Function that puts elements into the maps. It is called after each reset of the maps, but
    /// not before the first packet.
    pub fill: fn(&mut ReplayPair, &mut StdRng) -> Result<(), String>,
}

/// Counts of the packets and basic blocks that a comparison covered.
pub struct Compared {
    pub packets: usize,
    /// Number of basic blocks of the program that were executed, out of `blocks` in total.
    pub covered: usize,
    pub blocks: usize,
}

/// Formats the first eight 8-byte words of a packet, which the program reads as its arguments.
fn format_arguments(packet: &[u8]) -> String {
    let word = |word: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        format!("{:#x}", u64::from_le_bytes(bytes))
    };
    let words: Vec<String> = packet.chunks(8).take(8).map(word).collect();
    format!("{} bytes, {}", packet.len(), words.join(" "))
}

impl Words {
    /// Runs random packets through a program of the object. Returns an error if kernel and
    /// interpreter give different results.
    pub fn compare(
        &self,
        kernel: &Kernel,
        object: &Object,
        number: usize,
    ) -> Result<Compared, String> {
        let lifted = ReplayPair::lifted(kernel, object, number)?;
        let mut rng = StdRng::seed_from_u64(number as u64);
        let (mut covered, mut packets) = (BTreeSet::new(), 0);
        for epoch in 0..self.packets / self.epoch {
            let mut replay_pair = ReplayPair::of(kernel, object, number, lifted.clone())?;
            if epoch > 0 {
                (self.fill)(&mut replay_pair, &mut rng)?;
            }
            for _ in 0..self.epoch {
                let packet = (self.packet)(&mut rng);
                let run = replay_pair.compare(&packet);
                let run = run.map_err(|fault| format!("{}: {fault}", format_arguments(&packet)))?;
                covered.extend(run.path.iter().map(|taken| taken.block));
                packets += 1;
            }
            if let Some(fault) = replay_pair.differing_maps().first() {
                return Err(format!("after epoch {epoch}: {fault}"));
            }
        }
        Ok(Compared { packets, covered: covered.len(), blocks: lifted.program.blocks.len() })
    }
}
