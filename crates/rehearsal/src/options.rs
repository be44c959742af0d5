//! What is rehearsed, and how long.

use std::fmt;
use std::sync::Arc;

use slowpath_bpf::Object;
use slowpath_bpf::lift::Receive;
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{InstallError, Loaded};

/// Results that send a packet to another device: `XDP_TX` and `XDP_REDIRECT`.
const SENT: [u32; 2] = [3, 4];

/// A program that comes first.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The object that it is of.
    pub object: Arc<Object>,
    /// Its number in [`Object::programs`].
    pub program: usize,
    /// What it returns when the packet goes on: one of these.
    pub results: Vec<u32>,
}

/// What is compared, and behind what.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The programs that a packet passes first, in order; none has maps in common with another.
    pub upstream: &'a [Stage],
    /// The program as it was written: an object, and its number there.
    pub original: (&'a Object, usize),
    /// What is to do the same, of an object of its own.
    pub rewritten: (&'a Object, usize),
}

/// Which program of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One of those that come first, by its number.
    Upstream(usize),
    /// The program as it was written.
    Original,
    /// The rewritten one.
    Rewritten,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Upstream(number) => write!(f, "program {} of those in front", number + 1),
            Place::Original => f.write_str("the original program"),
            Place::Rewritten => f.write_str("the rewritten program"),
        }
    }
}

/// Fills the maps of a program that was loaded; what it returns is kept as long as the program is.
pub type Install<'a> =
    &'a (dyn Fn(Place, &Loaded) -> Result<Option<Installed>, InstallError> + Sync);

/// Packets to try, on maps that are filled for them.
pub struct Cover<'a> {
    /// As they arrive at the two programs, of at least 14 bytes: one after the other.
    pub packets: Vec<Vec<u8>>,
    /// Fills the maps before the first one.
    pub install: Install<'a>,
}

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many packets are to reach the two programs through those that come first.
    pub packets: u64,
    /// Whether as many more go to the two directly, whatever those in front would have done with
    /// them: for programs that check what they rely on.
    pub arbitrary: bool,
    /// What packets are made from: the same seed makes the same, as long as the kernel does the same.
    pub seed: u64,
    /// How often the two are timed in turns; 0 for not at all.
    pub rounds: u32,
    /// The devices that frames are sent to besides.
    pub devices: Devices,
}

impl Default for Options {
    fn default() -> Options {
        let (packets, rounds, devices) = (100_000, 15, Devices::ALL);
        Options { packets, arbitrary: false, seed: 0, rounds, devices }
    }
}

/// Virtual Ethernet devices that frames are sent to, after all test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Frames that are to reach the two programs on each device; 0 for none.
    pub frames: u64,
    /// True where programs run in the driver.
    pub native: bool,
    /// True where programs run in the kernel's generic code.
    pub generic: bool,
    /// The shortest and the longest frame that may be sent, in bytes.
    pub lengths: (usize, usize),
    /// True where frames may lie in several buffers, for programs that take these.
    pub pieces: bool,
}

impl Devices {
    /// 1000 frames of all lengths on each device.
    pub const ALL: Devices = Devices {
        frames: 1000,
        native: true,
        generic: true,
        lengths: (0, u16::MAX as usize),
        pieces: true,
    };

    /// No frames.
    pub const NONE: Devices = Devices { frames: 0, ..Devices::ALL };

    /// Those of all devices whose packets arrive as `receive` says, behind these programs. Lengths are
    /// such as may arrive at the first of them.
    ///
    /// # Errors
    /// If it is not a receiving environment ([`Receive::parse`]).
    pub fn delivering(receive: &str, frames: u64, upstream: &[Stage]) -> Result<Devices, String> {
        let receive = Receive::parse(receive)?;
        // Here, a program gets a packet as the one in front has left it. On another device it may
        // arrive with other room and metadata.
        let moves = upstream.iter().any(|stage| stage.results.iter().any(|one| SENT.contains(one)));
        let as_left = !moves || receive.around() == Receive::ANY.around();
        let delivers = |environment: &str| {
            as_left && Receive::named(environment).is_some_and(|there| receive.covers(&there))
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
    fn only_devices_that_deliver_so_are_tried() {
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
