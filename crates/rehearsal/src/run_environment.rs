//! Describes where the kernel runs programs on packets: in test runs or on virtual devices.

use slowpath_bpf::BpfProgram;
use slowpath_kernel::Mode;

use crate::mutation::SHORTEST;
use crate::options::Devices;
use crate::random::Random;

/// Length of an Ethernet header in bytes.
const HEADER: u32 = 14;
/// Largest MTU (frame length without header, in bytes) for which virtual Ethernet stores a frame in
/// one page of 4096 bytes. `veth_xdp_set` of `drivers/net/veth.c` allows slightly more.
const PAGE: u32 = 3400;
/// MTU for jumbo frames: their length without header, in bytes.
const JUMBO: u32 = 9000;
/// Frame lengths that are chosen often: the shortest one, lengths around Ethernet's minimum and
/// usual maximum, and lengths that fill virtual Ethernet's buffers to different extents.
const LENGTHS: [usize; 14] = [14, 15, 34, 42, 59, 60, 61, 64, 128, 341, 1001, 1513, 1514, 1518];

/// Place where the kernel runs the compared programs on packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnvironment {
    /// Test runs in the kernel (`BPF_PROG_TEST_RUN`), without a device.
    TestRun,
    /// A virtual Ethernet device with these settings.
    Device(VethSettings),
}

/// Settings of a virtual device: its mode, and the lengths of frames that are sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VethSettings {
    pub mode: Mode,
    /// Maximum packet length without header, in bytes.
    pub mtu: u32,
    /// True if frames may be split into several buffers, because all programs support this.
    pub fragments: bool,
    lengths: (usize, usize),
}

impl VethSettings {
    /// Returns the settings for a virtual device on which all of the programs can run. Returns
    /// `None` if no frame length is possible.
    pub fn new(devices: &Devices, mode: Mode, programs: &[BpfProgram]) -> Option<VethSettings> {
        let fragments = devices.pieces && programs.iter().all(BpfProgram::accepts_fragments);
        let mtu = if mode == Mode::Generic || fragments { JUMBO } else { PAGE };
        let (least, most) = devices.lengths;
        let lengths = (least.max(SHORTEST), most.min((mtu + HEADER) as usize));
        (lengths.0 <= lengths.1).then_some(VethSettings { mode, mtu, fragments, lengths })
    }

    /// Cuts or extends a packet to a frame length that the device can receive. About a third of the
    /// packets keep their length if possible.
    pub fn frame(&self, mut packet: Vec<u8>, random: &mut Random) -> Vec<u8> {
        let (least, most) = self.lengths;
        let length = match random.below(3) {
            0 => packet.len(),
            1 => random.choose(&LENGTHS).copied().unwrap_or(least),
            _ if random.one_in(2) => least + random.below(most - least + 1),
            _ => most - random.below(16),
        };
        let length = length.clamp(least, most);
        packet.truncate(length);
        while packet.len() < length {
            packet.push(random.bits() as u8);
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn frames_have_many_lengths() {
        let mut random = Random::new(1);
        let mut lengths = |devices: &Devices, mode| {
            let settings = VethSettings::new(devices, mode, &[])?;
            let frames = (0..2000).map(|_| settings.frame(vec![7; 60], &mut random).len());
            Some(frames.collect::<BTreeSet<usize>>())
        };
        let any = Devices::ALL;
        let generic = lengths(&any, Mode::Generic).expect("some");
        assert_eq!((generic.first(), generic.last()), (Some(&14), Some(&9014)));
        assert!([15, 60, 1514].iter().all(|length| generic.contains(length)), "{generic:?}");
        let usual = Devices { lengths: (60, 1514), ..any };
        let native = lengths(&usual, Mode::Native).expect("some");
        assert_eq!((native.first(), native.last()), (Some(&60), Some(&1514)));
        let long = Devices { lengths: (5000, 6000), pieces: false, ..any };
        assert_eq!(lengths(&long, Mode::Native), None);
    }
}
