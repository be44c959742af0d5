//! What packets of an interface are.

use std::borrow::Cow;

use pcap_parser::Linktype;
use pcap_parser::pcapng::{InterfaceDescriptionBlock, OptionCode};

use crate::error::Problem;
use crate::link;

/// Whether the length of frame check sequences is given, in the link type of pcap files.
const CHECKED: u32 = 1 << 26;
/// The option of pcapng files for it, in bits (`if_fcslen`).
const FCS_LENGTH: OptionCode = OptionCode(13);
/// The type of blocks of interfaces.
const INTERFACE: u32 = 1;
const SECOND: u128 = 1_000_000_000;

/// What packets of an interface are.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    link: u16,
    /// Bytes at the end of each packet that the receiver checks and takes off.
    check: usize,
    /// Most bytes of a packet that were captured.
    most: usize,
    /// Units of time in a second; 0 where no unit makes sense.
    pub units: u128,
    /// Seconds that times lack.
    offset: i64,
}

impl Interface {
    /// That of a pcap file: the lower half is the type, the upper four bits count 16-bit words of the
    /// check sequence.
    /// Times are in microseconds, or `fine`, in nanoseconds.
    pub fn of_file(network: Linktype, fine: bool) -> Interface {
        let field = network.0.cast_unsigned();
        let check = if field & CHECKED == 0 { 0 } else { 2 * (field >> 28) as usize };
        let units = if fine { SECOND } else { SECOND / 1000 };
        Interface { link: (field & 0xffff) as u16, check, most: usize::MAX, units, offset: 0 }
    }

    /// One of a pcapng file, which counts the bits of check sequences.
    pub fn described(block: &InterfaceDescriptionBlock<'_>) -> Interface {
        let checked = block.options.iter().find(|option| option.code == FCS_LENGTH);
        let bits = checked.and_then(|option| option.value.first()).copied().unwrap_or(0);
        let link = (block.linktype.0.cast_unsigned() & 0xffff) as u16;
        let most = match block.snaplen {
            0 => usize::MAX,
            snaplen => usize::try_from(snaplen).unwrap_or(usize::MAX),
        };
        let power = u32::from(block.if_tsresol & 0x7f);
        let base: u128 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        let units = base.checked_pow(power).unwrap_or(0);
        // The parser takes offsets for little-endian ones, and the type of blocks, too.
        let swapped = block.block_type.swap_bytes() == INTERFACE;
        let offset = block.ts_offset();
        let offset = if swapped { offset.swap_bytes() } else { offset };
        Interface { link, check: usize::from(bits / 8), most, units, offset }
    }

    /// A time in nanoseconds, if it is one that a packet can have.
    pub fn nanoseconds(&self, ticks: u128) -> Option<u64> {
        let since = i128::try_from((ticks * SECOND).checked_div(self.units)?).ok()?;
        u64::try_from(since + i128::from(self.offset) * SECOND.cast_signed()).ok()
    }

    /// How many bytes were captured of a packet, where only its length on the wire is told.
    pub fn captured(&self, wire: usize) -> usize {
        wire.min(self.most)
    }

    /// Name of the link type if packets are not Ethernet frames.
    pub fn other_link(&self) -> Option<String> {
        (i32::from(self.link) != Linktype::ETHERNET.0).then(|| link::named(self.link))
    }

    /// Returns the frame without its check sequence, and its length on the wire without that.
    ///
    /// With `converts`, packets of some other link types become Ethernet frames ([`link::frame`]).
    ///
    /// # Errors
    /// If the packet is not an Ethernet frame; `number` is that of the interface.
    pub fn frame<'a>(
        &self,
        captured: &'a [u8],
        wire: usize,
        (number, converts): (Option<u32>, bool),
    ) -> Result<(Cow<'a, [u8]>, usize), Problem> {
        if let Some(link) = self.other_link() {
            if converts && link::is_convertible(self.link) {
                return Ok(link::frame(self.link, captured, wire));
            }
            return Err(Problem::OtherLink { link, interface: number });
        }
        let wire = wire.max(captured.len()).saturating_sub(self.check);
        Ok((Cow::Borrowed(&captured[..captured.len().min(wire)]), wire))
    }
}
