//! Reads capture files and returns their packets in the order of the file.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use pcap_parser::PcapBlockOwned;
use pcap_parser::pcapng::Block;

use crate::blocks::Blocks;
use crate::error::{CaptureError, Problem};
use crate::interface::Interface;

/// The format of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pcap: a file header, followed by packets.
    Pcap,
    /// pcapng: a sequence of blocks of many types.
    Pcapng,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Pcap => "pcap",
            Format::Pcapng => "pcapng",
        })
    }
}

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Captured bytes of the frame, without a frame check sequence.
    pub bytes: Vec<u8>,
    /// Length of the frame on the wire in bytes. It is at least the number of captured bytes.
    pub wire_length: usize,
    /// Time of the capture in nanoseconds since the start of 1970 (UTC); `None` if the file does
    /// not state it.
    pub nanoseconds: Option<u64>,
    /// Original link type if the packet was converted to an Ethernet frame; `None` for other
    /// packets.
    pub converted: Option<String>,
}

impl Packet {
    /// Returns true if part of the frame was not captured.
    pub fn is_truncated(&self) -> bool {
        self.wire_length > self.bytes.len()
    }
}

/// A capture file that is being read.
pub struct Capture {
    blocks: Blocks,
    format: Format,
    /// Interfaces of the current pcapng section, by number. A pcap file has exactly one interface.
    interfaces: Vec<Interface>,
    packets: u64,
    /// True if packets that are not Ethernet frames are converted to Ethernet frames.
    converts: bool,
    /// True if no more packets are read, because the file has ended or an error has occurred.
    over: bool,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("packets", &self.packets).finish_non_exhaustive()
    }
}

impl Capture {
    /// Opens a capture file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a capture file.
    pub fn open(path: &Path) -> Result<Capture, CaptureError> {
        let file = File::open(path).map_err(|error| at(0, 0, Problem::Io(error)))?;
        Capture::new(Box::new(file))
    }

    /// Starts reading a capture from any source of bytes.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a capture file.
    pub fn new(input: Box<dyn Read + Send>) -> Result<Capture, CaptureError> {
        let (blocks, is_pcapng) = Blocks::new(input).map_err(|problem| at(0, 0, problem))?;
        let format = if is_pcapng { Format::Pcapng } else { Format::Pcap };
        let interfaces = Vec::new();
        Ok(Capture { blocks, format, interfaces, packets: 0, converts: false, over: false })
    }

    /// Enables the conversion of packets with other link types to Ethernet frames: raw IP, Linux
    /// cooked captures and loopback. Addresses that the capture does not contain are zero.
    #[must_use]
    pub fn converting(self) -> Capture {
        Capture { converts: true, ..self }
    }

    /// Returns the format of the capture.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the number of packets read so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the next packet. Returns `None` after the last packet, and after an error.
    ///
    /// # Errors
    /// If the file is damaged or cut off before the next packet, or its packets are not Ethernet
    /// frames.
    pub fn next_packet(&mut self) -> Result<Option<Packet>, CaptureError> {
        if self.over {
            return Ok(None);
        }
        loop {
            let (interfaces, converts) = (&mut self.interfaces, self.converts);
            match self.blocks.next(|block| packet(interfaces, block, converts)) {
                Ok(Some(None)) => {}
                Ok(Some(packet)) => {
                    self.packets += 1;
                    return Ok(packet);
                }
                Ok(None) => {
                    self.over = true;
                    return Ok(None);
                }
                Err(problem) => {
                    self.over = true;
                    return Err(at(self.packets, self.blocks.offset(), problem));
                }
            }
        }
    }
}

fn at(packets: u64, offset: u64, problem: Problem) -> CaptureError {
    CaptureError { packets, offset, problem }
}

/// Returns the packet in a block of a capture file, or `None` if the block contains no packet. If
/// the block describes an interface, adds it to `interfaces`.
fn packet(
    interfaces: &mut Vec<Interface>,
    block: PcapBlockOwned<'_>,
    converts: bool,
) -> Result<Option<Packet>, Problem> {
    let (number, captured, wire, ticks) = match &block {
        PcapBlockOwned::LegacyHeader(header) => {
            let interface = Interface::of_pcap(header.network, header.is_nanosecond_precision());
            // Reports an unsupported link type even if the file has no packets.
            interface.frame(&[], 0, (None, converts))?;
            interfaces.push(interface);
            return Ok(None);
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            return Ok(None);
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
            interfaces.push(Interface::of_block(interface));
            return Ok(None);
        }
        PcapBlockOwned::Legacy(record) => {
            let units = interfaces.first().map_or(0, |interface| interface.units);
            let ticks = u128::from(record.ts_sec) * units + u128::from(record.ts_usec);
            (None, record.data, record.origlen, Some(ticks))
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let captured = usize::try_from(packet.caplen).unwrap_or(usize::MAX);
            let captured = packet.data.get(..captured).ok_or(Problem::Damaged)?;
            let ticks = (u128::from(packet.ts_high) << 32) | u128::from(packet.ts_low);
            (Some(packet.if_id), captured, packet.origlen, Some(ticks))
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            // Bytes after the packet are padding of the block.
            let wire = usize::try_from(packet.origlen).unwrap_or(usize::MAX);
            let length = interfaces.first().map_or(wire, |interface| interface.captured(wire));
            let captured = packet.data.get(..length).unwrap_or(packet.data);
            (Some(0), captured, packet.origlen, None)
        }
        PcapBlockOwned::NG(_) => return Ok(None),
    };
    let index = usize::try_from(number.unwrap_or(0)).unwrap_or(usize::MAX);
    let missing = || Problem::NoInterface { interface: number.unwrap_or(0) };
    let interface = interfaces.get(index).ok_or_else(missing)?;
    let wire = usize::try_from(wire).unwrap_or(usize::MAX);
    let (bytes, wire_length) = interface.frame(captured, wire, (number, converts))?;
    let nanoseconds = ticks.and_then(|ticks| interface.nanoseconds(ticks));
    let (bytes, converted) = (bytes.into_owned(), interface.other_link());
    Ok(Some(Packet { bytes, wire_length, nanoseconds, converted }))
}
