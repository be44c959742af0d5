//! Guesses the type of a program from the section name, the BTF type of the parameter or the
//! function name, in this order.
//!
//! Source: libbpf's documentation of section names (`program_types.rst`), and the names that older
//! tools used.

use std::fmt;

use crate::Btf;
use crate::btf::Kind;

/// Type of a BPF program, which determines where the kernel runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramKind {
    /// An XDP program, which runs on a device, a devmap entry or a cpumap entry.
    Xdp,
    /// A traffic control classifier.
    SchedCls,
    /// A traffic control action.
    SchedAct,
    /// A filter for the packets of the sockets in a cgroup.
    CgroupSkb,
    /// A filter for the packets of one socket.
    SocketFilter,
    /// Any other type, given by its name.
    Other(&'static str),
    /// The type could not be recognised.
    Unknown,
}

impl ProgramKind {
    /// Returns the program type that a section name selects; `None` if it selects none.
    pub fn of_section(section: &str) -> Option<ProgramKind> {
        by_section(section)
    }

    /// Returns true for XDP programs, and for programs of unknown type, which count as XDP.
    pub fn is_xdp(self) -> bool {
        matches!(self, ProgramKind::Xdp | ProgramKind::Unknown)
    }
}

impl fmt::Display for ProgramKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProgramKind::Xdp => "xdp",
            ProgramKind::SchedCls => "sched_cls",
            ProgramKind::SchedAct => "sched_act",
            ProgramKind::CgroupSkb => "cgroup_skb",
            ProgramKind::SocketFilter => "socket_filter",
            ProgramKind::Other(name) => name,
            ProgramKind::Unknown => "unknown",
        })
    }
}

/// Program types, each with the first word of its section names. The word ends before the first
/// character that is not a letter.
const SECTIONS: &[(&str, ProgramKind)] = &[
    ("xdp", ProgramKind::Xdp),
    ("tc", ProgramKind::SchedCls),
    ("tcx", ProgramKind::SchedCls),
    ("netkit", ProgramKind::SchedCls),
    ("classifier", ProgramKind::SchedCls),
    ("cls", ProgramKind::SchedCls),
    ("action", ProgramKind::SchedAct),
    ("act", ProgramKind::SchedAct),
    ("socket", ProgramKind::SocketFilter),
    ("kprobe", ProgramKind::Other("kprobe")),
    ("kretprobe", ProgramKind::Other("kprobe")),
    ("ksyscall", ProgramKind::Other("kprobe")),
    ("kretsyscall", ProgramKind::Other("kprobe")),
    ("uprobe", ProgramKind::Other("kprobe")),
    ("uretprobe", ProgramKind::Other("kprobe")),
    ("usdt", ProgramKind::Other("kprobe")),
    ("tracepoint", ProgramKind::Other("tracepoint")),
    ("tp", ProgramKind::Other("tracepoint")),
    ("raw", ProgramKind::Other("raw_tracepoint")),
    ("fentry", ProgramKind::Other("tracing")),
    ("fexit", ProgramKind::Other("tracing")),
    ("fmod", ProgramKind::Other("tracing")),
    ("iter", ProgramKind::Other("tracing")),
    ("freplace", ProgramKind::Other("ext")),
    ("lsm", ProgramKind::Other("lsm")),
    ("syscall", ProgramKind::Other("syscall")),
    ("perf", ProgramKind::Other("perf_event")),
    ("lwt", ProgramKind::Other("lwt")),
    ("sockops", ProgramKind::Other("sock_ops")),
    ("sk", ProgramKind::Other("sk")),
    ("lirc", ProgramKind::Other("lirc_mode2")),
    ("flow", ProgramKind::Other("flow_dissector")),
    ("cgroup", ProgramKind::Other("cgroup")),
    ("struct", ProgramKind::Other("struct_ops")),
    ("netfilter", ProgramKind::Other("netfilter")),
];

/// Prefixes of section names that select the type of cgroup_skb programs; checked before
/// [`SECTIONS`].
const CGROUP_SKB: [&str; 2] = ["cgroup_skb/", "cgroup/skb"];

/// Program types, each with the name of the structure that its context parameter points to.
const CONTEXTS: &[(&str, ProgramKind)] =
    &[("xdp_md", ProgramKind::Xdp), ("__sk_buff", ProgramKind::SchedCls)];

/// Guesses the type of a program from its section, its context parameter and its name.
pub(super) fn guess(section: &str, name: &str, btf: Option<&Btf>) -> ProgramKind {
    by_section(section)
        .or_else(|| btf.and_then(|btf| by_context(btf, name)))
        .or_else(|| by_words(section))
        .or_else(|| by_words(name))
        .unwrap_or(ProgramKind::Unknown)
}

fn by_section(section: &str) -> Option<ProgramKind> {
    // libbpf loads programs of sections that start with `?` only on request.
    let section = section.strip_prefix('?').unwrap_or(section);
    if CGROUP_SKB.iter().any(|prefix| section.starts_with(prefix)) {
        return Some(ProgramKind::CgroupSkb);
    }
    let end = section.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(section.len());
    let (first, _) = section.split_at(end);
    SECTIONS.iter().find(|(prefix, _)| *prefix == first).map(|(_, kind)| *kind)
}

fn by_context(btf: &Btf, name: &str) -> Option<ProgramKind> {
    let function = btf.find(name, |kind| matches!(kind, Kind::Func { .. }))?;
    let Kind::Func { proto, .. } = *btf.kind(function) else { return None };
    let Kind::FuncProto { params, .. } = btf.kind(proto) else { return None };
    let Kind::Ptr(to) = *btf.kind(btf.resolve(params.first()?.ty)) else { return None };
    let context = btf.type_name(btf.resolve(to));
    CONTEXTS.iter().find(|(name, _)| *name == context).map(|(_, kind)| *kind)
}

fn by_words(name: &str) -> Option<ProgramKind> {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| word.eq_ignore_ascii_case("xdp")).then_some(ProgramKind::Xdp)
}
