use super::Footprint;
use slowpath_ir::RegionId;
use slowpath_smt::Domain;

fn range(region: usize, offset: u64, bytes: u8) -> Footprint {
    Footprint::at(RegionId::from(region), &Domain::constant(64, offset), bytes)
}

#[test]
fn neighbouring_words_do_not_meet() {
    assert!(!range(0, 0, 8).intersects(&range(0, 8, 8)));
    assert!(range(0, 0, 9).intersects(&range(0, 8, 8)));
    assert!(range(0, 4, 8).intersects(&range(0, 8, 1)));
    assert!(!range(0, 0, 8).intersects(&range(1, 0, 8)));
}

#[test]
fn offsets_below_the_base_are_words_too() {
    let below = |bytes: u64| 0u64.wrapping_sub(bytes);
    assert!(!range(0, below(16), 8).intersects(&range(0, below(8), 8)));
    assert!(range(0, below(16), 9).intersects(&range(0, below(8), 8)));
    assert!(
        range(0, below(4), 8).intersects(&range(0, 0, 1)),
        "what wraps around goes on at the base"
    );
}

#[test]
fn fields_of_unknown_elements_stay_apart() {
    let region = RegionId::from(0);
    let field = |at: u64| Footprint::at(region, &Domain::from_bits(64, !at & 63, at), 8);
    assert!(!field(0).intersects(&field(8)) && field(8).intersects(&field(8)));
    assert!(field(56).intersects(&range(0, 7 * 64 + 60, 1)));
    assert!(field(60).intersects(&range(0, 64, 1)), "the field reaches into the next element");
}

/// Checks that a footprint contains all bytes that an access can touch at any offset in the domain.
#[test]
fn no_byte_is_missed() {
    for width in [4u8, 9, 12] {
        let most = (1u64 << width) - 1;
        for (lo, hi) in [(0, most), (3, 12), (most.saturating_sub(20), most), (7, 200)] {
            for ones in [0, 1, 5, 40] {
                let offset = Domain::range(width, lo, hi);
                let Some(offset) = Domain::from_bits(width, 2, ones).meet(&offset) else {
                    continue;
                };
                for bytes in [1, 2, 8] {
                    let set = Footprint::at(RegionId::from(0), &offset, bytes);
                    let starts = (0..=most).filter(|&start| offset.contains(start));
                    for byte in
                        starts.flat_map(|s| (0..bytes).map(move |b| (s + u64::from(b)) & most))
                    {
                        let one =
                            Footprint::at(RegionId::from(0), &Domain::constant(width, byte), 1);
                        assert!(set.intersects(&one), "{width} {offset:?} {bytes} {byte}");
                    }
                }
            }
        }
    }
}

#[test]
fn unions_keep_regions_apart() {
    let both = range(2, 0, 8).union(&range(1, 8, 8)).union(&range(2, 16, 8));
    assert!(both.intersects(&range(2, 0, 1)) && both.intersects(&range(2, 16, 1)));
    assert!(!both.intersects(&range(2, 8, 8)) && !both.intersects(&range(1, 0, 8)));
    assert!(both.union(&Footprint::Anywhere).intersects(&range(9, 0, 1)));
    assert!(!Footprint::Anywhere.intersects(&Footprint::empty()));
}
