//! Output of all front ends: a program and the origins of its instructions.

use slowpath_bpf::LineInfo;
use slowpath_bpf::lift::{Interference, Layout};
use slowpath_estimate::Code;
use slowpath_ir::Program;

/// Origins of instructions, by instruction number.
pub(super) enum Origins {
    /// Line numbers of the listing.
    Listing(Vec<u32>),
    /// Source lines, if known.
    Source(Vec<Option<LineInfo>>),
}

/// Scope of the verifier's limit on instructions, for programs that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerifierLimitScope {
    /// No scope: the kernel does not verify the program, or its loops may contain iterators.
    Nothing,
    /// Each execution of a loop from entry to exit, for loops without callbacks and budgets of the
    /// kernel.
    Loops,
    /// The whole run: the program has no tail calls, separately verified functions, callbacks or
    /// budgets.
    Run,
}

/// A lifted program and the origins of its instructions.
pub(crate) struct Lifted {
    pub program: Program,
    /// Correspondence between memory and maps.
    pub layout: Option<Layout>,
    /// The instructions as executed by a CPU, for targets that execute BPF instructions directly.
    pub code: Option<Code>,
    /// The scope of the limit of the kernel's verifier.
    pub verifier_limit_scope: VerifierLimitScope,
    /// Remarks that are not conditions of a guarantee, one sentence each.
    pub notes: Vec<String>,
    /// Reason outside of the program why it is uncertain that any packet takes a given path. The
    /// guarantee still holds, but the true worst case may be better.
    pub inexact_reason: Option<String>,
    /// Maps that other CPUs can change between two accesses of a run.
    pub interference: Interference,
    pub(super) origins: Origins,
    pub(super) functions: Functions,
    /// The chain members that instructions belong to; empty for a single program.
    pub(super) members: Members,
}

/// Consecutive instructions of a chain member: the instructions of the member's own program, or of
/// a program that its tail calls reach.
pub(super) struct Member {
    /// Number of the first instruction.
    pub first: u32,
    /// Name of the member.
    pub name: String,
    /// True if packets arrive at the first instruction.
    pub start: bool,
}

/// Members in the order of their instructions.
pub(super) type Members = Vec<Member>;

/// Functions of a program in order: the number of the first instruction of each, and its name. An
/// entry without a name ends the function before it.
pub(super) type Functions = Vec<(u32, Option<String>)>;

impl Lifted {
    /// Returns the location of an instruction for messages, `line N: ` or `FILE:LINE: `; empty if
    /// not known.
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

    /// Returns the name of the chain member that contains an instruction.
    pub fn member(&self, insn: u32) -> Option<&str> {
        let after = self.members.partition_point(|member| member.first <= insn);
        Some(&self.members.get(after.checked_sub(1)?)?.name)
    }

    /// Returns the first instruction and the name of each chain member that can run.
    pub fn starts(&self) -> impl Iterator<Item = (u32, &str)> {
        let starts = self.members.iter().filter(|member| member.start);
        starts.map(|member| (member.first, member.name.as_str()))
    }

    /// Returns the first instruction with work of a cost class.
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
