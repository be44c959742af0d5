//! The receiving environment: how packets arrive at a program, and how far helpers can move their ends.
//!
//! Nothing in a packet tells. It depends on the device, its driver, the mode of XDP and the programs
//! that ran before, and is therefore a condition of each result that rests on it.

/// Longest metadata, in bytes (`xdp_metalen_invalid` of `include/net/xdp.h`).
pub const MAX_METADATA: u16 = 252;

/// Shortest packet that helpers leave, in bytes (`ETH_HLEN`).
pub const ETH_HLEN: u16 = 14;

/// The room in front of a packet, as lifted programs and witnesses call it.
pub const HEAD_ROOM: &str = "head room of the packet";
/// The room behind it.
pub const TAIL_ROOM: &str = "tail room of the packet";
/// The length of its metadata.
pub const METADATA_WORDS: &str = "words of metadata";
/// Whether the driver lets programs have metadata.
pub const METADATA_SUPPORT: &str = "driver supports metadata";

/// Bytes of a page of 4096 that a test run leaves to head room, packet and tail room: without
/// `sizeof(struct xdp_frame)` in front, and `SKB_DATA_ALIGN(sizeof(struct skb_shared_info))` behind.
const PAGE: u16 = 4096 - 40 - 320;

/// `XDP_PACKET_HEADROOM` without `sizeof(struct xdp_frame)`.
const HEAD: u16 = 256 - 40;

/// Room behind a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailRoom {
    /// Some bytes, from the first number to the second.
    Bytes(u16, u16),
    /// Whatever a buffer of so many bytes leaves, in which head room and packet lie too.
    Buffer(u16),
    /// None: the tail can only be cut, by at least one byte.
    Cut,
}

/// Properties of all packets that arrive. Ranges are in bytes, with both of their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// Lengths of packets, without frame check sequence.
    pub length: (u16, u16),
    /// How far the packet's start can be moved outwards where there is no metadata.
    pub head: (u16, u16),
    /// Bytes of the packet as received that can be cut off its head, if that is limited.
    pub cut: Option<u16>,
    /// Length of the metadata, which is part of the head room: whole words of 4 bytes.
    pub metadata: (u16, u16),
    /// Whether all drivers support metadata. Without that, `data_meta` is the byte behind `data`, and
    /// none can be made (`xdp_set_data_meta_invalid` of `include/net/xdp.h`).
    pub supports_metadata: bool,
    /// Room behind the packet.
    pub tail: TailRoom,
    /// Whether packets may lie in several buffers, for programs in sections `xdp.frags`.
    pub fragments: bool,
}

/// A receiving environment with a name.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Its name.
    pub name: &'static str,
    /// Its properties.
    pub receive: Receive,
    /// The devices that it describes, in a few words.
    pub devices: &'static str,
    /// Files of the kernel (6.18) that its numbers are taken from.
    pub source: &'static str,
}

