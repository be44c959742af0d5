//! Describes the types of BPF programs as data: the structure that a program gets, its return
//! codes, and the way in which the kernel loads and test-runs the program. Each program type is one
//! constant of type [`ProgramType`].
//!
//! Sources: `include/uapi/linux/bpf.h` for the structures and return codes; the functions
//! `*_is_valid_access` and `*_convert_ctx_access` of `net/core/filter.c` for the fields.

use crate::object::ProgramKind;

/// Maximum value of an interface index, which the kernel stores as `int`.
const IFINDEX_MAX: u64 = 0x7fff_ffff;

/// Properties of a BPF program type that slowpath analyses, such as XDP.
#[derive(Debug)]
pub struct ProgramType {
    /// Program type that has these properties.
    pub kind: ProgramKind,
    /// Name of the structure behind the program's parameter, such as `xdp_md`.
    pub structure: &'static str,
    /// Size of the structure in bytes.
    pub size: u64,
    /// Fields of the structure, by ascending offset.
    pub fields: &'static [Field],
    /// Access rules of this program type that replace [`Field::access`]. Each pair contains the
    /// names of some fields, and the accesses to these fields.
    pub rules: &'static [(&'static [&'static str], Access)],
    /// Header with which the packets of such a program begin.
    pub first: FirstByte,
    /// True if programs may store to the packet directly.
    pub writes_packets: bool,
    /// True if the verifier accepts the packet loads of classic BPF (`may_access_skb`).
    pub loads_packets: bool,
    /// True if soft interrupts of the same CPU, such as timer callbacks, can run other BPF programs
    /// while a program of this type runs. This is the case if a process sends or receives the
    /// packet on a socket.
    pub interruptible: bool,
    /// Return codes that the kernel distinguishes.
    pub results: &'static [ReturnCode],
    /// Number of the program type in the kernel (`enum bpf_prog_type`).
    pub number: u32,
    /// Prefixes of section names that select this program type. The name of an attach type can
    /// follow the prefix.
    pub sections: &'static [&'static str],
    /// Attach types of the program type. Each has the names that select it after a prefix of
    /// `sections`, and its number in the kernel (`enum bpf_attach_type`). The last one has no names
    /// and is the default.
    pub attach: &'static [(&'static [&'static str], u32)],
}

/// The header with which the packets of a program begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstByte {
    /// The link layer header.
    Link,
    /// The network header.
    Network,
    /// A header of any layer, which depends on the socket.
    Any,
}

/// A field of the structure that a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the field.
    pub name: &'static str,
    /// Offset of the field in bytes.
    pub offset: u64,
    /// Width of the field in bytes.
    pub bytes: u8,
    /// Content of the field at the start of a run.
    pub content: Content,
    /// Accesses that the kernel's verifier accepts, unless [`ProgramType::rules`] replace them.
    pub access: Access,
}

/// Accesses to a field that the kernel's verifier accepts. All accesses are aligned to their width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// All accesses; slowpath checks only that they stay inside the structure.
    Unchecked,
    /// Loads of the whole field only.
    Whole,
    /// Loads of the field or of a part of it.
    Parts,
    /// Loads of the field or of a part of it, and stores to the whole field. The kernel keeps only
    /// this number of low bits of a stored value.
    Stores(u8),
    /// As `Stores(16)`, but the kernel ignores stores of 65535 and larger numbers.
    StoresQueue,
    /// Loads of the whole field, and stores to it.
    WholeStores,
    /// Loads and stores of any width. An access may extend into the next fields if they have the
    /// access rule `Bytes`, too.
    Bytes,
    /// Neither loads nor stores, in programs of this type.
    Never,
}

/// Content of a field when a program starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Address of the packet's first byte.
    PacketStart,
    /// Address of the end of the bytes that the program can access directly.
    PacketEnd,
    /// Address of the metadata in front of the packet.
    Metadata,
    /// Length of the whole packet in bytes; the program may access only the first bytes directly.
    Length,
    /// A number between a minimum and a maximum, both included.
    Number(u64, u64),
    /// A content that slowpath does not model.
    Unsupported,
}

/// A return code with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnCode {
    /// The code as the program returns it.
    pub code: i32,
    /// Name of the code in the kernel, or a short description if the kernel has no name for it.
    pub name: &'static str,
    /// Meaning of the code for the packet.
    pub meaning: &'static str,
}

