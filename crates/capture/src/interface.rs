//! What packets of an interface are.

use pcap_parser::Linktype;
use pcap_parser::pcapng::{InterfaceDescriptionBlock, OptionCode};

use crate::error::Problem;

/// Whether the length of frame check sequences is given, in the link type of pcap files.
const CHECKED: u32 = 1 << 26;
/// The option of pcapng files for it, in bits (`if_fcslen`).
const FCS_LENGTH: OptionCode = OptionCode(13);

/// What packets of an interface are.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    link: u16,
    /// Bytes at the end of each packet that the receiver checks and takes off.
    check: usize,
    /// Most bytes of a packet that were captured.
    most: usize,
}

impl Interface {
    /// That of a pcap file: the lower half is the type, the upper four bits count 16-bit words of the
    /// check sequence.
    pub fn of_file(network: Linktype) -> Interface {
        let field = network.0.cast_unsigned();
        let check = if field & CHECKED == 0 { 0 } else { 2 * (field >> 28) as usize };
        Interface { link: (field & 0xffff) as u16, check, most: usize::MAX }
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
        Interface { link, check: usize::from(bits / 8), most }
    }

    /// How many bytes were captured of a packet, where only its length on the wire is told.
    pub fn captured(&self, wire: usize) -> usize {
        wire.min(self.most)
    }

    /// The frame without its check sequence, if it has one and it was captured; and the length of the
    /// frame on the wire, without it.
    ///
    /// # Errors
    /// If it is no Ethernet frame; `number` is that of the interface.
    pub fn frame<'a>(
        &self,
        captured: &'a [u8],
        wire: usize,
        number: Option<u32>,
    ) -> Result<(&'a [u8], usize), Problem> {
        if i32::from(self.link) != Linktype::ETHERNET.0 {
            let known = Linktype(self.link.into()).to_string();
            let named = known.starts_with(|first: char| first.is_ascii_alphabetic());
            let named = named && !known.starts_with("Linktype");
            let link = match named {
                true => format!("of link type {known} ({})", self.link),
                false => format!("of link type {}", self.link),
            };
            return Err(Problem::OtherLink { link, interface: number });
        }
        let wire = wire.max(captured.len()).saturating_sub(self.check);
        Ok((&captured[..captured.len().min(wire)], wire))
    }
}