/// All environments that have names; the first is the default.
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
        // The usual MTU, and an Ethernet header.
        receive: Receive { length: (ETH_HLEN, 1500 + ETH_HLEN), ..Receive::PAGE },
        devices: "drivers with one 4096-byte page for each packet, at the usual MTU",
        source: "include/uapi/linux/bpf.h (XDP_PACKET_HEADROOM), include/net/xdp.h \
                 (xdp_data_hard_end), net/core/filter.c (bpf_xdp_adjust_head)",
    },
    Environment {
        name: "veth",
        // `max_mtu` of `veth_xdp_set`, with the header and a tag that `xdp_ok_fwd_dev` lets through.
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
    /// Whatever a device can do. A TUN device delivers packets of no bytes in generic mode; behind a
    /// redirect into veth, head room and metadata are those that the sender left.
    pub const ANY: Receive = Receive {
        length: (0, u16::MAX),
        head: (0, u16::MAX),
        cut: None,
        metadata: (0, MAX_METADATA),
        supports_metadata: false,
        tail: TailRoom::Bytes(0, u16::MAX),
        fragments: true,
    };

    /// A page that a packet has to itself, with lengths from the minimum of Ethernet to the usual MTU.
    pub const PAGE: Receive = Receive {
        length: (60, 1500),
        head: (HEAD, HEAD),
        cut: None,
        metadata: (0, 0),
        supports_metadata: true,
        tail: TailRoom::Buffer(PAGE),
        fragments: false,
    };

    /// A test run in the kernel: a page, with all lengths that fit.
    pub const TEST_RUN: Receive = Receive { length: (ETH_HLEN, PAGE - HEAD), ..Receive::PAGE };

    /// The environment of this name.
    pub fn named(name: &str) -> Option<Receive> {
        ENVIRONMENTS.iter().find(|known| known.name == name).map(|known| known.receive)
    }

    /// The longest packet that there is room for, in bytes.
    pub fn longest(&self) -> u16 {
        match self.tail {
            TailRoom::Buffer(bytes) => bytes.saturating_sub(self.head.0),
            TailRoom::Bytes(..) | TailRoom::Cut => u16::MAX,
        }
    }

    /// Returns whether all that arrives there arrives here, too, but for lengths of packets.
    pub fn covers(&self, there: &Receive) -> bool {
        let within = |own: (u16, u16), other: (u16, u16)| own.0 <= other.0 && other.1 <= own.1;
        let tail = match (self.tail, there.tail) {
            (TailRoom::Bytes(least, most), TailRoom::Bytes(from, to)) => {
                within((least, most), (from, to))
            }
            (own, other) => own == other || self.tail == Receive::ANY.tail,
        };
        tail && within(self.head, there.head)
            && (self.cut.is_none() || self.cut == there.cut)
            && within(self.metadata, there.metadata)
            && (there.supports_metadata || !self.supports_metadata)
            && (self.fragments || !there.fragments)
    }

    /// Head room and metadata.
    pub fn around(&self) -> Surroundings {
        Surroundings { head_room: self.head, metadata: self.metadata }
    }

    /// The same with other lengths.
    #[must_use]
    pub fn with_length(self, least: u16, greatest: u16) -> Receive {
        Receive { length: (least, greatest), ..self }
    }

    /// The same with other head room and metadata.
    #[must_use]
    pub fn with_around(self, around: Surroundings) -> Receive {
        Receive { head: around.head_room, metadata: around.metadata, ..self }
    }

    /// Reads a name, numbers (`head=0..216,tail=0..3520,meta=0..32,length=60..1514,pieces=1`), or a
    /// name with numbers that replace its own. What is not named is that of `any`.
    ///
    /// # Errors
    /// What is wrong, and what can be written.
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

    /// What a result rests on that holds in this environment and not in any: a sentence for "exact
    /// if ...". None if there is nothing of the kind. `name` is what the user called it.
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
        if let Some(cut) = self.cut {
            parts.push(format!("no more than {cut} bytes to cut off their head"));
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
            TailRoom::Cut => parts.push("no tail room".to_owned()),
        }
        if !self.fragments {
            parts.push("one piece".to_owned());
        }
        let what = parts.join(", ");
        let lengths = Receive { length: self.length, ..any };
        if *self == lengths && *self != any {
            return Some(format!("packets are {what}"));
        }
        let named = ENVIRONMENTS.iter().find(|known| known.name == name);
        match named.filter(|known| known.receive == *self) {
            _ if parts.is_empty() => None,
            Some(known) => Some(format!("packets arrive as {} delivers them: {what}", known.name)),
            None => Some(format!("packets arrive so: {what}")),
        }
    }
}

/// Reads `N` or `A..B`.
fn range(key: &str, value: &str, most: u16) -> Result<(u16, u16), String> {
    let wrong = || format!("{key}={value}: write a number of bytes, or two as in {key}=0..{most}");
    let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    let (least, greatest) = match value.split_once("..") {
        Some((least, greatest)) => (number(least)?, number(greatest)?),
        None => (number(value)?, number(value)?),
    };
    if least > greatest || greatest > most {
        return Err(format!(
            "{}, from the least to the greatest, which is {most} at most",
            wrong()
        ));
    }
    Ok((least, greatest))
}

/// Room in front of packets, and the metadata in it. Ranges are in bytes, with both of their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// How far the packet's start can be moved outwards where there is no metadata. Of packets that
    /// leave less in a buffer, there is as much as they leave.
    pub head_room: (u16, u16),
    /// Length of the metadata that lies in this room, right in front of the packet: whole words of 4
    /// bytes.
    pub metadata: (u16, u16),
}

impl Surroundings {
    /// Whatever there can be.
    pub const ANY: Surroundings =
        Surroundings { head_room: (0, u16::MAX), metadata: (0, MAX_METADATA) };

    /// What holds of packets of which either holds: of arrivals over one of two ways.
    #[must_use]
    pub fn join(self, other: Surroundings) -> Surroundings {
        let join = |a: (u16, u16), b: (u16, u16)| (a.0.min(b.0), a.1.max(b.1));
        Surroundings {
            head_room: join(self.head_room, other.head_room),
            metadata: join(self.metadata, other.metadata),
        }
    }

    /// The least and greatest number of words that metadata has.
    pub(super) fn words(self) -> (u64, u64) {
        let (least, most) = self.metadata;
        let most = most.min(MAX_METADATA) / 4;
        (u64::from(least.div_ceil(4).min(most)), most.into())
    }
}

#[cfg(test)]
mod tests;
