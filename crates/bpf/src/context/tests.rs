//! Tests of the constants that describe program types.

use super::{Content, PROGRAM_TYPES, ProgramType};
use crate::object::ProgramKind;

#[test]
fn fields_are_disjoint_and_inside_the_structure() {
    for row in PROGRAM_TYPES {
        let mut end = 0;
        for field in row.fields {
            assert!(field.offset >= end, "{}: {} overlaps", row.structure, field.name);
            assert_eq!(field.offset % u64::from(field.bytes.min(8)), 0, "{}", field.name);
            end = field.offset + u64::from(field.bytes);
            assert_eq!(row.field_at(field.offset as i64), Some(field));
            assert_eq!(row.field_at(end as i64 - 1), Some(field));
            if let Content::Number(least, most) = field.content {
                assert!(least <= most, "{}", field.name);
                assert!(field.bytes >= 8 || most >> (8 * field.bytes) == 0, "{}", field.name);
            }
        }
        assert!(end <= row.size, "{}", row.structure);
    }
}

#[test]
fn each_type_has_the_ends_of_the_packet() {
    for row in PROGRAM_TYPES {
        for content in [Content::PacketStart, Content::PacketEnd, Content::Metadata] {
            let fields = row.fields.iter().filter(|field| field.content == content);
            assert_eq!(fields.count(), 1, "{}: {content:?}", row.structure);
        }
        assert!(row.attach.last().is_some_and(|(names, _)| names.is_empty()));
    }
}

#[test]
fn unknown_programs_count_as_xdp() {
    let kind = |kind| ProgramType::of(kind).map(|row| row.kind);
    assert_eq!(kind(ProgramKind::Unknown), Some(ProgramKind::Xdp));
    assert_eq!(kind(ProgramKind::Xdp), Some(ProgramKind::Xdp));
    assert_eq!(kind(ProgramKind::Other("kprobe")), None);
}
