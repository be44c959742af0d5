//! Describes a capture interface: link type, unit of time stamps, and length of the frame check
//! sequences.

use std::borrow::Cow;

use pcap_parser::Linktype;
use pcap_parser::pcapng::{InterfaceDescriptionBlock, OptionCode};

use crate::error::Problem;
use crate::link;

/// Flag in the link type of pcap files: the file states the length of frame check sequences (FCS).
const HAS_FCS_LENGTH: u32 = 1 << 26;
/// Option of pcapng files for the length of frame check sequences, in bits (`if_fcslen`).
const FCS_LENGTH: OptionCode = OptionCode(13);
/// Number that marks a block of a pcapng file as the description of an interface.
const INTERFACE: u32 = 1;
const SECOND: u128 = 1_000_000_000;

/// A capture interface, with the properties that all its packets share.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    link: u16,
    /// Length in bytes of the frame check sequence at the end of each packet, which the receiver
    /// removes.
    fcs_length: usize,
    /// Maximum number of bytes that are captured of a packet.
    snaplen: usize,
    /// Number of units of time stamps per second; 0 if the unit that the file states is invalid.
    pub units: u128,
    /// Number of seconds to add to the time stamps of packets.
    offset: i64,
}

impl Interface {
    /// Returns the only interface of a pcap file. The lower half of `network` is the link type. Its
    /// upper four bits are the length of the frame check sequence, in 16-bit words. Time stamps are
    /// in nanoseconds if `has_nanoseconds` is set, otherwise in microseconds.
    pub fn of_pcap(network: Linktype, has_nanoseconds: bool) -> Interface {
        let field = network.0.cast_unsigned();
        let fcs_length = if field & HAS_FCS_LENGTH == 0 { 0 } else { 2 * (field >> 28) as usize };
        let units = if has_nanoseconds { SECOND } else { SECOND / 1000 };
        let link = (field & 0xffff) as u16;
        Interface { link, fcs_length, snaplen: usize::MAX, units, offset: 0 }
    }

    /// Returns the interface that a block of a pcapng file describes. The block states the length
    /// of frame check sequences in bits.
    pub fn of_block(block: &InterfaceDescriptionBlock<'_>) -> Interface {
        let option = block.options.iter().find(|option| option.code == FCS_LENGTH);
        let bits = option.and_then(|option| option.value.first()).copied().unwrap_or(0);
        let link = (block.linktype.0.cast_unsigned() & 0xffff) as u16;
        let snaplen = match block.snaplen {
            0 => usize::MAX,
            snaplen => usize::try_from(snaplen).unwrap_or(usize::MAX),
        };
        let power = u32::from(block.if_tsresol & 0x7f);
        let base: u128 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        let units = base.checked_pow(power).unwrap_or(0);
        // The parser reads the time offset and the block type as little-endian, also in big-endian
        // files.
        let swapped = block.block_type.swap_bytes() == INTERFACE;
        let offset = block.ts_offset();
        let offset = if swapped { offset.swap_bytes() } else { offset };
        Interface { link, fcs_length: usize::from(bits / 8), snaplen, units, offset }
    }

    /// Converts a time stamp from the file's unit to nanoseconds. Returns `None` if the result is
    /// out of range.
    pub fn nanoseconds(&self, ticks: u128) -> Option<u64> {
        let since = i128::try_from((ticks * SECOND).checked_div(self.units)?).ok()?;
        u64::try_from(since + i128::from(self.offset) * SECOND.cast_signed()).ok()
    }

    /// Returns the number of captured bytes of a packet that had `wire` bytes on the wire. Needed
    /// for blocks that do not state the captured length.
    pub fn captured(&self, wire: usize) -> usize {
        wire.min(self.snaplen)
    }

    /// Returns the name of the interface's link type if it is not Ethernet, and `None` if it is.
    pub fn other_link(&self) -> Option<String> {
        (i32::from(self.link) != Linktype::ETHERNET.0).then(|| link::named(self.link))
    }

    /// Removes the frame check sequence of a packet. Returns the Ethernet frame and its length on
    /// the wire. If `converts` is set, packets of some link types other than Ethernet are converted
    /// to Ethernet frames ([`link::frame`]).
    ///
    /// # Errors
    /// If the packet is not an Ethernet frame and cannot be converted. The error names the
    /// interface by `number`.
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
        let wire = wire.max(captured.len()).saturating_sub(self.fcs_length);
        Ok((Cow::Borrowed(&captured[..captured.len().min(wire)]), wire))
    }
}
