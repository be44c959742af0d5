//! Finds out how a program changes its packets, and which steps undo the changes before the next
//! run.

use slowpath_kernel::timing::{Attachments, Feed, Flows, TimingError, Undo};
use slowpath_kernel::{Kernel, LoadedProgram};

use crate::error::IngressError;

/// Number of packets that are run to find out how the program changes its packets.
const PACKETS: usize = 64;

/// Returns possible ways to undo a run's changes to the packet. A packet can grow or shrink at its
/// start or at its end, and the kernel does not report at which. Therefore there can be two ways,
/// one for each end, and the caller has to try them.
///
/// # Errors
/// If packets grow by different lengths, or the kernel does not run them.
pub fn candidates(
    kernel: &Kernel,
    attachments: &Attachments,
    program: &LoadedProgram,
    packet: &[u8],
    flows: &Flows,
) -> Result<Vec<Undo>, IngressError> {
    let feed = Feed::new(kernel, program.fragments(), packet, &Undo::default(), flows)?;
    let _attached = feed.attach(attachments)?;
    feed.select(program)?;
    let mut changes: Option<[Change; 2]> = None;
    for _ in 0..PACKETS {
        let after = feed.run(1)?;
        let growth = after.packet.len() as i64 - packet.len() as i64;
        let metadata = u32::try_from(after.metadata.len()).unwrap_or(u32::MAX);
        let ends = changes.get_or_insert_with(|| {
            [true, false].map(|at_start| Change::new(packet.len(), growth, metadata, at_start))
        });
        if ends[0].growth != growth {
            return Err(IngressError::Growth { one: ends[0].growth, other: growth });
        }
        for end in ends {
            end.add(packet, &after.packet);
        }
    }
    let ends = changes.into_iter().flatten();
    let mut found: Vec<Undo> = ends.map(|end| end.undo(packet, flows)).collect();
    found.dedup();
    Ok(found)
}

/// Returns true if the last of many runs in one call leaves the same packet as a single run. This
/// shows that the packet is restored between runs.
///
/// # Errors
/// If the kernel does not run the packets.
pub fn is_restored(feed: &Feed) -> Result<bool, TimingError> {
    // After 1024 runs, a packet that is not restored has moved farther than its buffer allows.
    for runs in [2, 17, 1024] {
        let start = feed.generator()?;
        feed.run(runs - 1)?;
        let alone = feed.run(1)?;
        feed.seek(start)?;
        let last = match feed.run(runs) {
            Err(TimingError::NotRestored { .. }) => return Ok(false),
            run => run?,
        };
        if (last.return_value, last.packet) != (alone.return_value, alone.packet) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Changes that runs make to their packets, assuming that packets grow or shrink only at one end.
struct Change {
    /// True if packets grow or shrink at their start; false if they do at their end.
    at_start: bool,
    growth: i64,
    metadata: u32,
    /// For each byte of the original packet, true if a run changed or removed it.
    changed: Vec<bool>,
}

impl Change {
    fn new(len: usize, growth: i64, metadata: u32, at_start: bool) -> Change {
        Change { at_start, growth, metadata, changed: vec![false; len] }
    }

    /// Adds the changes of another run. `before` and `after` are the packet before and after this
    /// run.
    fn add(&mut self, before: &[u8], after: &[u8]) {
        let moved = if self.at_start { self.growth } else { 0 };
        for (at, (old, changed)) in before.iter().zip(&mut self.changed).enumerate() {
            let now = usize::try_from(at as i64 + moved).ok().and_then(|at| after.get(at));
            *changed |= now != Some(old);
        }
    }

    fn undo(&self, packet: &[u8], flows: &Flows) -> Undo {
        let growth = i32::try_from(self.growth).unwrap_or(i32::MAX);
        let (head, tail) = if self.at_start { (-growth, 0) } else { (0, growth) };
        let mut ranges: Vec<(u32, Vec<u8>)> = Vec::new();
        for (at, (&byte, &changed)) in packet.iter().zip(&self.changed).enumerate() {
            // The feed overwrites the bytes of the flow before each run.
            if !changed || flows.writes(at) {
                continue;
            }
            match ranges.last_mut() {
                Some((start, bytes)) if *start as usize + bytes.len() == at => bytes.push(byte),
                _ => ranges.push((at as u32, vec![byte])),
            }
        }
        Undo { head, tail, metadata_after: self.metadata, packet: ranges, ..Undo::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOWS: Flows = Flows { count: 1, seed: 0, destinations: true, destination_ports: true };

    fn undo(before: &[u8], after: &[u8], at_start: bool) -> Undo {
        let growth = after.len() as i64 - before.len() as i64;
        let mut change = Change::new(before.len(), growth, 0, at_start);
        change.add(before, after);
        change.undo(before, &FLOWS)
    }

    #[test]
    fn changed_bytes_are_put_back() {
        let found = undo(&[1, 2, 3, 4, 5], &[1, 9, 9, 4, 9], true);
        assert_eq!(found.packet, [(1, vec![2, 3]), (4, vec![5])]);
        assert_eq!((found.head, found.tail), (0, 0));
        assert!(undo(&[1, 2], &[1, 2], false).is_empty());
    }

    #[test]
    fn either_end_may_have_moved() {
        let header = undo(&[1, 2, 3], &[7, 7, 1, 9, 3], true);
        assert_eq!((header.head, header.tail, header.packet), (-2, 0, vec![(1, vec![2])]));
        let trailer = undo(&[1, 2, 3], &[1, 2, 3, 0], false);
        assert_eq!((trailer.head, trailer.tail, trailer.packet), (0, 1, vec![]));
        let taken = undo(&[1, 2, 3], &[2, 3], true);
        assert_eq!((taken.head, taken.packet), (1, vec![(0, vec![1])]));
        let cut = undo(&[1, 2, 3], &[1, 2], false);
        assert_eq!((cut.tail, cut.packet), (-1, vec![(2, vec![3])]));
    }

    #[test]
    fn bytes_of_the_flow_are_not_put_back() {
        let found = undo(&[0; 64], &[1; 64], true);
        let ranges: Vec<_> = found.packet.iter().map(|(at, bytes)| (*at, bytes.len())).collect();
        assert_eq!(ranges, [(0, 24), (38, 26)]);
    }
}
