//! Describes the receiving environment: the properties of arriving packets, and the room around a
//! packet in which helpers can move its start and end.
//!
//! These properties depend on the device, its driver, the XDP mode and the programs that ran
//! before. A packet does not show them, so results that depend on these properties state them as a
//! condition.

/// Maximum length of metadata in bytes (`xdp_metalen_invalid` of `include/net/xdp.h`).
pub const MAX_METADATA: u16 = 252;

/// Minimum length of a packet after a helper has changed it, in bytes (`ETH_HLEN`).
pub const ETH_HLEN: u16 = 14;

/// Name of the input for the head room, in lifted programs and witnesses.
pub const HEAD_ROOM: &str = "head room of the packet";
/// Name of the input for the tail room, in lifted programs and witnesses.
pub const TAIL_ROOM: &str = "tail room of the packet";
/// Name of the input for the metadata length in 4-byte words, in lifted programs and witnesses.
pub const METADATA_WORDS: &str = "words of metadata";
/// Name of the input that is 1 if the driver supports metadata, in lifted programs and witnesses.
pub const METADATA_SUPPORT: &str = "driver supports metadata";

/// Name of the input for the number of bytes behind the linear part of a packet. Programs with a
/// `struct __sk_buff` cannot access these bytes directly.
pub const BEHIND_LINEAR: &str = "bytes after the linear part of the packet";
/// Name of the input for the number of bytes behind the first 65,535 bytes of a packet.
pub const BEHIND_LONGEST: &str = "bytes after the first 65535 bytes of the packet";

/// Maximum length of a packet of `struct sk_buff` in bytes. The kernel builds packets of at most
/// 524,280 bytes (`GSO_MAX_SIZE`); headers and packets of user space (`packet_alloc_skb`) add less
/// than 2^17 bytes.
pub const LARGEST: u64 = (1 << 20) - 1;

/// Number of bytes that a 4096-byte page has for head room, packet and tail room in a test run.
/// Excludes `sizeof(struct xdp_frame)` at the start and `SKB_DATA_ALIGN(sizeof(struct
/// skb_shared_info))` at the end.
const PAGE: u16 = 4096 - 40 - 320;

/// Usual head room in bytes: `XDP_PACKET_HEADROOM` without `sizeof(struct xdp_frame)`.
const HEAD: u16 = 256 - 40;

/// Tail room: the number of bytes after a packet by which its end can move outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailRoom {
    /// Any number of bytes from the first to the second value, both included.
    Bytes(u16, u16),
    /// The rest of a buffer of this size in bytes. Head room and packet occupy the first part of
    /// the buffer.
    Buffer(u16),
    /// No bytes: the packet can only become shorter, by at least one byte.
    TrimOnly,
}

/// Properties of all arriving packets. Ranges are in bytes and include both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// Length of the packet in bytes, without the frame check sequence.
    pub length: (u16, u16),
    /// Head room: the number of bytes by which the packet's start can move outwards if there is no
    /// metadata.
    pub head: (u16, u16),
    /// Maximum number of bytes that helpers can remove from the start of the received packet;
    /// `None` without a limit.
    pub max_head_trim: Option<u16>,
    /// Length of the metadata, a multiple of 4 bytes; part of the head room.
    pub metadata: (u16, u16),
    /// True if all drivers support metadata. Without support, `data_meta` points to the byte after
    /// `data`, and programs cannot create metadata (`xdp_set_data_meta_invalid` of
    /// `include/net/xdp.h`).
    pub supports_metadata: bool,
    /// Tail room: the number of bytes after the packet by which its end can move outwards.
    pub tail: TailRoom,
    /// True if packets may be fragmented over several buffers, for programs in `xdp.frags`
    /// sections.
    pub fragments: bool,
}

/// A named receiving environment, such as `veth`.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Name that users give on the command line.
    pub name: &'static str,
    /// Properties of arriving packets.
    pub receive: Receive,
    /// Short description of the devices that this environment describes.
    pub devices: &'static str,
    /// Kernel files (Linux 6.18) that the numbers come from.
    pub source: &'static str,
}

