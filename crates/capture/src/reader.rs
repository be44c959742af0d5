//! A capture file: its packets in order.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use pcap_parser::PcapBlockOwned;
use pcap_parser::pcapng::Block;

use crate::blocks::Blocks;
use crate::error::{CaptureError, Problem};
use crate::interface::Interface;

/// Which format a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Packets behind a header.
    Pcap,
    /// Blocks of many kinds.
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

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What was captured of the frame, without a frame check sequence.
    pub bytes: Vec<u8>,
    /// How many bytes the frame had on the wire, at least those that were captured.
    pub wire_length: usize,
    /// When it was captured, since the beginning of 1970 (UTC), where the file says it.
    pub nanoseconds: Option<u64>,
    /// Name of the link type that it was captured with, where its Ethernet header was made for it.
    pub converted: Option<String>,
}

impl Packet {
    /// Whether some of the frame was not captured.
    pub fn is_truncated(&self) -> bool {
        self.wire_length > self.bytes.len()
    }
}

/// A capture file that is being read.
pub struct Capture {
    blocks: Blocks,
    format: Format,
    /// Those of the section, by number; of pcap files, the only one.
    interfaces: Vec<Interface>,
    packets: u64,
    /// Whether packets of other link types become Ethernet frames.
    converts: bool,
    /// Behind an error or the end, nothing more is read.
    over: bool,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("packets", &self.packets).finish_non_exhaustive()
    }
}

impl Capture {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no capture file.
    pub fn open(path: &Path) -> Result<Capture, CaptureError> {
        let file = File::open(path).map_err(|error| at(0, 0, Problem::Io(error)))?;
        Capture::new(Box::new(file))
    }

    /// Reads a file from what gives its bytes.
    ///
    /// # Errors
    /// If it cannot be read, or is no capture file.
    pub fn new(input: Box<dyn Read + Send>) -> Result<Capture, CaptureError> {
        let (blocks, next) = Blocks::new(input).map_err(|problem| at(0, 0, problem))?;
        let format = if next { Format::Pcapng } else { Format::Pcap };
        let interfaces = Vec::new();
        Ok(Capture { blocks, format, interfaces, packets: 0, converts: false, over: false })
    }

    /// Makes Ethernet frames of packets without an Ethernet header: raw IP, Linux cooked captures and
    /// loopback. Addresses that the capture does not tell are zero.
    #[must_use]
    pub fn converting(self) -> Capture {
        Capture { converts: true, ..self }
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How many packets were read until now.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The next packet; `None` behind the last one, and behind an error.
    ///
    /// # Errors
    /// If the file is damaged or cut off here, or its packets are no Ethernet frames.
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

/// The packet in a block, if that has one; notes what it says about interfaces.
fn packet(
    interfaces: &mut Vec<Interface>,
    block: PcapBlockOwned<'_>,
    converts: bool,
) -> Result<Option<Packet>, Problem> {
    let (number, captured, wire, ticks) = match &block {
        PcapBlockOwned::LegacyHeader(header) => {
            let interface = Interface::of_file(header.network, header.is_nanosecond_precision());
            // Of a file with other packets, this is said at once, even if it has none.
            interface.frame(&[], 0, (None, converts))?;
            interfaces.push(interface);
            return Ok(None);
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            return Ok(None);
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
            interfaces.push(Interface::described(interface));
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
            // What is behind the packet fills the block up.
            let wire = usize::try_from(packet.origlen).unwrap_or(usize::MAX);
            let length = interfaces.first().map_or(wire, |interface| interface.captured(wire));
            let captured = packet.data.get(..length).unwrap_or(packet.data);
            (Some(0), captured, packet.origlen, None)
        }
        PcapBlockOwned::NG(_) => return Ok(None),
    };
    let place = usize::try_from(number.unwrap_or(0)).unwrap_or(usize::MAX);
    let missing = || Problem::NoInterface { interface: number.unwrap_or(0) };
    let interface = interfaces.get(place).ok_or_else(missing)?;
    let wire = usize::try_from(wire).unwrap_or(usize::MAX);
    let (bytes, wire_length) = interface.frame(captured, wire, (number, converts))?;
    let nanoseconds = ticks.and_then(|ticks| interface.nanoseconds(ticks));
    let (bytes, converted) = (bytes.into_owned(), interface.other_link());
    Ok(Some(Packet { bytes, wire_length, nanoseconds, converted }))
}