const fn field(name: &'static str, offset: u64, content: Content) -> Field {
    Field { name, offset, bytes: 4, content, access: Access::Unchecked }
}

const fn with(
    name: &'static str,
    (offset, bytes): (u64, u8),
    content: Content,
    access: Access,
) -> Field {
    Field { name, offset, bytes, content, access }
}

/// Returns a field of 4 bytes that contains a number from 0 to `most`.
const fn number(name: &'static str, offset: u64, most: u64, access: Access) -> Field {
    with(name, (offset, 4), Content::Number(0, most), access)
}

const fn code(code: i32, name: &'static str, meaning: &'static str) -> ReturnCode {
    ReturnCode { code, name, meaning }
}

/// XDP programs (`struct xdp_md`, `enum xdp_action`).
pub static XDP: ProgramType = ProgramType {
    kind: ProgramKind::Xdp,
    structure: "xdp_md",
    size: 24,
    fields: &[
        field("data", 0, Content::PacketStart),
        field("data_end", 4, Content::PacketEnd),
        field("data_meta", 8, Content::Metadata),
        field("ingress_ifindex", 12, Content::Number(1, IFINDEX_MAX)),
        field("rx_queue_index", 16, Content::Number(0, 0xffff)),
        field("egress_ifindex", 20, Content::Number(0, IFINDEX_MAX)),
    ],
    rules: &[],
    first: FirstByte::Link,
    writes_packets: true,
    loads_packets: false,
    interruptible: false,
    results: &XDP_CODES,
    number: 6,
    sections: &["xdp/", "xdp_", "xdp.frags/"],
    attach: &[(&["devmap"], 33), (&["cpumap"], 35), (&[], 37)],
};

const XDP_CODES: [ReturnCode; 5] = [
    code(0, "XDP_ABORTED", "drops the packet and reports an error"),
    code(1, "XDP_DROP", "drops the packet"),
    code(2, "XDP_PASS", "passes the packet to the network stack"),
    code(3, "XDP_TX", "sends the packet from the device that received it"),
    code(4, "XDP_REDIRECT", "sends the packet to the target of a redirect"),
];

/// The names of the XDP return codes. The index of a name is its code.
pub const XDP_ACTIONS: [&str; 5] = {
    let mut names = [""; 5];
    let mut index = 0;
    while index < names.len() {
        assert!(XDP_CODES[index].code == index as i32, "a code is not its index");
        names[index] = XDP_CODES[index].name;
        index += 1;
    }
    names
};

/// Fields of `struct __sk_buff`, with the accesses of traffic control programs
/// (`tc_cls_act_is_valid_access`, `bpf_skb_is_valid_access`). Ranges: `bpf_convert_ctx_access`, and
/// the widths of the fields of `struct sk_buff`. The low half of `remote_port` is 0 in the kernel;
/// here it may be any number.
const SKB: [Field; 44] = [
    with("len", (0, 4), Content::Length, Access::Parts),
    number("pkt_type", 4, 7, Access::Parts),
    number("mark", 8, U32, Access::Stores(32)),
    number("queue_mapping", 12, U16, Access::StoresQueue),
    number("protocol", 16, U16, Access::Parts),
    number("vlan_present", 20, 1, Access::Parts),
    number("vlan_tci", 24, U16, Access::Parts),
    number("vlan_proto", 28, U16, Access::Parts),
    number("priority", 32, U32, Access::Stores(32)),
    number("ingress_ifindex", 36, IFINDEX_MAX, Access::Parts),
    with("ifindex", (40, 4), Content::Number(1, IFINDEX_MAX), Access::Parts),
    number("tc_index", 44, U16, Access::Stores(16)),
    number("cb[0]", 48, U32, Access::Bytes),
    number("cb[1]", 52, U32, Access::Bytes),
    number("cb[2]", 56, U32, Access::Bytes),
    number("cb[3]", 60, U32, Access::Bytes),
    number("cb[4]", 64, U32, Access::Bytes),
    number("hash", 68, U32, Access::Parts),
    number("tc_classid", 72, U16, Access::Stores(16)),
    with("data", (76, 4), Content::PacketStart, Access::Whole),
    with("data_end", (80, 4), Content::PacketEnd, Access::Whole),
    number("napi_id", 84, U32, Access::Parts),
    number("family", 88, U16, Access::Never),
    number("remote_ip4", 92, U32, Access::Never),
    number("local_ip4", 96, U32, Access::Never),
    number("remote_ip6[0]", 100, U32, Access::Never),
    number("remote_ip6[1]", 104, U32, Access::Never),
    number("remote_ip6[2]", 108, U32, Access::Never),
    number("remote_ip6[3]", 112, U32, Access::Never),
    number("local_ip6[0]", 116, U32, Access::Never),
    number("local_ip6[1]", 120, U32, Access::Never),
    number("local_ip6[2]", 124, U32, Access::Never),
    number("local_ip6[3]", 128, U32, Access::Never),
    number("remote_port", 132, U32, Access::Never),
    number("local_port", 136, U16, Access::Never),
    with("data_meta", (140, 4), Content::Metadata, Access::Whole),
    with("flow_keys", (144, 8), Content::Unsupported, Access::Never),
    with("tstamp", (152, 8), Content::Number(0, u64::MAX), Access::WholeStores),
    number("wire_len", 160, U32, Access::Parts),
    number("gso_segs", 164, U16, Access::Parts),
    with("sk", (168, 8), Content::Unsupported, Access::Whole),
    number("gso_size", 176, U16, Access::Parts),
    with("tstamp_type", (180, 1), Content::Unsupported, Access::Whole),
    with("hwtstamp", (184, 8), Content::Number(0, u64::MAX), Access::Whole),
];