/// All named environments; the first one is the default.
pub const ENVIRONMENTS: [Environment; 5] = [
    Environment {
        name: "any",
        receive: Receive::ANY,
        devices: "any device and mode, behind any other program",
        source: "drivers/net/tun.c (tun_get_user), net/core/dev.c (bpf_prog_run_generic_xdp), \
                 drivers/net/veth.c (veth_xdp_rcv_one), include/net/xdp.h (xdp_metalen_invalid)",
    },
    Environment {
        name: "native-page",
        // Up to the usual MTU, plus an Ethernet header.
        receive: Receive { length: (ETH_HLEN, 1500 + ETH_HLEN), ..Receive::PAGE },
        devices: "drivers with one 4096-byte page for each packet, at the usual MTU",
        source: "include/uapi/linux/bpf.h (XDP_PACKET_HEADROOM), include/net/xdp.h \
                 (xdp_data_hard_end), net/core/filter.c (bpf_xdp_adjust_head)",
    },
    Environment {
        name: "veth",
        // The maximum is `max_mtu` of `veth_xdp_set`, plus the header and a VLAN tag, which
        // `xdp_ok_fwd_dev` accepts.
        receive: Receive {
            length: (0, 4096 - 320 - 258 + 4),
            supports_metadata: true,
            fragments: false,
            ..Receive::ANY
        },
        devices: "veth in native mode, packets as their sender left them",
        source: "drivers/net/veth.c (veth_xdp_set, veth_xdp_rcv_one, veth_convert_skb_to_xdp_buff), \
                 net/core/filter.c (xdp_ok_fwd_dev)",
    },
    Environment {
        name: "generic",
        receive: Receive {
            head: (HEAD, u16::MAX),
            metadata: (0, 0),
            supports_metadata: true,
            ..Receive::ANY
        },
        devices: "any device in generic mode",
        source: "net/core/dev.c (netif_receive_generic_xdp, bpf_prog_run_generic_xdp)",
    },
    Environment {
        name: "test-run",
        receive: Receive::TEST_RUN,
        devices: "BPF_PROG_TEST_RUN, without metadata",
        source: "net/bpf/test_run.c (bpf_prog_test_run_xdp)",
    },
];

impl Receive {
    /// All packets that some device can deliver. A TUN device can deliver empty packets in generic
    /// mode. After a redirect into veth, the sender determines head room and metadata.
    pub const ANY: Receive = Receive {
        length: (0, u16::MAX),
        head: (0, u16::MAX),
        max_head_trim: None,
        metadata: (0, MAX_METADATA),
        supports_metadata: false,
        tail: TailRoom::Bytes(0, u16::MAX),
        fragments: true,
    };

    /// Packets that are each in a page of their own, with lengths from the minimum of Ethernet to
    /// the usual MTU.
    pub const PAGE: Receive = Receive {
        length: (60, 1500),
        head: (HEAD, HEAD),
        max_head_trim: None,
        metadata: (0, 0),
        supports_metadata: true,
        tail: TailRoom::Buffer(PAGE),
        fragments: false,
    };

    /// Packets of a test run in the kernel. Each is in a page of its own, and all lengths that fit
    /// into the page occur.
    pub const TEST_RUN: Receive = Receive { length: (ETH_HLEN, PAGE - HEAD), ..Receive::PAGE };

    /// Returns the properties of the environment with this name.
    pub fn named(name: &str) -> Option<Receive> {
        ENVIRONMENTS.iter().find(|known| known.name == name).map(|known| known.receive)
    }

    /// Returns the maximum length in bytes of a packet that fits into the buffer of this
    /// environment.
    pub fn longest(&self) -> u16 {
        match self.tail {
            TailRoom::Buffer(bytes) => bytes.saturating_sub(self.head.0),
            TailRoom::Bytes(..) | TailRoom::TrimOnly => u16::MAX,
        }
    }

