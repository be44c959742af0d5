//! Defines the subject of a rehearsal, which are the programs to compare, and its options, such as
//! the number of packets.

use std::fmt;
use std::sync::Arc;

use slowpath_bpf::Object;
use slowpath_bpf::lift::Receive;
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{InstallError, LoadedProgram};

/// Return values with which a program sends a packet to a device: `XDP_TX` and `XDP_REDIRECT`.
const SENT: [u32; 2] = [3, 4];

/// An upstream program, which runs before the two programs that are compared.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The object that contains the program.
    pub object: Arc<Object>,
    /// Index of the program in [`Object::programs`].
    pub program: usize,
    /// Return values for which the packet continues to the next program.
    pub results: Vec<u32>,
}

/// The original and the rewritten program, and their upstream programs.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The upstream programs, in the order in which packets pass them. They do not share maps.
    pub upstream: &'a [Stage],
    /// The original program: its object, and its index in [`Object::programs`].
    pub original: (&'a Object, usize),
    /// The rewritten program: its own object, and its index in [`Object::programs`].
    pub rewritten: (&'a Object, usize),
}

/// The role of a program in a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The upstream program with this index.
    Upstream(usize),
    /// The original program.
    Original,
    /// The rewritten program.
    Rewritten,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Upstream(number) => write!(f, "program {} of those in front", number + 1),
            Role::Original => f.write_str("the original program"),
            Role::Rewritten => f.write_str("the rewritten program"),
        }
    }
}

/// A function that fills the maps of a loaded program. The caller drops the returned guard after
/// the program.
pub type Install<'a> =
    &'a (dyn Fn(Role, &LoadedProgram) -> Result<Option<Installed>, InstallError> + Sync);

/// A group of packets that run with the same given map content.
pub struct Cover<'a> {
    /// Packets of at least 14 bytes, in the order and the form in which they arrive at the compared
    /// programs.
    pub packets: Vec<Vec<u8>>,
    /// A function that fills the maps before the first packet runs.
    pub install: Install<'a>,
}

/// Options for the extent of a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of packets that should pass the upstream programs and reach the compared programs.
    pub packets: u64,
    /// Set to true to also run the same number of packets that bypass the upstream programs. This
    /// suits rewritten programs that check their assumptions about packets.
    pub arbitrary: bool,
    /// Seed for generating packets. The same seed gives the same packets, as long as the programs
    /// behave in the same way.
    pub seed: u64,
    /// Number of rounds in which the programs are timed; 0 to skip timing.
    pub rounds: u32,
    /// Devices on which the programs are compared after the test runs.
    pub devices: Devices,
}

impl Default for Options {
    fn default() -> Options {
        let (packets, rounds, devices) = (100_000, 15, Devices::ALL);
        Options { packets, arbitrary: false, seed: 0, rounds, devices }
    }
}

/// Virtual Ethernet devices to which frames are sent after the test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Number of frames that should reach the compared programs on each device; 0 to send none.
    pub frames: u64,
    /// True to run the programs in the device's driver.
    pub native: bool,
    /// True to run the programs in the kernel's generic code.
    pub generic: bool,
    /// Lengths of the shortest and the longest frame to send, in bytes.
    pub lengths: (usize, usize),
    /// True to also send frames that are split into several buffers, if all programs support this.
    pub pieces: bool,
}

impl Devices {
    /// Settings for sending 1000 frames of all lengths on each device.
    pub const ALL: Devices = Devices {
        frames: 1000,
        native: true,
        generic: true,
        lengths: (0, u16::MAX as usize),
        pieces: true,
    };

    /// Settings for sending no frames.
    pub const NONE: Devices = Devices { frames: 0, ..Devices::ALL };

    /// Selects the devices that deliver packets to the upstream programs as `receive` describes.
    /// Frames have lengths that `receive` allows.
    ///
    /// # Errors
    /// If `receive` does not describe a way of receiving packets ([`Receive::parse`]).
    pub fn delivering(receive: &str, frames: u64, upstream: &[Stage]) -> Result<Devices, String> {
        let receive = Receive::parse(receive)?;
        // In a rehearsal, a program gets the packet exactly as the upstream program left it. If
        // that program sends it to another device, room and metadata may differ in reality.
        let sends = upstream.iter().flat_map(|stage| &stage.results).any(|r| SENT.contains(r));
        let faithful = !sends || receive.packet_environment() == Receive::ANY.packet_environment();
        let delivers = |name: &str| {
            let environment = Receive::named(name).filter(|_| faithful);
            environment.is_some_and(|environment| receive.covers(&environment))
        };
        let (native, generic) = (delivers("veth"), delivers("generic"));
        let (least, most) = receive.length;
        let lengths = (least.into(), most.into());
        Ok(Devices { frames, native, generic, lengths, pieces: receive.fragments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_devices_that_deliver_such_packets_are_selected() {
        let on = |receive: &str| {
            let devices = Devices::delivering(receive, 10, &[]).expect("is an environment");
            (devices.native, devices.generic, devices.lengths)
        };
        assert_eq!(on("any"), (true, true, (0, 65_535)));
        assert_eq!(on("length=60..1514"), (true, true, (60, 1514)));
        assert_eq!(on("veth"), (true, false, (0, 3522)));
        assert_eq!(on("generic"), (false, true, (0, 65_535)));
        for other in ["test-run", "native-page", "head=0..100", "tail=0..64", "meta=4..8"] {
            assert_eq!((on(other).0, on(other).1), (false, false), "{other}");
        }
        assert!(Devices::delivering("nowhere", 10, &[]).is_err());
    }
}