const TC_CODES: [ReturnCode; 10] = [
    code(-1, "TC_ACT_UNSPEC", "continues with the next program or filter (TCX_NEXT)"),
    code(0, "TC_ACT_OK", "passes the packet on (TCX_PASS)"),
    code(1, "TC_ACT_RECLASSIFY", "starts the classification again"),
    code(2, "TC_ACT_SHOT", "drops the packet (TCX_DROP)"),
    code(3, "TC_ACT_PIPE", "continues with the next action"),
    code(4, "TC_ACT_STOLEN", "ends the packet's path; an action keeps it"),
    code(5, "TC_ACT_QUEUED", "ends the packet's path; it is queued"),
    code(6, "TC_ACT_REPEAT", "runs the action again"),
    code(7, "TC_ACT_REDIRECT", "sends the packet to the target of a redirect (TCX_REDIRECT)"),
    code(8, "TC_ACT_TRAP", "passes the packet from hardware to the network stack"),
];

/// Classifiers for traffic control, on `tc` or `tcx` (`TC_ACT_*` of `uapi/linux/pkt_cls.h`).
pub static SCHED_CLS: ProgramType = ProgramType {
    kind: ProgramKind::SchedCls,
    number: 3,
    sections: &["tcx/"],
    attach: &[(&["ingress"], 46), (&["egress"], 47), (&[], 0)],
    ..TC
};

/// Actions for traffic control. The kernel knows the codes up to 3 and `TC_ACT_REDIRECT`, and treats
/// others as `TC_ACT_UNSPEC` (`tcf_bpf_act` of `net/sched/act_bpf.c`).
pub static SCHED_ACT: ProgramType = TC;

/// Properties of traffic control actions ([`SCHED_ACT`]). The constants of other program types copy
/// most of them.
const TC: ProgramType = ProgramType {
    kind: ProgramKind::SchedAct,
    structure: "__sk_buff",
    size: 192,
    fields: &SKB,
    rules: &[],
    first: FirstByte::Link,
    writes_packets: true,
    loads_packets: true,
    interruptible: false,
    results: &TC_CODES,
    number: 4,
    sections: &[],
    attach: &[(&[], 0)],
};

/// Filters for the packets of the sockets in a cgroup. Access rules: `cg_skb_is_valid_access`.
/// Return codes: `check_return_code` of the verifier, `BPF_PROG_CGROUP_INET_EGRESS_RUN_ARRAY` of
/// `include/linux/bpf-cgroup.h`. Codes 2 and 3 are for egress only.
pub static CGROUP_SKB: ProgramType = ProgramType {
    kind: ProgramKind::CgroupSkb,
    rules: &[
        (&["queue_mapping", "tc_index", "family", "remote_port", "local_port"], Access::Parts),
        (&["remote_ip4", "local_ip4"], Access::Whole),
        (&["remote_ip6[0]", "remote_ip6[1]", "remote_ip6[2]", "remote_ip6[3]"], Access::Whole),
        (&["local_ip6[0]", "local_ip6[1]", "local_ip6[2]", "local_ip6[3]"], Access::Whole),
        (&["tc_classid", "data_meta", "wire_len", "tstamp_type"], Access::Never),
    ],
    first: FirstByte::Network,
    writes_packets: false,
    loads_packets: false,
    interruptible: true,
    results: &[
        code(0, "drop", "drops the packet"),
        code(1, "pass", "passes the packet on"),
        code(2, "drop and notify", "drops the packet and reports congestion to TCP"),
        code(3, "pass and notify", "passes the packet on and reports congestion to TCP"),
    ],
    number: 8,
    sections: &["cgroup_skb/"],
    attach: &[(&["ingress"], 0), (&["egress"], 1), (&[], 0)],
    ..TC
};

