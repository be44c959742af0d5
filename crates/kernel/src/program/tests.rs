//! Tests that the right attach type is chosen for a section.

use slowpath_bpf::XDP;

use super::attach_type;

#[test]
fn sections_name_where_a_program_is_attached() {
    for section in ["xdp", "xdp.frags", "xdp/main", "xdp/devmaps", "prog", ""] {
        assert_eq!(attach_type(&XDP, section), 37, "{section}");
    }
    for section in ["xdp/devmap", "xdp_devmap/egress", "xdp.frags/devmap", "xdp/devmap/x"] {
        assert_eq!(attach_type(&XDP, section), 33, "{section}");
    }
    assert_eq!(attach_type(&XDP, "xdp/cpumap"), 35);
}
