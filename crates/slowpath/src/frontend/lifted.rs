//! What all front ends deliver: a program, and where its instructions come from.

use slowpath_bpf::LineInfo;
use slowpath_bpf::lift::{Interference, Layout};
use slowpath_estimate::Code;
use slowpath_ir::Program;

/// Where instructions come from, by their numbers.
pub(super) enum Origins {
    /// Lines of the listing.
    Listing(Vec<u32>),
    /// Source lines, as far as known.
    Source(Vec<Option<LineInfo>>),
}

/// The scope of the verifier's limit on instructions, for programs that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verified {
    /// Nothing: the program is none of the kernel's, or its loops may be around iterators.
    Nothing,
    /// Each loop without callbacks and budgets of the kernel, each time that it is entered.
    Loops,
    /// All that a run executes: there are no tail calls, functions verified on their own, callbacks
    /// or budgets.
    Run,
}

/// A program and where its instructions come from.
pub(crate) struct Lifted {
    pub program: Program,
    /// What memory means in terms of maps.
    pub layout: Option<Layout>,
    /// The instructions as a core sees them, where a CPU executes them as they are.
    pub code: Option<Code>,
    /// The scope of the limit of the kernel's verifier.
    pub verified: Verified,
    /// What is worth knowing about it and no condition of a guarantee, one sentence each.
    pub notes: Vec<String>,
    /// Why no path is known to be one that a packet takes, where the program does not tell: the
    /// guarantee holds, and may be better than it says.
    pub loose: Option<String>,
    /// Maps that other CPUs can change between two accesses of a run.
    pub interference: Interference,
    pub(super) origins: Origins,
    pub(super) functions: Functions,
    /// Which members of a chain instructions are part of; nothing where it is a single program.
    pub(super) members: Members,
}

/// Instructions of a member of a chain: those of the program that it is, or of one that a tail call of
/// it leads to.
pub(super) struct Member {
    /// The number of the first of them.
    pub first: u32,
    /// What the member is called.
    pub name: String,
    /// Whether packets arrive at the first one.
    pub start: bool,
}

/// In the order of their instructions.
pub(super) type Members = Vec<Member>;

/// The functions of a program: the number of the first instruction of each, in order, and its name.
/// What follows the last one whose name is known has none.
pub(super) type Functions = Vec<(u32, Option<String>)>;

impl Lifted {
    /// `line N: ` or `FILE:LINE: ` of an instruction, for messages; empty when it is not known.
    pub fn place(&self, insn: u32) -> String {
        match &self.origins {
            Origins::Listing(lines) => {
                let line = lines.get(insn as usize);
                line.map_or_else(String::new, |line| format!("line {line}: "))
            }
            Origins::Source(_) => {
                self.line(insn).map_or_else(String::new, |l| format!("{}:{}: ", l.file, l.line))
            }
        }
    }

    /// The source line of an instruction.
    pub fn line(&self, insn: u32) -> Option<&LineInfo> {
        match &self.origins {
            Origins::Listing(_) => None,
            Origins::Source(lines) => lines.get(insn as usize)?.as_ref(),
        }
    }

    /// The name of the function that an instruction is part of, where programs have functions.
    pub fn function(&self, insn: u32) -> Option<&str> {
        let behind = self.functions.partition_point(|(first, _)| *first <= insn);
        self.functions.get(behind.checked_sub(1)?)?.1.as_deref()
    }

    /// The name of the member of a chain that an instruction is part of.
    pub fn member(&self, insn: u32) -> Option<&str> {
        let behind = self.members.partition_point(|member| member.first <= insn);
        Some(&self.members.get(behind.checked_sub(1)?)?.name)
    }

    /// The programs of a chain that can run: the first instruction of each, and its name.
    pub fn starts(&self) -> impl Iterator<Item = (u32, &str)> {
        let starts = self.members.iter().filter(|member| member.start);
        starts.map(|member| (member.first, member.name.as_str()))
    }

    /// The first instruction that does work of a class.
    pub fn first_of_class(&self, class: &str) -> Option<u32> {
        let classes = &self.program.cost_classes;
        let class = classes.iter().position(|name| name == class)?;
        let blocks = self.program.blocks.iter();
        let events = blocks.flat_map(|block| {
            block.costs.iter().chain(block.terminator.edges().flat_map(|edge| &edge.costs))
        });
        events.filter(|event| event.class.index() == class).map(|event| event.insn.0).min()
    }
}