/// Filters for the packets of a socket. They return the number of bytes to keep. Access rules:
/// `sk_filter_is_valid_access`. Packets of raw sockets start with the link layer header, others
/// with the header of a higher layer.
pub static SOCKET_FILTER: ProgramType = ProgramType {
    kind: ProgramKind::SocketFilter,
    rules: &[
        (&["mark", "queue_mapping", "priority", "tc_index"], Access::Parts),
        (&["tc_classid", "data", "data_end", "data_meta"], Access::Never),
        (&["tstamp", "wire_len", "tstamp_type", "hwtstamp"], Access::Never),
    ],
    first: FirstByte::Any,
    writes_packets: false,
    interruptible: true,
    results: &[],
    number: 1,
    ..TC
};

const U16: u64 = u16::MAX as u64;
const U32: u64 = u32::MAX as u64;

/// All types of programs that slowpath analyses.
pub static PROGRAM_TYPES: [&ProgramType; 5] =
    [&XDP, &SCHED_CLS, &SCHED_ACT, &CGROUP_SKB, &SOCKET_FILTER];

impl ProgramType {
    /// Returns the properties of a program type; `None` if slowpath does not analyse programs of
    /// this type. A program of unknown type counts as XDP.
    pub fn of(kind: ProgramKind) -> Option<&'static ProgramType> {
        match kind {
            ProgramKind::Unknown => Some(&XDP),
            kind => PROGRAM_TYPES.into_iter().find(|known| known.kind == kind),
        }
    }

    /// Returns the name of the group to which this program type belongs, for messages: `tc`,
    /// `cgroup_skb`, `socket` or `XDP`.
    pub fn family(&self) -> &'static str {
        match self.kind {
            ProgramKind::SchedCls | ProgramKind::SchedAct => "tc",
            ProgramKind::CgroupSkb => "cgroup_skb",
            ProgramKind::SocketFilter => "socket",
            _ => "XDP",
        }
    }

    /// Returns the accesses to a context field that the verifier accepts in programs of this type.
    pub fn access(&self, field: &Field) -> Access {
        let rule = self.rules.iter().find(|(names, _)| names.contains(&field.name));
        rule.map_or(field.access, |&(_, access)| access)
    }

    /// Returns the context field with this name; `None` if the structure has no such field.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the context field that contains the byte at an offset; `None` if no field does.
    pub fn field_at(&self, offset: i64) -> Option<&'static Field> {
        let offset = u64::try_from(offset).ok()?;
        let inside = |field: &&Field| {
            (0..u64::from(field.bytes)).contains(&offset.wrapping_sub(field.offset))
        };
        self.fields.iter().find(inside)
    }

    /// Returns the offset in bytes of the context field with this content.
    ///
    /// # Panics
    /// If the structure lacks such a field.
    pub fn offset(&self, content: Content) -> u64 {
        let found = self.fields.iter().find(|field| field.content == content);
        found.map(|field| field.offset).expect("a field of all types")
    }

    /// Returns the offsets in bytes of three context fields: start of the packet, end of the
    /// packet, start of its metadata.
    pub fn ends(&self) -> [u64; 3] {
        [Content::PacketStart, Content::PacketEnd, Content::Metadata]
            .map(|content| self.offset(content))
    }

    /// Returns the offset in bytes of the context field with the packet's length. `None` if the
    /// structure has no such field: the packet then ends at its directly accessible end.
    pub fn length(&self) -> Option<u64> {
        let found = self.fields.iter().find(|field| field.content == Content::Length);
        found.map(|field| field.offset)
    }

    /// Returns the name of a return code; `None` if the kernel does not distinguish it.
    pub fn result_name(&self, code: u32) -> Option<&'static str> {
        let known = self.results.iter().find(|known| known.code == code.cast_signed());
        known.map(|known| known.name)
    }
}

#[cfg(test)]
mod tests;
