//! Reads files with programs. Each file is read once and used for any number of analyses.

use crate::{ArrivingProgram, Error};
use slowpath_bpf::lift::{Handover, MapContent};
use slowpath_bpf::{Object, ObjectError, ProgramEntry};
use slowpath_ir::PacketFacts;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The content of a file: a BPF object with its programs, or an NFP listing, which is one program.
/// Clones share the content.
#[derive(Clone, Debug)]
pub struct ProgramFile(pub(crate) Content);

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Bpf(Arc<Object>),
    Chain(Arc<ProgramChain>),
    Arriving(Arc<ArrivingProgram>),
    /// The text of a listing, and the error that occurred when it was parsed as an object.
    Listing(Arc<[u8]>, ObjectError),
}

/// A chain of programs in one object: after one program, another one runs on the same packet.
#[derive(Clone, Debug)]
pub struct ProgramChain {
    /// Name of the chain in results.
    pub name: String,
    /// The object with all programs.
    pub object: Arc<Object>,
    /// The program at which packets arrive, by its number in the object.
    pub entry: usize,
    /// The edges between programs. Each states some results of a program, and the program that runs
    /// after them.
    pub handovers: Vec<Handover>,
    /// The programs of the chain.
    pub members: Vec<ChainMember>,
    /// The programs whose work counts, by their number in the object. For example, these are the
    /// programs on one of several devices. `None` if the work of all programs counts.
    pub counted: Option<BTreeSet<usize>>,
    /// Conditions that results depend on, one sentence each.
    pub assumptions: Vec<String>,
    /// Facts about packets at the first program. Results cover only packets for which they hold.
    /// Without facts, results cover all packets that the device receives.
    pub arriving: Option<PacketFacts>,
    /// Content of maps, by their names in the object. It adds to the content that the options
    /// state.
    pub contents: BTreeMap<String, MapContent>,
}

/// A program of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainMember {
    /// Name of the program in results.
    pub name: String,
    /// Number of the program in the object.
    pub program: usize,
    /// Numbers in the object of all programs that belong to this member: the program itself, and
    /// the programs that its tail calls reach.
    pub programs: Range<usize>,
}

/// Describes a program of an object, so that a user can select it.
#[derive(Clone, Debug)]
pub struct ProgramInfo {
    /// Number of the program in the object.
    pub index: usize,
    /// Section of the entry function.
    pub section: String,
    /// Name of the entry function.
    pub name: String,
    /// Program type: `xdp`, `sched_cls`, ...; `unknown` if the section does not tell.
    pub kind: String,
    /// True if the program depends on the types of the kernel that runs it.
    pub needs_kernel: bool,
}

impl ProgramFile {
    /// Reads the content of a file. Data that is not an ELF file is treated as a listing. Listings
    /// are parsed only when they are lifted.
    ///
    /// # Errors
    /// If the file is a BPF object that cannot be read.
    pub fn read(data: &[u8]) -> Result<ProgramFile, Error> {
        match Object::parse(data) {
            Ok(object) => Ok(ProgramFile(Content::Bpf(Arc::new(object)))),
            Err(error) if data.starts_with(b"\x7fELF") => Err(error.into()),
            Err(error) => Ok(ProgramFile(Content::Listing(data.into(), error))),
        }
    }

    /// Wraps an object that was read before.
    pub fn of(object: Arc<Object>) -> ProgramFile {
        ProgramFile(Content::Bpf(object))
    }

    /// Wraps a chain of programs, which is analysed like a single program.
    pub fn chain(chain: ProgramChain) -> ProgramFile {
        ProgramFile(Content::Chain(Arc::new(chain)))
    }

    /// Wraps a program that is analysed for packets from upstream programs.
    pub fn arriving(program: ArrivingProgram) -> ProgramFile {
        ProgramFile(Content::Arriving(Arc::new(program)))
    }

