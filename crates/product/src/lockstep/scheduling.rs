//! Tracks the positions of both programs' runs during lockstep execution, and chooses the program
//! that runs next.

use super::join_points::JoinPointId;
use super::order::Order;
use slowpath_exec::SymbolicState;
use slowpath_ir::{BlockId, Destination};
use slowpath_smt::TermId;

/// Position in a program at which its runs wait for the next step of the lockstep execution.
#[derive(Clone, Copy, Debug)]
pub(super) enum Position {
    /// The runs execute this block next.
    Block(BlockId),
    /// The runs have executed a block that ends with a branch, but have not taken the branch.
    /// `terms` contains the condition of the branch twice: as computed, and simplified for the runs
    /// that arrive.
    Branch { block: BlockId, terms: [TermId; 2], taken: Destination, fallthrough: Destination },
    /// The runs are at the end of the program.
    End,
}

/// Runs of one program that were joined and are executed together.
#[derive(Clone)]
pub(super) struct Cursor {
    pub at: Position,
    pub state: SymbolicState,
    /// Counters of the unknown values that the runs have received from outside so far, such as the
    /// time; `DrawSource` keeps them.
    pub counts: Vec<u32>,
    /// Number of back edges that the runs have taken.
    pub iterations: u32,
    /// Greatest number of instructions that any of the runs has executed.
    pub instructions: u64,
    /// True if the runs have executed a block since they were joined.
    pub moved: bool,
}

/// A pair of runs: runs of both programs on the same packets, which are executed together.
#[derive(Clone)]
pub(super) struct Pair {
    pub sides: [Cursor; 2],
    /// The join point that the pair passed last.
    pub from: JoinPointId,
    pub conditions: Vec<TermId>,
    /// Greatest number of instructions that the second program has executed in addition to those of
    /// the first. Negative if the first program always executes more.
    pub max_extra_instructions: i64,
}

/// The next step in the execution of a pair of runs.
pub(super) enum NextStep {
    /// Execute the next block of the program with this index.
    Run(usize),
    /// Wait for other pairs of runs that may reach the same blocks.
    Wait,
    /// Take the branches of the programs with these indices. The program that is less far in the
    /// shared order of blocks comes first.
    Branch(Vec<usize>),
}

/// Position in both programs at which a pair of runs waits for other pairs. Positions are sorted by
/// the block order that both programs share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairPosition {
    /// For each program, the position of its block in the shared order.
    order: [u32; 2],
    /// Index of the block in each program; `None` at the end of the program.
    blocks: [Option<u32>; 2],
}

impl PairPosition {
    /// Returns true if both programs have ended.
    pub fn is_end(&self) -> bool {
        self.blocks == [None; 2]
    }
}

impl Cursor {
    /// Returns the progress of the runs for comparisons: the number of loop iterations, and the
    /// position of the current block in the shared order.
    fn progress(&self, order: &Order) -> (u32, u32) {
        match self.at {
            Position::Block(block) | Position::Branch { block, .. } => {
                (self.iterations, order.place(block))
            }
            Position::End => (u32::MAX, u32::MAX),
        }
    }

    /// Sets the position of the runs to the target `to` of an edge: a block or the end of the
    /// program. Returns false if no run takes the edge.
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
    /// Returns the position at which the pair waits for other pairs.
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

    /// Chooses the next step in the execution of the pair.
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
