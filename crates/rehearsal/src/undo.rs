//! Finds ways to restore a packet after each run, so that repeated runs start from the same packet.

use slowpath_kernel::TestRun;
use slowpath_kernel::timing::Undo;

use crate::program_harness::Arrival;

/// Returns possible ways to undo a program's changes to its packet. The caller must try them,
/// because a test run shows only by how much the packet grew, not at which end. If the packet keeps
/// its length, the first way undoes nothing: with the changed packet, the program may take the same
/// path again.
pub fn candidates(before: &Arrival, after: &TestRun) -> Vec<Undo> {
    let common = Undo {
        metadata_after: u32::try_from(after.metadata.len()).unwrap_or(u32::MAX),
        metadata: before.metadata.clone(),
        ..Undo::default()
    };
    let length = |packet: &[u8]| i32::try_from(packet.len()).unwrap_or(i32::MAX);
    let growth = length(&after.packet).saturating_sub(length(&before.packet));
    if growth == 0 {
        let bytes = Undo { packet: changed(&before.packet, &after.packet), ..common };
        return if bytes.is_empty() { vec![bytes] } else { vec![Undo::default(), bytes] };
    }
    let common = Undo { packet: vec![(0, before.packet.clone())], ..common };
    vec![Undo { head: -growth, ..common.clone() }, Undo { tail: growth, ..common }]
}

/// Returns restoring steps for an empty program, so that their cost can be timed. They take as much
/// work as `undo`, but do not change a packet that the program left as it was.
pub fn for_unchanged_packet(undo: &Undo) -> Undo {
    let metadata_after = u32::try_from(undo.metadata.len()).unwrap_or(u32::MAX);
    Undo { head: 0, tail: 0, metadata_after, ..undo.clone() }
}

/// Returns the byte ranges in which two packets differ. Each pair contains the offset of a range
/// and its bytes in `before`.
fn changed(before: &[u8], after: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut ranges: Vec<(u32, Vec<u8>)> = Vec::new();
    for (at, (&old, &new)) in (0..).zip(before.iter().zip(after)) {
        if old == new {
            continue;
        }
        match ranges.last_mut() {
            Some((start, bytes)) if *start as usize + bytes.len() == at as usize => bytes.push(old),
            _ => ranges.push((at, vec![old])),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn run(packet: &[u8]) -> TestRun {
        TestRun {
            return_value: 2,
            packet: packet.to_vec(),
            fields: Default::default(),
            metadata: Vec::new(),
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn changed_bytes_are_put_back() {
        let before = Arrival::bare(vec![1, 2, 3, 4, 5]);
        let undo = candidates(&before, &run(&[1, 9, 9, 4, 9]));
        assert_eq!(undo.len(), 2);
        assert!(undo[0].is_empty(), "which may be enough");
        assert_eq!(undo[1].packet, [(1, vec![2, 3]), (4, vec![5])]);
        assert_eq!(candidates(&before, &run(&before.packet)), [Undo::default()]);
    }

    #[test]
    fn a_packet_may_have_grown_at_either_end() {
        let before = Arrival::bare(vec![1, 2]);
        let ends: Vec<_> = candidates(&before, &run(&[0, 0, 1, 2]))
            .into_iter()
            .map(|undo| (undo.head, undo.tail))
            .collect();
        assert_eq!(ends, [(-2, 0), (0, 2)]);
    }
}
