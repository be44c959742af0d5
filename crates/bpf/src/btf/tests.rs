//! Tests that read the BTF of an object in `tests/data`, and malformed BTF.

use super::*;
use crate::Object;

fn features() -> Btf {
    let object = Object::parse(include_bytes!("../../tests/data/features.bpf.o"));
    object.ok().and_then(|o| o.btf).expect("BTF")
}

fn btf(types: &[u32], strings: &[u8]) -> Vec<u8> {
    let len = types.len() as u32 * 4;
    let header = [0x0001_eb9f, 24, 0, len, len, strings.len() as u32];
    let words = header.iter().chain(types);
    words.flat_map(|word| word.to_le_bytes()).chain(strings.iter().copied()).collect()
}

fn info(kind: u32, vlen: u32) -> u32 {
    kind << 24 | vlen
}

#[test]
fn sizes_and_members() {
    let btf = features();
    let key = btf.find("flow_key", |k| matches!(k, Kind::Struct { .. })).expect("a type");
    assert_eq!(btf.size(key), Some(12));
    let member = btf.member(key, "port").expect("a member");
    assert_eq!((member.bit_offset, btf.size(member.ty), member.bitfield), (64, Some(2), 0));
    assert_eq!(btf.type_name(member.ty), "u16");
    assert_eq!(btf.member(key, "ports"), None);
    assert_eq!(btf.size(TypeId::VOID), None);
    assert_eq!(btf.type_name(TypeId(u32::MAX)), "");
}

#[test]
fn flavours() {
    for (name, essential) in [
        ("task_struct", "task_struct"),
        ("task_struct___old", "task_struct"),
        ("a___b___c", "a___b"),
        ("___old", "___old"),
        ("name___", "name___"),
        ("", ""),
    ] {
        assert_eq!(essential_name(name), essential, "{name}");
    }
}

#[test]
fn every_kind_is_read() {
    let strings = b"\0name\0";
    let cases: [(&str, Vec<u32>); 19] = [
        ("Int", vec![1, info(1, 0), 4, 0x0100_0020]),
        ("Ptr", vec![0, info(2, 0), 1]),
        ("Array", vec![0, info(3, 0), 0, 1, 1, 8]),
        ("Struct", vec![1, info(4, 1), 4, 1, 1, 0]),
        ("Union", vec![1, info(5, 1), 4, 1, 1, 0]),
        ("Enum", vec![1, info(6, 1), 4, 1, 7]),
        ("Fwd", vec![1, info(7, 0), 0]),
        ("Typedef", vec![1, info(8, 0), 1]),
        ("Volatile", vec![0, info(9, 0), 1]),
        ("Const", vec![0, info(10, 0), 1]),
        ("Restrict", vec![0, info(11, 0), 1]),
        ("Func", vec![1, info(12, 1), 1]),
        ("FuncProto", vec![0, info(13, 1), 0, 1, 1]),
        ("Var", vec![1, info(14, 0), 1, 1]),
        ("DataSec", vec![1, info(15, 1), 4, 1, 0, 4]),
        ("Float", vec![1, info(16, 0), 8]),
        ("DeclTag", vec![1, info(17, 0), 1, u32::MAX]),
        ("TypeTag", vec![1, info(18, 0), 1]),
        ("Enum", vec![1, info(19, 1), 8, 1, 7, 1]),
    ];
    for (kind, words) in cases {
        let data = btf(&words, strings);
        let parsed = Btf::parse(&data).unwrap_or_else(|e| panic!("{kind}: {e}"));
        let printed = format!("{:?}", parsed.kind(TypeId(1)));
        assert!(printed.starts_with(kind), "{kind}: {printed}");
        // Unused strings are dropped.
        let types = 24 + 4 * words.len();
        assert_eq!(parsed.encode()[24..types], data[24..types], "{kind}");
        for cut in 0..data.len() {
            let error = Btf::parse(&data[..cut]).expect_err("cut off");
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}

#[test]
fn values_of_enumerations_keep_their_sign() {
    let signed = |words: &[u32]| match Btf::parse(&btf(words, b"\0n\0"))
        .map(|b| b.kind(TypeId(1)).clone())
    {
        Ok(Kind::Enum(e)) => (e.signed, e.variants[0].value),
        other => panic!("{other:?}"),
    };
    assert_eq!(signed(&[1, info(6, 1), 4, 1, u32::MAX]), (false, u64::from(u32::MAX)));
    assert_eq!(signed(&[1, info(6, 1) | 1 << 31, 4, 1, u32::MAX]), (true, u64::MAX));
    assert_eq!(signed(&[1, info(19, 1), 8, 1, 5, 2]), (false, 5 | 2 << 32));
}

#[test]
fn cyclic_and_oversized_types_have_no_size() {
    // A typedef of itself; an array of itself; a structure that contains itself without a name; an
    // array of arrays larger than any memory.
    let words = [
        [1, info(8, 0), 1].as_slice(),
        &[0, info(3, 0), 0, 2, 2, 8],
        &[1, info(4, 2), 8, 0, 3, 0, 0, 3, 0],
        &[1, info(1, 0), 4, 32],
        &[0, info(3, 0), 0, 4, 4, u32::MAX],
    ]
    .concat();
    let btf = Btf::parse(&btf(&words, b"\0n\0")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(btf.resolve(TypeId(1)), TypeId::VOID);
    assert_eq!(btf.size(TypeId(1)), None);
    assert_eq!(btf.size(TypeId(2)), None);
    assert_eq!(btf.member(TypeId(3), "x"), None);
    assert_eq!(btf.size(TypeId(5)), None);
}

#[test]
fn refusals_name_the_fault() {
    let message = |data: &[u8]| Btf::parse(data).expect_err("malformed").to_string();
    assert!(message(b"").contains("shorter than its header"));
    assert!(message(&[0x12; 24]).contains("magic number of BTF"));
    assert!(message(&[0xeb, 0x9f, 1, 0]).contains("big-endian"));
    assert!(message(&[0x9f, 0xeb, 2, 0]).contains("version 2"));
    assert!(message(&btf(&[1, info(20, 0), 0], b"\0n\0")).contains("type 1: unknown kind"));
    assert!(message(&btf(&[], b"\0n")).contains("strings"));
}

#[test]
fn encoding_keeps_type_numbers() {
    let before = features();
    let after = Btf::parse(&before.encode()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(before.types().count(), after.types().count());
    // String offsets may differ, so compare encodings.
    assert_eq!(before.encode(), after.encode());
    for (id, ty) in before.types() {
        assert_eq!(before.type_name(id), after.type_name(id));
        assert_eq!(before.size(id), after.size(id));
        let names = |btf: &Btf| -> Vec<String> {
            btf.members(id).iter().map(|m| btf.string(m.name).to_owned()).collect()
        };
        assert_eq!(names(&before), names(&after));
        if let Kind::Var { .. } | Kind::DataSec { .. } | Kind::Func { .. } | Kind::Ptr(_) = ty.kind
        {
            assert_eq!(ty.kind, *after.kind(id));
        }
    }
}
