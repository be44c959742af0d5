//! Tests that parsing encoded types returns the same numbers, names and sizes.

use slowpath_bpf::btf::{FuncLinkage, Kind};
use slowpath_bpf::{Btf, Object};

use super::encode;

fn types() -> Btf {
    let object = Object::parse(include_bytes!("../../tests/objects/features.bpf.o"));
    object.expect("parses").btf.expect("has types")
}

#[test]
fn types_keep_numbers_names_and_sizes() {
    let before = types();
    let after = Btf::parse(&encode(&before, &[])).expect("parses");
    assert_eq!(before.types().count(), after.types().count());
    for (id, ty) in before.types() {
        if matches!(ty.kind, Kind::Var { .. } | Kind::DataSec { .. }) {
            assert!(matches!(after.kind(id), Kind::Ptr(_)), "{id:?}");
            continue;
        }
        assert_eq!(before.type_name(id), after.type_name(id), "{id:?}");
        assert_eq!(before.size(id), after.size(id), "{id:?}");
        let members = |btf: &Btf| -> Vec<_> {
            let name = |m: &slowpath_bpf::btf::RawMember| btf.string(m.name).to_owned();
            btf.members(id).iter().map(|m| (name(m), m.ty, m.bit_offset, m.bitfield)).collect()
        };
        assert_eq!(members(&before), members(&after), "{id:?}");
    }
    assert_eq!(encode(&after, &[]), encode(&before, &[]));
}

#[test]
fn functions_are_static_if_the_linker_says_so() {
    let linkage = |static_functions: &[&str]| {
        let btf = Btf::parse(&encode(&types(), static_functions)).expect("parses");
        let id = btf.find("halve", |kind| matches!(kind, Kind::Func { .. })).expect("is there");
        match btf.kind(id) {
            Kind::Func { linkage, .. } => *linkage,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(linkage(&[]), FuncLinkage::Global);
    assert_eq!(linkage(&["halve"]), FuncLinkage::Static);
}
