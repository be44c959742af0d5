//! The result of all front ends: a program in the intermediate representation (a lifted program),
//! and where its instructions come from.

use slowpath_bpf::LineInfo;
use slowpath_bpf::lift::{Interference, Layout};
use slowpath_estimate::Code;
use slowpath_ir::Program;

/// Source line or listing line of each instruction of a lifted program, by instruction number.
pub(super) enum Origins {
    /// Line number of each instruction in an NFP listing.
    Listing(Vec<u32>),
    /// Source line of each instruction of a BPF program; `None` if it is not known.
    Source(Vec<Option<LineInfo>>),
}

/// Part of a run that the kernel verifier's limit on instructions bounds. The limit applies to
/// programs that the verifier accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerifierLimitScope {
    /// Nothing: the kernel does not verify the program, or its loops may use iterators, whose
    /// iterations the limit does not bound.
    Nothing,
    /// Each execution of a loop, from its entry to its exit. The loops use neither callbacks nor
    /// the kernel's own limits on iterations (`may_goto`).
    Loops,
    /// The whole run. The program has no tail calls, separately verified functions, callbacks or
    /// kernel limits on loop iterations (`may_goto`).
    Run,
}

/// A pipeline of DPDK's software switch, and the layout of its translation, which says what memory
/// regions, inputs and instructions stand for in the pipeline.
pub(crate) struct Pipeline {
    pub spec: slowpath_swx::spec::Spec,
    pub layout: slowpath_swx::Layout,
}

/// A lifted program (in the intermediate representation), and where its instructions come from.
pub(crate) struct Lifted {
    pub program: Program,
    /// Relation between the program's memory and its maps; `None` if it is not known.
    pub layout: Option<Layout>,
    /// The pipeline of which the program is a translation; `None` for other programs.
    pub pipeline: Option<Pipeline>,
    /// The instructions that a CPU executes, for targets that run BPF instructions directly.
    pub code: Option<Code>,
    /// Part of a run that the kernel verifier's limit on instructions bounds.
    pub verifier_limit_scope: VerifierLimitScope,
    /// Remarks for the user, one sentence each. They do not restrict the guarantee.
    pub notes: Vec<String>,
    /// Reason outside the program why it is uncertain that some packet takes a given path; `None`
    /// if it is certain. The guarantee still holds, but possibly every packet is faster.
    pub inexact_reason: Option<String>,
    /// Maps that other CPUs may change between two accesses of a run.
    pub interference: Interference,
    pub(super) origins: Origins,
    pub(super) functions: Functions,
    /// The programs of a chain, and their instructions; empty for a single program.
    pub(super) members: Members,
}

/// A range of instructions that belongs to one program of a chain: the instructions of this program
/// itself, or of a program that it reaches by tail calls.
pub(super) struct Member {
    /// Number of the first instruction.
    pub first: u32,
    /// Name of the program in the chain.
    pub name: String,
    /// True if these instructions are the chain's program itself; false if they are a program that
    /// its tail calls reach.
    pub start: bool,
}

/// The instruction ranges of a chain's programs, in the order of their instructions.
pub(super) type Members = Vec<Member>;

/// The functions of a program, ordered by first instruction. Each has the number of its first
/// instruction and its name. An entry without a name marks instructions that belong to no function.
pub(super) type Functions = Vec<(u32, Option<String>)>;

impl Lifted {
    /// Returns the source location of an instruction as a prefix for messages: `line N: ` or
    /// `FILE:LINE: `. The text is empty if the location is not known.
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

    /// Returns the source line of an instruction; `None` if it is not known.
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

    /// Returns the name of the chain's program that contains an instruction; `None` if the program
    /// is not a chain.
    pub fn member(&self, insn: u32) -> Option<&str> {
        let after = self.members.partition_point(|member| member.first <= insn);
        Some(&self.members.get(after.checked_sub(1)?)?.name)
    }

    /// Returns the programs of a chain, each with the number of its first instruction and its name.
    /// Programs whose instructions are not part of the lifted program are left out.
    pub fn starts(&self) -> impl Iterator<Item = (u32, &str)> {
        let starts = self.members.iter().filter(|member| member.start);
        starts.map(|member| (member.first, member.name.as_str()))
    }

    /// Returns the instruction with the lowest number that causes a cost event of the cost class
    /// `class`; `None` if there is none.
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
