//! Positions of pairs of runs, and the choice of the program that runs next.

use super::meetings::MeetingId;
use super::order::Order;
use slowpath_exec::SymbolicState;
use slowpath_ir::{BlockId, Destination};
use slowpath_smt::TermId;

/// Position of a run in its program.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// Before a block.
    Block(BlockId),
    /// After a block that ends in a branch. `terms` holds the condition twice: as computed, and
    /// resolved for the runs that arrive.
    Branch { block: BlockId, terms: [TermId; 2], taken: Destination, fallthrough: Destination },
    /// At the end of the program.
    End,
}

/// Joined runs of one program.
#[derive(Clone)]
pub(super) struct Runner {
    pub at: At,
    pub state: SymbolicState,
    /// Counters of `Drawing` so far.
    pub counts: Vec<u32>,
    /// Number of back edges taken.
    pub rounds: u32,
    /// Greatest number of instructions of any run.
    pub instructions: u64,
    /// True if the runs have moved since they were joined.
    pub moved: bool,
}

/// Joined runs of both programs on the same packets.
#[derive(Clone)]
pub(super) struct Pair {
    pub sides: [Runner; 2],
    /// Last join point.
    pub from: MeetingId,
    pub conditions: Vec<TermId>,
    /// Greatest difference in instructions of any run, second program minus first.
    pub slower: i64,
}

/// Next step of a pair.
pub(super) enum Turn {
    /// Execute the next block of this program.
    Run(usize),
    /// Wait for other pairs that may reach the same blocks.
    Wait,
    /// Take the branches of these programs; the program that is behind comes first.
    Branch(Vec<usize>),
}

/// Position at which pairs wait; places that are further behind sort first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Position of each program in the common order.
    order: [u32; 2],
    /// Block number in each program; `None` at the end.
    blocks: [Option<u32>; 2],
}

impl Place {
    /// Returns true if both programs are at the end.
    pub fn is_end(&self) -> bool {
        self.blocks == [None; 2]
    }
}

impl Runner {
    /// Returns the progress: number of loop iterations, then position in the common order.
    fn progress(&self, order: &Order) -> (u32, u32) {
        match self.at {
            At::Block(block) | At::Branch { block, .. } => (self.rounds, order.place(block)),
            At::End => (u32::MAX, u32::MAX),
        }
    }

    /// Moves the runs along an edge; returns whether any run gets there.
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
    /// Returns the place at which the pair waits.
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

    /// Chooses the next step.
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
        // The program that is behind runs first.
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
