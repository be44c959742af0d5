use super::*;

/// Returns test data: all ranges of up to five bytes in two maps, and one value of every other kind
/// of shared memory.
fn all() -> Vec<Shared> {
    let mut all = vec![Shared::AnyBytes];
    for map in [0, 1].map(MapId::of_object) {
        all.push(Shared::Elements(map));
        all.push(Shared::Bytes { map, from: i64::MIN, end: i64::MAX });
        for from in 0..5 {
            all.extend((from + 1..=5).map(|end| Shared::Bytes { map, from, end }));
        }
    }
    all
}

#[test]
fn memory_may_change_if_it_overlaps_an_earlier_access() {
    let all = all();
    for &first in &all {
        for &second in &all {
            for &third in &all {
                let (mut accessed, mut other) = (Accessed::default(), Accessed::default());
                accessed.note(first);
                accessed.note(second);
                other.note(third);
                accessed.join(&other);
                for &access in &all {
                    let before = [first, second, third];
                    let overlaps = before.iter().any(|before| before.overlaps(access));
                    assert_eq!(accessed.may_change(access), overlaps, "{access:?}, {before:?}");
                }
            }
        }
    }
}

#[test]
fn fields_of_a_value_are_one_range() {
    let map = MapId::of_object(3);
    let fields = |order: &[i64]| {
        let mut accessed = Accessed::default();
        for &from in order {
            accessed.note(Shared::Bytes { map, from: 4 * from, end: 4 * from + 4 });
        }
        accessed
    };
    let accessed = fields(&[0, 1, 2, 3, 4]);
    assert_eq!(accessed.any.0.len(), 1);
    assert_eq!(accessed, fields(&[4, 0, 2, 3, 1]));
    assert_eq!(fields(&[0, 2]).any.0.len(), 2);
}
