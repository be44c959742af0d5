//! Models the transmission of a packet to another device. That device receives the packet in a new
//! buffer with a new context. Short packets may be padded, and the network may change bytes.

use slowpath_ir::{Emit, Operand, ValueFormat};

use crate::context::Content;
use crate::lift::frame::ProgramPoint;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::options::Network;

/// Minimum length of an Ethernet frame in bytes, without frame check sequence (IEEE 802.3, 3.2.8).
const SHORTEST: u64 = 60;
/// Length of an Ethernet header in bytes, the minimum length of a packet.
const ETH_HLEN: u64 = 14;
/// Maximum number of bytes before a packet that programs can access: head room and metadata.
const IN_FRONT: u64 = 256;
/// Size of a VLAN tag in bytes.
const TAG: u64 = 4;
/// Maximum number of VLAN tags that are skipped to find the IP header.
const TAGS: u64 = 2;
/// EtherType of IPv4 (IEEE 802), in the byte order of a 2-byte load.
const IPV4: u64 = 0x0008;
const IPV6: u64 = 0xdd86;
const VLAN: [u64; 2] = [0x0081, 0xa888];
/// Offset of the EtherType in a packet without VLAN tags, in bytes.
const TYPE: u64 = 12;
/// Offset of the IPv4 time to live in a packet without VLAN tags, in bytes.
const IPV4_TTL: u64 = 14 + 8;
const IPV4_CHECKSUM: u64 = 14 + 10;
const IPV6_HOP_LIMIT: u64 = 14 + 7;

impl Lifter<'_> {
    /// Emits the transmission of the packet to another device, where a program receives it.
    pub(super) fn transmit(&mut self, at: ProgramPoint, network: &Network) {
        let number = self.code.number(self.unit(at), at.slot);
        self.ir.emit.begin_insn(number.index(), "the network".to_owned());
        let data = self.context_pointer(Content::PacketStart);
        self.pad(data);
        self.change(data, network);
        self.forget_in_front(data);
        let received = self.received_register();
        self.ir.emit.copy(received, data);
        self.place_sent();
        for field in self.program_type.fields {
            if let Content::Number(least, most) = field.content {
                self.new_field(field.name, field.offset, (least, most));
            }
        }
        self.state.forget_packet();
    }

    /// Assigns an unknown value of the given range to a context field on the receiving device.
    fn new_field(&mut self, name: &str, offset: u64, range: (u64, u64)) {
        let value = self.ir.emit.draw_between(name, ValueFormat::Number, 32, range);
        let context = self.ir.base(self.ir.context);
        let address = self.ir.emit.add(context, word(offset));
        self.ir.emit.store(address, value);
    }

    /// Pads a short packet with unknown bytes in some runs, but not in all, because hardware
    /// interfaces pad and virtual interfaces do not.
    fn pad(&mut self, data: Operand) {
        let end = self.context_pointer(Content::PacketEnd);
        let length = self.ir.emit.sub(end, data);
        let short = self.ir.emit.ult(length, word(SHORTEST));
        let padded = self.ir.emit.unknown_bit("padding", &["none", "up to 60 bytes"]);
        let padded = self.ir.emit.and(short, padded);
        for offset in ETH_HLEN..SHORTEST {
            let behind = self.ir.emit.ult(word(offset), length);
            let behind = self.ir.emit.not(behind);
            let filled = self.ir.emit.and(padded, behind);
            let byte = self.unknown(&format!("byte {offset}"), 1);
            let address = self.ir.emit.add(data, word(offset));
            self.ir.emit.store_if(filled, address, byte);
        }
        let longer = self.ir.emit.add(data, word(SHORTEST));
        let end = self.ir.emit.select(padded, longer, end);
        self.set_context_pointer(Content::PacketEnd, end);
    }

    /// Assigns unknown values to the bytes that the network changes. May also assign bytes after
    /// the end of the packet, which programs cannot see.
    fn change(&mut self, data: Operand, network: &Network) {
        for range in &network.changes {
            let (mut offset, end) = (u64::from(range.start), u64::from(range.end));
            while offset < end {
                let bytes = 1 << (end - offset).min(8).ilog2();
                let value = self.unknown(&format!("bytes from {offset}"), bytes);
                let address = self.ir.emit.add(data, word(offset));
                self.ir.emit.store(address, value);
                offset += u64::from(bytes);
            }
        }
        if network.routes {
            self.route(data);
        }
    }

    /// Assigns unknown values to the fields that routers change: the hop count, and the checksum of
    /// the IPv4 header.
    fn route(&mut self, data: Operand) {
        let ttl = self.unknown("time to live", 1);
        let checksum = self.unknown("header checksum", 2);
        let hops = self.unknown("hop limit", 1);
        let mut tagged = Operand::constant(1, 1);
        for skipped in (0..=TAGS).map(|tags| tags * TAG) {
            let address = self.ir.emit.add(data, word(TYPE + skipped));
            let ty = self.ir.emit.load(address, 2);
            let changes = [
                (IPV4, IPV4_TTL, ttl),
                (IPV4, IPV4_CHECKSUM, checksum),
                (IPV6, IPV6_HOP_LIMIT, hops),
            ];
            for (ethertype, offset, value) in changes {
                let matches = self.ir.emit.eq(ty, Operand::constant(16, ethertype));
                let matches = self.ir.emit.and(matches, tagged);
                let address = self.ir.emit.add(data, word(offset + skipped));
                self.ir.emit.store_if(matches, address, value);
            }
            let [first, second] = VLAN.map(|tag| self.ir.emit.eq(ty, Operand::constant(16, tag)));
            let tag = self.ir.emit.or(first, second);
            tagged = self.ir.emit.and(tagged, tag);
        }
    }

    /// Assigns unknown values to the bytes before the packet, because a device does not transmit
    /// them. A program can see these bytes after it moves the head.
    fn forget_in_front(&mut self, data: Operand) {
        if self.moves_head() || self.reads_metadata() {
            self.new_bytes_in_front(data);
        }
    }

    /// Assigns unknown values to the bytes before the address `data` that programs can access.
    pub(in crate::lift) fn new_bytes_in_front(&mut self, data: Operand) {
        for distance in (8..=IN_FRONT).step_by(8) {
            let value = self.unknown(&format!("head room, {distance} bytes in front"), 8);
            let address = self.ir.emit.add(data, word(distance.wrapping_neg()));
            self.ir.emit.store(address, value);
        }
    }

    /// Returns an unknown value of `bytes` bytes, at most 8. Reports call it `name`.
    fn unknown(&mut self, name: &str, bytes: u8) -> Operand {
        let width = 8 * bytes;
        self.ir.emit.draw(name, ValueFormat::Bytes, width, u64::MAX >> (64 - u32::from(width)))
    }
}