    /// Returns true if this environment includes every packet of the environment `other`. Packet
    /// lengths are ignored.
    pub fn covers(&self, other: &Receive) -> bool {
        let within = |own: (u16, u16), other: (u16, u16)| own.0 <= other.0 && other.1 <= own.1;
        let tail = match (self.tail, other.tail) {
            (TailRoom::Bytes(least, most), TailRoom::Bytes(from, to)) => {
                within((least, most), (from, to))
            }
            (own, other) => own == other || self.tail == Receive::ANY.tail,
        };
        tail && within(self.head, other.head)
            && (self.max_head_trim.is_none() || self.max_head_trim == other.max_head_trim)
            && within(self.metadata, other.metadata)
            && (other.supports_metadata || !self.supports_metadata)
            && (self.fragments || !other.fragments)
    }

    /// Returns the head room and the metadata lengths of the environment.
    pub fn packet_environment(&self) -> PacketEnvironment {
        PacketEnvironment { head_room: self.head, metadata: self.metadata }
    }

    /// Returns a copy of the environment with packet lengths from `least` to `greatest` bytes.
    #[must_use]
    pub fn with_length(self, least: u16, greatest: u16) -> Receive {
        Receive { length: (least, greatest), ..self }
    }

    /// Returns a copy of the environment with the head room and metadata of `environment`.
    #[must_use]
    pub fn with_packet_environment(self, environment: PacketEnvironment) -> Receive {
        Receive { head: environment.head_room, metadata: environment.metadata, ..self }
    }

    /// Parses an environment: a name, properties
    /// (`head=0..216,tail=0..3520,meta=0..32,length=60..1514,pieces=1`), or a name followed by
    /// properties that override its own. Missing properties are those of the environment `any`.
    ///
    /// # Errors
    /// Returns a message that describes the fault and the accepted forms.
    pub fn parse(text: &str) -> Result<Receive, String> {
        let mut receive = Receive::ANY;
        for (place, piece) in text.split(',').map(str::trim).enumerate() {
            let Some((key, value)) = piece.split_once('=') else {
                receive = Receive::named(piece).filter(|_| place == 0).ok_or_else(|| {
                    let names = ENVIRONMENTS.map(|known| known.name).join(", ");
                    format!(
                        "{piece:?} is not a receiving environment; write {names}, or numbers such as \
                         head=0..216,tail=0..3520,meta=0..32,length=60..1514"
                    )
                })?;
                continue;
            };
            let range = |most: u16| range(key, value, most);
            match key {
                "length" => receive.length = range(u16::MAX)?,
                "head" => receive.head = range(u16::MAX)?,
                "meta" => receive.metadata = range(MAX_METADATA)?,
                "tail" => {
                    let (least, most) = range(u16::MAX)?;
                    receive.tail = TailRoom::Bytes(least, most);
                }
                "pieces" if value == "1" => receive.fragments = false,
                "pieces" if value == "any" => receive.fragments = true,
                "pieces" => return Err(format!("pieces={value}: write pieces=1 or pieces=any")),
                _ => {
                    return Err(format!(
                        "{key:?} is not a property of arriving packets; write head, tail, meta, \
                         length or pieces"
                    ));
                }
            }
        }
        let (meta, head) = (receive.metadata.0, receive.head.1);
        if meta > head {
            return Err(format!(
                "{meta} bytes of metadata do not fit into {head} bytes of head room"
            ));
        }
        Ok(receive)
    }

