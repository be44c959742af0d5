//! A file with programs, read once for any number of analyses.

use crate::Error;
use slowpath_bpf::lift::Handover;
use slowpath_bpf::{Object, ObjectError, ProgramEntry};
use std::sync::Arc;

/// What is in a file: a BPF object with its programs, or an NFP listing, which is one. Clones share
/// it.
#[derive(Clone, Debug)]
pub struct ProgramFile(Content);

#[derive(Clone, Debug)]
enum Content {
    Bpf(Arc<Object>),
    Chain(Arc<Chain>),
    /// And why it is no object.
    Listing(Arc<[u8]>, ObjectError),
}

/// Programs of an object that run behind each other.
#[derive(Clone, Debug)]
struct Chain {
    name: String,
    object: Arc<Object>,
    /// The first one.
    entry: usize,
    handovers: Vec<Handover>,
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

    /// A chain of programs of an object, of which `entry` is the first one, with a name.
    pub fn chain(
        name: &str,
        object: Object,
        entry: usize,
        handovers: Vec<Handover>,
    ) -> ProgramFile {
        let (name, object) = (name.to_owned(), Arc::new(object));
        ProgramFile(Content::Chain(Arc::new(Chain { name, object, entry, handovers })))
    }

    /// The programs of a BPF object, of a chain the first one; `None` for a listing.
    pub fn programs(&self) -> Option<Vec<ProgramInfo>> {
        let (object, only) = match &self.0 {
            Content::Bpf(object) => (object, None),
            Content::Chain(chain) => (&chain.object, Some(chain.entry)),
            Content::Listing(..) => return None,
        };
        let info = |(index, entry): (usize, &ProgramEntry)| ProgramInfo {
            index,
            section: entry.section.clone(),
            name: entry.name.clone(),
            kind: entry.kind.to_string(),
            needs_kernel: object
                .link(index, None)
                .is_ok_and(|program| !program.unresolved.is_empty()),
        };
        let meant = |(index, _): &(usize, &ProgramEntry)| only.is_none_or(|only| only == *index);
        Some(object.programs.iter().enumerate().filter(meant).map(info).collect())
    }

    /// Whether it is a BPF object, and not a listing.
    pub(crate) fn is_bpf(&self) -> bool {
        matches!(self.0, Content::Bpf(_) | Content::Chain(_))
    }

    /// The name of a chain.
    pub(crate) fn chain_name(&self) -> Option<&str> {
        match &self.0 {
            Content::Chain(chain) => Some(&chain.name),
            Content::Bpf(_) | Content::Listing(..) => None,
        }
    }

    /// Which programs of the object run behind others, by what these return.
    pub(crate) fn handovers(&self) -> &[Handover] {
        match &self.0 {
            Content::Chain(chain) => &chain.handovers,
            Content::Bpf(_) | Content::Listing(..) => &[],
        }
    }

    /// The BPF object, to be kept; `None` for a listing.
    pub fn object(&self) -> Option<Arc<Object>> {
        match &self.0 {
            Content::Bpf(object) => Some(Arc::clone(object)),
            Content::Chain(chain) => Some(Arc::clone(&chain.object)),
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
            Content::Listing(_, error) => Err(error.clone()),
        }
    }

    /// The text of the listing; empty for a BPF object.
    pub(crate) fn listing(&self) -> &[u8] {
        match &self.0 {
            Content::Bpf(_) | Content::Chain(_) => &[],
            Content::Listing(text, _) => text,
        }
    }
}
