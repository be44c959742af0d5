//! Positions of pairs of runs, and the choice of the program that runs next.

use super::join_points::JoinPointId;
use super::order::Order;
use slowpath_exec::SymbolicState;
use slowpath_ir::{BlockId, Destination};
use slowpath_smt::TermId;

/// Position of a run in its program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Position {
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
pub(super) struct Cursor {
    pub at: Position,
    pub state: SymbolicState,
    /// Counters of `DrawSource`: the draws on the way to this position.
    pub counts: Vec<u32>,
    /// Number of back edges taken.
    pub iterations: u32,
    /// Greatest number of instructions of any run.
    pub instructions: u64,
    /// True if the runs have moved since they were joined.
    pub moved: bool,
}

/// Joined runs of both programs on the same packets.
#[derive(Clone)]
pub(super) struct Pair {
    pub sides: [Cursor; 2],
    /// Last join point.
    pub from: JoinPointId,
    pub conditions: Vec<TermId>,
    /// Greatest difference in instructions between the runs: second program minus first.
    pub max_extra_instructions: i64,
}

/// Next step of a pair.
pub(super) enum NextStep {
    /// Execute the next block of this program.
    Run(usize),
    /// Wait for other pairs that may reach the same blocks.
    Wait,
    /// Take the branches of these programs; the program that is behind comes first.
    Branch(Vec<usize>),
}

/// Position at which a pair waits. Earlier positions in the common order sort first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairPosition {
    /// Position of each program in the common order.
    order: [u32; 2],
    /// Number of the block in each program; `None` at the end.
    blocks: [Option<u32>; 2],
}

impl PairPosition {
    /// Returns true if both programs are at the end.
    pub fn is_end(&self) -> bool {
        self.blocks == [None; 2]
    }
}

impl Cursor {
    /// Returns the progress: number of loop iterations, then position in the common order.
    fn progress(&self, order: &Order) -> (u32, u32) {
        match self.at {
            Position::Block(block) | Position::Branch { block, .. } => {
                (self.iterations, order.place(block))
            }
            Position::End => (u32::MAX, u32::MAX),
        }
    }

    /// Moves the runs along an edge; returns false if no run takes the edge.
    pub fn go(&mut self, to: Destination, order: &Order) -> bool {
        let (Position::Block(from) | Position::Branch { block: from, .. }) = self.at else {
            return false;
        };
        self.at = match to {
            Destination::Block(next) => {
                self.iterations += u32::from(order.leads_back(from, next));
                Position::Block(next)
            }
            Destination::Exit(_) => Position::End,
            Destination::Never => return false,
        };
        true
    }
}

impl Pair {
    /// Returns the position at which the pair waits.
    pub fn place(&self, orders: &[Order; 2]) -> PairPosition {
        let mut place = PairPosition { order: [u32::MAX; 2], blocks: [None; 2] };
        for (which, cursor) in self.sides.iter().enumerate() {
            if let Position::Block(block) = cursor.at {
                place.order[which] = orders[which].place(block);
                place.blocks[which] = Some(block.0);
            }
        }
        place
    }

    /// Chooses the next step.
    pub fn next_step(&self, orders: &[Order; 2]) -> NextStep {
        let mut far = [(0, 0); 2];
        for (which, cursor) in self.sides.iter().enumerate() {
            if let Position::Block(block) = cursor.at
                && !(cursor.moved && orders[which].joins(block))
            {
                return NextStep::Run(which);
            }
            far[which] = cursor.progress(&orders[which]);
        }
        // The program that is behind runs first.
        let behind = usize::from(far[1] < far[0]);
        match [self.sides[behind].at, self.sides[1 - behind].at] {
            [Position::Block(_), Position::Block(_)] | [Position::End, Position::End]
                if far[0] == far[1] =>
            {
                NextStep::Wait
            }
            [Position::Block(_), _] => NextStep::Run(behind),
            [Position::Branch { .. }, Position::Branch { .. }] => {
                NextStep::Branch(vec![behind, 1 - behind])
            }
            [Position::Branch { .. }, _] => NextStep::Branch(vec![behind]),
            [Position::End, Position::Block(_)] => NextStep::Run(1 - behind),
            [Position::End, Position::Branch { .. }] => NextStep::Branch(vec![1 - behind]),
            [Position::End, Position::End] => NextStep::Wait,
        }
    }
}
