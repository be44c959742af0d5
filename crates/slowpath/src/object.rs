//! A file with programs, read once for any number of analyses.

use crate::{ArrivingProgram, Error};
use slowpath_bpf::lift::{Handover, MapContent};
use slowpath_bpf::{Object, ObjectError, ProgramEntry};
use slowpath_ir::PacketFacts;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// What is in a file: a BPF object with its programs, or an NFP listing, which is one. Clones share
/// it.
#[derive(Clone, Debug)]
pub struct ProgramFile(pub(crate) Content);

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Bpf(Arc<Object>),
    Chain(Arc<ProgramChain>),
    Arriving(Arc<ArrivingProgram>),
    /// And why it is no object.
    Listing(Arc<[u8]>, ObjectError),
}

/// Programs of an object that run behind each other.
#[derive(Clone, Debug)]
pub struct ProgramChain {
    /// What it is called in results.
    pub name: String,
    /// The object with all programs.
    pub object: Arc<Object>,
    /// The program that packets arrive at, by its number in the object.
    pub entry: usize,
    /// Which programs run behind others, by what these return.
    pub handovers: Vec<Handover>,
    /// What the programs are called that run behind each other.
    pub members: Vec<ChainMember>,
    /// The programs whose work counts, by their numbers in the object, such as those on one of
    /// several devices; all if it is not said.
    pub counted: Option<BTreeSet<usize>>,
    /// Conditions that results depend on, one sentence each.
    pub assumptions: Vec<String>,
    /// What results are about: packets that arrive at the first program of which these facts hold;
    /// any that the device receives if none are said.
    pub arriving: Option<PacketFacts>,
    /// What maps hold then, by their names in the object, besides what options say.
    pub contents: BTreeMap<String, MapContent>,
}

/// A program of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainMember {
    /// What it is called in results.
    pub name: String,
    /// Its number in the object.
    pub program: usize,
    /// The programs of the object that are its own: itself, and those that its tail calls lead to.
    pub programs: Range<usize>,
}

/// A program of an object, for choosing.
#[derive(Clone, Debug)]
pub struct ProgramInfo {
    /// Its number in the object.
    pub index: usize,
    /// Section of its entry function.
    pub section: String,
    /// Name of its entry function.
    pub name: String,
    /// `xdp`, `sched_cls`, ...; `unknown` when nothing tells.
    pub kind: String,
    /// Whether it depends on the types of the kernel that it runs on.
    pub needs_kernel: bool,
}

impl ProgramFile {
    /// Reads a file by its content: what is no ELF file is taken for a listing, which is parsed when
    /// it is lifted.
    ///
    /// # Errors
    /// When it is a BPF object that cannot be read.
    pub fn read(data: &[u8]) -> Result<ProgramFile, Error> {
        match Object::parse(data) {
            Ok(object) => Ok(ProgramFile(Content::Bpf(Arc::new(object)))),
            Err(error) if data.starts_with(b"\x7fELF") => Err(error.into()),
            Err(error) => Ok(ProgramFile(Content::Listing(data.into(), error))),
        }
    }

    /// An object that was read.
    pub fn of(object: Arc<Object>) -> ProgramFile {
        ProgramFile(Content::Bpf(object))
    }

    /// A chain of programs, analysed as a single one.
    pub fn chain(chain: ProgramChain) -> ProgramFile {
        ProgramFile(Content::Chain(Arc::new(chain)))
    }

    /// A program behind others, analysed for the packets that these send.
    pub fn arriving(program: ArrivingProgram) -> ProgramFile {
        ProgramFile(Content::Arriving(Arc::new(program)))
    }

    /// The programs of a BPF object; of a chain its first one, by the chain's name; `None` for a
    /// listing.
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
        let meant =
            |(index, _): &(usize, &ProgramEntry)| chain.is_none_or(|chain| chain.entry == *index);
        Some(object.programs.iter().enumerate().filter(meant).map(info).collect())
    }

    /// Whether it is a BPF object, and not a listing.
    pub(crate) fn is_bpf(&self) -> bool {
        matches!(self.0, Content::Bpf(_) | Content::Chain(_) | Content::Arriving(_))
    }

    /// The chain of programs, if it is one.
    pub(crate) fn as_chain(&self) -> Option<&ProgramChain> {
        match &self.0 {
            Content::Chain(chain) => Some(chain),
            Content::Bpf(_) | Content::Arriving(_) | Content::Listing(..) => None,
        }
    }

    /// The program for the packets that arrive, if it is one.
    pub(crate) fn as_arriving(&self) -> Option<&ArrivingProgram> {
        match &self.0 {
            Content::Arriving(program) => Some(program),
            Content::Bpf(_) | Content::Chain(_) | Content::Listing(..) => None,
        }
    }

    /// The BPF object, to be kept; `None` for a listing.
    pub fn object(&self) -> Option<Arc<Object>> {
        match &self.0 {
            Content::Bpf(object) => Some(Arc::clone(object)),
            Content::Chain(chain) => Some(Arc::clone(&chain.object)),
            Content::Arriving(program) => Some(Arc::clone(&program.object)),
            Content::Listing(..) => None,
        }
    }

    /// The BPF object.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn bpf(&self) -> Result<&Object, ObjectError> {
        match &self.0 {
            Content::Bpf(object) => Ok(object),
            Content::Chain(chain) => Ok(&chain.object),
            Content::Arriving(program) => Ok(&program.object),
            Content::Listing(_, error) => Err(error.clone()),
        }
    }

    /// The text of the listing; empty for a BPF object.
    pub(crate) fn listing(&self) -> &[u8] {
        match &self.0 {
            Content::Bpf(_) | Content::Chain(_) | Content::Arriving(_) => &[],
            Content::Listing(text, _) => text,
        }
    }
}

/// A program behind others, by the name that it has in results.
fn arriving_info(program: &ArrivingProgram) -> ProgramInfo {
    let entry = program.object.programs.get(program.program);
    let needed = needs_kernel(&program.object, program.program)
        || program.in_front.iter().any(|(object, number)| needs_kernel(object, *number));
    ProgramInfo {
        index: program.program,
        section: entry.map_or_else(String::new, |entry| entry.section.clone()),
        name: program.name.clone(),
        kind: entry.map_or_else(String::new, |entry| entry.kind.to_string()),
        needs_kernel: needed,
    }
}

/// Whether what a program does depends on the kernel's types.
fn needs_kernel(object: &Object, program: usize) -> bool {
    object.link(program, None).is_ok_and(|program| !program.unresolved.is_empty())
}
