//! Where pairs of runs are, and which program goes on next.

use super::meetings::MeetingId;
use super::order::Order;
use slowpath_exec::SymbolicState;
use slowpath_ir::{BlockId, Destination};
use slowpath_smt::TermId;

/// Where a run of one program is.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// In front of a block.
    Block(BlockId),
    /// Behind this block, whose branch a term decides: as it was computed, and without what the way
    /// decides.
    Branch { block: BlockId, terms: [TermId; 2], taken: Destination, fallthrough: Destination },
    /// At the end.
    End,
}

/// Runs of one program.
#[derive(Clone)]
pub(super) struct Runner {
    pub at: At,
    pub state: SymbolicState,
    /// What `Drawing` has counted on the way.
    pub counts: Vec<u32>,
    /// How many steps led back.
    pub rounds: u32,
    /// The most instructions of any of them.
    pub instructions: u64,
    /// Whether they have gone on since they were joined.
    pub moved: bool,
}

/// Pairs of runs on the same packets.
#[derive(Clone)]
pub(super) struct Pair {
    pub sides: [Runner; 2],
    /// Where they met last, and what holds since.
    pub from: MeetingId,
    pub conditions: Vec<TermId>,
    /// By how many instructions the second is longer, at most.
    pub slower: i64,
}

/// What is next for a pair.
pub(super) enum Turn {
    /// This program goes on.
    Run(usize),
    /// Others may come to the same places.
    Wait,
    /// Branches are due; these programs are at one, the one that is behind first.
    Branch(Vec<usize>),
}

/// Where pairs wait; those that are behind come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// By program, the place in the common order.
    order: [u32; 2],
    /// And the number of the block; none at the end.
    blocks: [Option<u32>; 2],
}

impl Place {
    /// Whether both programs are at the end.
    pub fn is_end(&self) -> bool {
        self.blocks == [None; 2]
    }
}

impl Runner {
    /// How far it is.
    fn progress(&self, order: &Order) -> (u32, u32) {
        match self.at {
            At::Block(block) | At::Branch { block, .. } => (self.rounds, order.place(block)),
            At::End => (u32::MAX, u32::MAX),
        }
    }

    /// Takes it on to somewhere; returns whether any run gets there.
    pub fn go(&mut self, to: Destination, order: &Order) -> bool {
        let (At::Block(from) | At::Branch { block: from, .. }) = self.at else { return false };
        self.at = match to {
            Destination::Block(next) => {
                self.rounds += u32::from(order.leads_back(from, next));
                At::Block(next)
            }
            Destination::Exit(_) => At::End,
            Destination::Never => return false,
        };
        true
    }
}

impl Pair {
    /// Where it waits.
    pub fn place(&self, orders: &[Order; 2]) -> Place {
        let mut place = Place { order: [u32::MAX; 2], blocks: [None; 2] };
        for (which, runner) in self.sides.iter().enumerate() {
            if let At::Block(block) = runner.at {
                place.order[which] = orders[which].place(block);
                place.blocks[which] = Some(block.0);
            }
        }
        place
    }

    /// What is next.
    pub fn turn(&self, orders: &[Order; 2]) -> Turn {
        let mut far = [(0, 0); 2];
        for (which, runner) in self.sides.iter().enumerate() {
            if let At::Block(block) = runner.at
                && !(runner.moved && orders[which].joins(block))
            {
                return Turn::Run(which);
            }
            far[which] = runner.progress(&orders[which]);
        }
        // Who is behind comes first.
        let behind = usize::from(far[1] < far[0]);
        match [self.sides[behind].at, self.sides[1 - behind].at] {
            [At::Block(_), At::Block(_)] | [At::End, At::End] if far[0] == far[1] => Turn::Wait,
            [At::Block(_), _] => Turn::Run(behind),
            [At::Branch { .. }, At::Branch { .. }] => Turn::Branch(vec![behind, 1 - behind]),
            [At::Branch { .. }, _] => Turn::Branch(vec![behind]),
            [At::End, At::Block(_)] => Turn::Run(1 - behind),
            [At::End, At::Branch { .. }] => Turn::Branch(vec![1 - behind]),
            [At::End, At::End] => Turn::Wait,
        }
    }
}