    /// Returns the condition under which a result for this environment holds, as the end of a
    /// sentence that starts with "exact if". Returns `None` if the environment does not restrict
    /// packets. `name` is the text from which the user's environment was parsed.
    pub fn condition(&self, name: &str) -> Option<String> {
        let any = Receive::ANY;
        let range = |(least, greatest): (u16, u16)| match (least, greatest) {
            (0, 0) => "no".to_owned(),
            (least, greatest) if least == greatest => format!("{least} bytes of"),
            (0, greatest) => format!("at most {greatest} bytes of"),
            (least, u16::MAX) => format!("at least {least} bytes of"),
            (least, greatest) => format!("{least} to {greatest} bytes of"),
        };
        let mut parts = Vec::new();
        if self.length != any.length {
            parts.push(match self.length {
                (0, greatest) => format!("at most {greatest} bytes long"),
                (least, u16::MAX) => format!("at least {least} bytes long"),
                (least, greatest) if least == greatest => format!("{least} bytes long"),
                (least, greatest) => format!("{least} to {greatest} bytes long"),
            });
        }
        if self.head != any.head {
            parts.push(format!("{} head room", range(self.head)));
        }
        if let Some(max_trim) = self.max_head_trim {
            parts.push(format!("no more than {max_trim} bytes to cut off their head"));
        }
        if self.metadata != any.metadata {
            parts.push(format!("{} metadata", range(self.metadata)));
        }
        if self.supports_metadata {
            parts.push("a driver that supports metadata".to_owned());
        }
        match self.tail {
            tail if tail == any.tail => {}
            TailRoom::Bytes(least, most) => {
                parts.push(format!("{} tail room", range((least, most))))
            }
            TailRoom::Buffer(bytes) => {
                parts.push(format!("{bytes} bytes for head room, packet and tail room together"));
            }
            TailRoom::TrimOnly => parts.push("no tail room".to_owned()),
        }
        if !self.fragments {
            parts.push("one piece".to_owned());
        }
        let list = parts.join(", ");
        let lengths = Receive { length: self.length, ..any };
        if *self == lengths && *self != any {
            return Some(format!("packets are {list}"));
        }
        let named = ENVIRONMENTS.iter().find(|known| known.name == name);
        match named.filter(|known| known.receive == *self) {
            _ if parts.is_empty() => None,
            Some(known) => Some(format!("packets arrive as {} delivers them: {list}", known.name)),
            None => Some(format!("packets arrive with: {list}")),
        }
    }
}

/// Parses a range of the form `N` or `A..B`, whose numbers are at most `most`.
fn range(key: &str, value: &str, most: u16) -> Result<(u16, u16), String> {
    let wrong = || format!("{key}={value}: write a number of bytes, or two as in {key}=0..{most}");
    let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    let (least, greatest) = match value.split_once("..") {
        Some((least, greatest)) => (number(least)?, number(greatest)?),
        None => (number(value)?, number(value)?),
    };
    if least > greatest || greatest > most {
        return Err(format!("{}, the least before the greatest, both at most {most}", wrong()));
    }
    Ok((least, greatest))
}

/// Head room of packets, and length of the metadata in it. Ranges are in bytes and include both
/// ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketEnvironment {
    /// Distance in bytes by which the packet's start can move outwards if there is no metadata. If
    /// less room is left in the packet's buffer, the start can move only that far.
    pub head_room: (u16, u16),
    /// Length of the metadata, a multiple of 4 bytes. Metadata is the end of the head room, next to
    /// the packet.
    pub metadata: (u16, u16),
}

impl PacketEnvironment {
    /// All possible head rooms and metadata lengths.
    pub const ANY: PacketEnvironment =
        PacketEnvironment { head_room: (0, u16::MAX), metadata: (0, MAX_METADATA) };

    /// Returns the smallest ranges that include the ranges of both values, such as those of packets
    /// on two paths.
    #[must_use]
    pub fn join(self, other: PacketEnvironment) -> PacketEnvironment {
        let join = |a: (u16, u16), b: (u16, u16)| (a.0.min(b.0), a.1.max(b.1));
        PacketEnvironment {
            head_room: join(self.head_room, other.head_room),
            metadata: join(self.metadata, other.metadata),
        }
    }

    /// Returns the minimum and maximum number of 4-byte words of metadata.
    pub(super) fn words(self) -> (u64, u64) {
        let (least, most) = self.metadata;
        let most = most.min(MAX_METADATA) / 4;
        (u64::from(least.div_ceil(4).min(most)), most.into())
    }
}

#[cfg(test)]
mod tests;
