//! The result of all front ends: a lifted program, and where its instructions come from.

use slowpath_bpf::LineInfo;
use slowpath_bpf::lift::{Interference, Layout};
use slowpath_estimate::Code;
use slowpath_ir::Program;

/// Origin of each instruction of a program, by instruction number.
pub(super) enum Origins {
    /// For a listing, the number of each instruction's line.
    Listing(Vec<u32>),
    /// For a BPF program, the source line of each instruction, if it is known.
    Source(Vec<Option<LineInfo>>),
}

/// The part of a run to which the verifier's limit on instructions applies, for programs that the
/// verifier accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerifierLimitScope {
    /// No part: the kernel does not verify the program, or its loops may contain iterators.
    Nothing,
    /// Each time a loop runs, from its entry to its exit. The loops use neither callbacks nor the
    /// kernel's loop budgets.
    Loops,
    /// The whole run. The program has no tail calls, separately verified functions, callbacks or
    /// loop budgets.
    Run,
}

/// A lifted program, and where its instructions come from.
pub(crate) struct Lifted {
    pub program: Program,
    /// Relation between the program's memory and its maps.
    pub layout: Option<Layout>,
    /// The instructions that a CPU executes, for targets that run BPF instructions directly.
    pub code: Option<Code>,
    /// The part of a run to which the limit of the kernel's verifier applies.
    pub verifier_limit_scope: VerifierLimitScope,
    /// Remarks for the user, one sentence each. They do not restrict the guarantee.
    pub notes: Vec<String>,
    /// Reason why it is uncertain that some packet takes a given path. The reason lies outside the
    /// program. The guarantee still holds, but the slowest packet may be faster than it.
    pub inexact_reason: Option<String>,
    /// Maps that other CPUs may change between two accesses of a run.
    pub interference: Interference,
    pub(super) origins: Origins,
    pub(super) functions: Functions,
    /// The programs of a chain, and their instructions. Empty for a single program.
    pub(super) members: Members,
}

/// Consecutive instructions that belong to one program of a chain. They are those of the program
/// itself, or of a program that its tail calls reach.
pub(super) struct Member {
    /// Number of the first instruction.
    pub first: u32,
    /// Name of the member.
    pub name: String,
    /// True if packets arrive at the first of these instructions.
    pub start: bool,
}

/// The programs of a chain, in the order of their instructions.
pub(super) type Members = Vec<Member>;

/// The functions of a program, in order. Each has the number of its first instruction and its name.
/// An entry without a name only ends the function before it.
pub(super) type Functions = Vec<(u32, Option<String>)>;

impl Lifted {
    /// Returns the place of an instruction for messages: `line N: ` or `FILE:LINE: `. Returns an
    /// empty text if it is not known.
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

    /// Returns the source line of an instruction.
    pub fn line(&self, insn: u32) -> Option<&LineInfo> {
        match &self.origins {
            Origins::Listing(_) => None,
            Origins::Source(lines) => lines.get(insn as usize)?.as_ref(),
        }
    }

    /// Returns the name of the function that contains an instruction; `None` if the program has no
    /// named functions.
    pub fn function(&self, insn: u32) -> Option<&str> {
        let after = self.functions.partition_point(|(first, _)| *first <= insn);
        self.functions.get(after.checked_sub(1)?)?.1.as_deref()
    }

    /// Returns the name of the chain's program that contains an instruction.
    pub fn member(&self, insn: u32) -> Option<&str> {
        let after = self.members.partition_point(|member| member.first <= insn);
        Some(&self.members.get(after.checked_sub(1)?)?.name)
    }

    /// Lists the programs of a chain that can run. Each has the number of its first instruction and
    /// its name.
    pub fn starts(&self) -> impl Iterator<Item = (u32, &str)> {
        let starts = self.members.iter().filter(|member| member.start);
        starts.map(|member| (member.first, member.name.as_str()))
    }

    /// Returns the first instruction that has a cost in this cost class.
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