    /// Describes the programs of a BPF object. A chain counts as one program, which is its first
    /// program under the chain's name. Returns `None` for a listing.
    pub fn programs(&self) -> Option<Vec<ProgramInfo>> {
        let (object, chain) = match &self.0 {
            Content::Bpf(object) => (object, None),
            Content::Chain(chain) => (&chain.object, Some(chain)),
            Content::Arriving(program) => return Some(vec![arriving_info(program)]),
            Content::Listing(..) => return None,
        };
        let info = |(index, entry): (usize, &ProgramEntry)| ProgramInfo {
            index,
            section: entry.section.clone(),
            name: chain.map_or(&entry.name, |chain| &chain.name).clone(),
            kind: entry.kind.to_string(),
            needs_kernel: match chain {
                None => needs_kernel(object, index),
                Some(chain) => chain.members.iter().any(|each| needs_kernel(object, each.program)),
            },
        };
        let listed =
            |(index, _): &(usize, &ProgramEntry)| chain.is_none_or(|chain| chain.entry == *index);
        Some(object.programs.iter().enumerate().filter(listed).map(info).collect())
    }

    /// Returns true for BPF objects and false for listings.
    pub(crate) fn is_bpf(&self) -> bool {
        matches!(self.0, Content::Bpf(_) | Content::Chain(_) | Content::Arriving(_))
    }

    /// Returns the chain of programs; `None` if the content is something else.
    pub(crate) fn as_chain(&self) -> Option<&ProgramChain> {
        match &self.0 {
            Content::Chain(chain) => Some(chain),
            Content::Bpf(_) | Content::Arriving(_) | Content::Listing(..) => None,
        }
    }

    /// Returns the program that receives packets from upstream programs; `None` if the content is
    /// something else.
    pub(crate) fn as_arriving(&self) -> Option<&ArrivingProgram> {
        match &self.0 {
            Content::Arriving(program) => Some(program),
            Content::Bpf(_) | Content::Chain(_) | Content::Listing(..) => None,
        }
    }

    /// Returns a shared reference to the BPF object; `None` for a listing.
    pub fn object(&self) -> Option<Arc<Object>> {
        match &self.0 {
            Content::Bpf(object) => Some(Arc::clone(object)),
            Content::Chain(chain) => Some(Arc::clone(&chain.object)),
            Content::Arriving(program) => Some(Arc::clone(&program.object)),
            Content::Listing(..) => None,
        }
    }

    /// Returns the BPF object.
    ///
    /// # Errors
    /// If the content is a listing.
    pub(crate) fn bpf(&self) -> Result<&Object, ObjectError> {
        match &self.0 {
            Content::Bpf(object) => Ok(object),
            Content::Chain(chain) => Ok(&chain.object),
            Content::Arriving(program) => Ok(&program.object),
            Content::Listing(_, error) => Err(error.clone()),
        }
    }

    /// Returns the text of the listing; empty for a BPF object.
    pub(crate) fn listing(&self) -> &[u8] {
        match &self.0 {
            Content::Bpf(_) | Content::Chain(_) | Content::Arriving(_) => &[],
            Content::Listing(text, _) => text,
        }
    }
}

/// Describes a program that receives packets from upstream programs.
fn arriving_info(program: &ArrivingProgram) -> ProgramInfo {
    let entry = program.object.programs.get(program.program);
    ProgramInfo {
        index: program.program,
        section: entry.map_or_else(String::new, |entry| entry.section.clone()),
        name: program.name.clone(),
        kind: entry.map_or_else(String::new, |entry| entry.kind.to_string()),
        needs_kernel: needs_kernel(&program.object, program.program)
            || program.upstream.iter().any(|(object, number)| needs_kernel(object, *number)),
    }
}

/// Returns true if the meaning of a program depends on the kernel's types.
fn needs_kernel(object: &Object, program: usize) -> bool {
    object.link(program, None).is_ok_and(|program| !program.unresolved.is_empty())
}
