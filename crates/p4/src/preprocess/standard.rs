//! Standard headers of P4_16 and its architectures, embedded in this crate.

/// A standard header.
pub(super) struct Header {
    /// Name in messages.
    pub name: &'static str,
    /// Source text of the header.
    pub text: &'static str,
    /// Macro that the preprocessor must define before it includes the header; `None` if the header
    /// needs no macro.
    pub defines: Option<&'static str>,
}

/// Returns the standard header with this name in `#include`; `None` if no such header exists.
pub(super) fn find(name: &str) -> Option<Header> {
    let (name, text, defines) = match name {
        "core.p4" => ("core.p4", include_str!("../../include/core.p4"), None),
        "v1model.p4" => ("v1model.p4", include_str!("../../include/v1model.p4"), None),
        "psa.p4" | "bmv2/psa.p4" => ("psa.p4", include_str!("../../include/psa.p4"), None),
        "dpdk/psa.p4" => {
            ("dpdk/psa.p4", include_str!("../../include/psa.p4"), Some("_PSA_WITH_PACKET_LENGTH"))
        }
        "ebpf_model.p4" => ("ebpf_model.p4", include_str!("../../include/ebpf_model.p4"), None),
        "xdp_model.p4" => ("xdp_model.p4", include_str!("../../include/xdp_model.p4"), None),
        _ => return None,
    };
    Some(Header { name, text, defines })
}
