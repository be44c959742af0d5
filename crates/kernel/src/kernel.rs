//! Checks that the running kernel can be used, and loads programs into it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width, encode};
use slowpath_bpf::{BpfProgram, Btf, MapDef, Object, PROGRAM_TYPES, SlotRef};

use crate::count::{self, Answer, CountingProgram, Weights};
use crate::error::{LoadError, MapError};
use crate::loaded::{self, LoadedProgram};
use crate::program::{Types, Variant};
use crate::sys::{Cpus, load_btf};
use crate::unavailable::{Attempt, Unavailable};
use crate::{Context, Map, btf, map_creation, program, reachable};

/// File that contains the types of the running kernel (BTF).
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The running kernel. Creating this value checks that it can load and run XDP programs.
#[derive(Debug)]
pub struct Kernel {
    cpus: Cpus,
    types: OnceLock<Option<Arc<Btf>>>,
}

impl Kernel {
    /// Loads and runs a small XDP program to check that the kernel allows it.
    pub fn available() -> Result<Kernel, Unavailable> {
        let cpus = Cpus::read().map_err(|answer| Unavailable::observe(Attempt::Cpus, answer))?;
        let program = probe().map_err(|answer| Unavailable::observe(Attempt::Load, answer))?;
        let run = loaded::run(program.fd(), &[0; 60], 1, &Context::default());
        let answer = match run {
            Ok(run) if run.return_value == PASS => {
                return Ok(Kernel { cpus, types: OnceLock::new() });
            }
            Ok(_) => io::ErrorKind::InvalidData.into(),
            Err(answer) => answer,
        };
        Err(Unavailable::observe(Attempt::Run, answer))
    }

    /// Returns the number of possible CPUs. Per-CPU maps have a value for each of them.
    pub fn cpus(&self) -> usize {
        self.cpus.count()
    }

    pub(crate) fn possible_cpus(&self) -> Cpus {
        self.cpus
    }

    /// Returns the types of the running kernel (BTF), or `None` if they cannot be read.
    pub fn types(&self) -> Option<&Btf> {
        self.read_types().map(Arc::as_ref)
    }

    /// Returns the types of the running kernel (BTF) as a shared handle, because a copy would be
    /// large. Returns `None` if they cannot be read.
    pub fn shared_types(&self) -> Option<Arc<Btf>> {
        self.read_types().cloned()
    }

    fn read_types(&self) -> Option<&Arc<Btf>> {
        let read = || Btf::parse(&std::fs::read(KERNEL_TYPES).ok()?).ok().map(Arc::new);
        self.types.get_or_init(read).as_ref()
    }

    /// Loads the program at index `program` of [`Object::programs`]. Creates the maps that it can
    /// reach, with the object's initial content. Also loads the programs in its program arrays.
    ///
    /// Some objects leave the size of a map to their own loader
    /// ([`slowpath_bpf::MapDef::max_entries`] is 0). Set it in the object before loading.
    pub fn load(&self, object: &Object, program: usize) -> Result<LoadedProgram, LoadError> {
        let reachable = reachable::find_reachable(object, program, &|| self.types())?;
        self.load_reachable(object, program, reachable, &[])
    }

    /// Like [`Kernel::load`], but also loads programs with a `struct __sk_buff`.
    ///
    /// # Errors
    /// As [`Kernel::load`].
    pub fn load_any(&self, object: &Object, program: usize) -> Result<LoadedProgram, LoadError> {
        let reachable = self.reachable_any(object, program)?;
        self.load_reachable(object, program, reachable, &[])
    }

    /// Finds the programs and maps that a program can reach. The program can have any type that
    /// slowpath analyses.
    pub(crate) fn reachable_any(
        &self,
        object: &Object,
        program: usize,
    ) -> Result<reachable::Reachable, LoadError> {
        let types = PROGRAM_TYPES.map(|row| row.kind);
        reachable::find_reachable_of(object, program, &types, &|| self.types())
    }

    /// Like [`Kernel::load`], but the program shares the maps of `other`, which is a loaded program
    /// of the same object. Maps that `other` does not have are created.
    ///
    /// # Errors
    /// As [`Kernel::load`].
    pub fn load_sharing_maps(
        &self,
        object: &Object,
        program: usize,
        other: &LoadedProgram,
    ) -> Result<LoadedProgram, LoadError> {
        let reachable = reachable::find_reachable(object, program, &|| self.types())?;
        let shared = |number| Some((number, other.map_by_number(number)?));
        let shared = reachable.maps.iter().filter_map(|&number| shared(number)).collect();
        self.load_sharing(object, program, reachable, &[], &shared)
    }

    /// Loads a minimal program that passes every packet.
    pub fn load_pass(&self) -> Result<LoadedProgram, LoadError> {
        probe().map_err(|cause| LoadError::Refused { program: "probe".to_owned(), cause })
    }

    /// Loads the instructions as a program without maps.
    ///
    /// # Errors
    /// [`LoadError::Refused`] if the kernel rejects the instructions.
    pub fn load_generated(
        &self,
        name: &str,
        insns: &[Insn],
        variant: Variant,
    ) -> Result<LoadedProgram, LoadError> {
        LoadedProgram::generated(name, &encode(insns), variant)
            .map_err(|cause| LoadError::Refused { program: name.to_owned(), cause })
    }

    /// Returns the maps that a program can reach, as indices into [`Object::maps`].
    ///
    /// # Errors
    /// If the program cannot be linked.
    pub fn reachable_maps(
        &self,
        object: &Object,
        program: usize,
    ) -> Result<BTreeSet<usize>, LoadError> {
        Ok(reachable::find_reachable(object, program, &|| self.types())?.maps)
    }

    /// Like [`Kernel::load_any`], but replaces the helper calls listed in `answers` by fixed
    /// results. The programs that it tail-calls are unchanged.
    ///
    /// # Errors
    /// As [`Kernel::load`], and if an answer does not fit the call that it replaces.
    pub fn load_with_answers(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
    ) -> Result<LoadedProgram, LoadError> {
        self.load_transformed(object, program, answers, |linked| Ok(linked.clone()))
    }

    /// Like [`Kernel::load_with_answers`], but then applies `change` to the program and to all
    /// programs that it tail-calls. A changed program must not use maps that the original does not
    /// use.
    pub(crate) fn load_transformed(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
        change: impl Fn(&BpfProgram) -> Result<BpfProgram, LoadError>,
    ) -> Result<LoadedProgram, LoadError> {
        let mut reachable = self.reachable_any(object, program)?;
        if let Some(linked) = reachable.programs.get_mut(&program).filter(|_| !answers.is_empty()) {
            *linked = count::answering(linked, answers)?;
        }
        for linked in reachable.programs.values_mut() {
            *linked = change(linked)?;
        }
        self.load_reachable(object, program, reachable, &[])
    }

    /// Like [`Kernel::load`], but replaces the instructions of the program at the same index of the
    /// object by those of `program`. They must not use maps that the original does not use.
    ///
    /// # Errors
    /// As [`Kernel::load`].
    pub fn load_rewritten(
        &self,
        object: &Object,
        program: &BpfProgram,
    ) -> Result<LoadedProgram, LoadError> {
        let number = program.number;
        let mut reachable = reachable::find_reachable(object, number, &|| self.types())?;
        reachable.programs.insert(number, program.clone());
        self.load_reachable(object, number, reachable, &[])
    }

    /// Like [`Kernel::load_any`], but all programs count the instructions that they execute.
    pub fn load_counted(
        &self,
        object: &Object,
        program: usize,
    ) -> Result<CountingProgram, LoadError> {
        self.load_counted_with_answers(object, program, &[])
    }

    /// Like [`Kernel::load_with_answers`], but all programs count the instructions that they
    /// execute.
    pub fn load_counted_with_answers(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
    ) -> Result<CountingProgram, LoadError> {
        self.load_counting(object, program, answers, false)
    }

    /// Like [`Kernel::load_counted_with_answers`], but runs also compute a fingerprint of the
    /// executed basic blocks ([`Tally`](crate::Tally)). Runs of the same path have equal
    /// fingerprints. Instructions are counted modulo 2^32.
    pub fn load_fingerprinted(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
    ) -> Result<CountingProgram, LoadError> {
        self.load_counting(object, program, answers, true)
    }

    fn load_counting(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
        weighted: bool,
    ) -> Result<CountingProgram, LoadError> {
        let mut reachable = self.reachable_any(object, program)?;
        let number = object.maps.len();
        for (&of, linked) in &mut reachable.programs {
            let answers = if of == program { answers } else { &[] };
            let weights = if weighted { Weights::Random(of) } else { Weights::None };
            *linked = count::counting(linked, number as u32, answers, weights)?;
        }
        let counter = count::counter();
        let loaded = self.load_reachable(object, program, reachable, &[(number, &counter)])?;
        Ok(CountingProgram::new(loaded, number, weighted))
    }

    /// Loads the programs and creates their maps. Also creates the maps in `further`, which the
    /// object does not define. Their indices follow those of the object's maps.
    pub(crate) fn load_reachable(
        &self,
        object: &Object,
        program: usize,
        reachable: reachable::Reachable,
        further: &[(usize, &MapDef)],
    ) -> Result<LoadedProgram, LoadError> {
        self.load_sharing(object, program, reachable, further, &BTreeMap::new())
    }

    /// Like [`Kernel::load_reachable`], but uses the existing maps in `shared`, by map index,
    /// instead of creating them.
    fn load_sharing(
        &self,
        object: &Object,
        program: usize,
        reachable: reachable::Reachable,
        further: &[(usize, &MapDef)],
        shared: &BTreeMap<usize, &Map>,
    ) -> Result<LoadedProgram, LoadError> {
        // Types are optional: if a program needs them, the verifier says so.
        let types = object
            .btf
            .as_ref()
            .and_then(|types| load_btf(&btf::encode(types, &static_functions(&reachable))).ok());
        let types_fd = types.as_ref().map(|fd| fd.as_fd());
        let mut maps = BTreeMap::new();
        let defs = reachable.maps.iter().filter_map(|&n| Some((n, object.maps.get(n)?)));
        for (number, def) in defs.chain(further.iter().copied()) {
            let map = match shared.get(&number) {
                Some(map) => {
                    map.share().map_err(|cause| map_creation::failed(def, "share", cause))?
                }
                None => map_creation::map(def, self.cpus, types_fd)?,
            };
            maps.insert(number, map);
        }
        let license = object.license.as_deref().unwrap_or_default();
        let types = object.btf.as_ref().map(|btf| Types { btf, fd: types_fd });
        let mut programs = BTreeMap::new();
        let entry = reachable.programs.get(&program);
        for (number, linked) in &reachable.programs {
            programs.insert(*number, program::load(linked, license, &maps, types, &[])?);
        }
        for (_, map) in maps.iter().filter(|(number, _)| !shared.contains_key(number)) {
            fill(map, &maps, &programs)?;
        }
        // `find_reachable` always includes the program itself.
        match programs.remove(&program) {
            Some(fd) => {
                let variant = entry.map_or(Variant::xdp(false), Variant::of);
                Ok(LoadedProgram::new(fd, programs, maps, variant))
            }
            None => Err(LoadError::Refused { program: String::new(), cause: not_found() }),
        }
    }
}

fn static_functions(reachable: &reachable::Reachable) -> Vec<&str> {
    let functions = reachable.programs.values().flat_map(|p| &p.subprograms);
    functions.filter(|f| !f.global).map(|f| f.name.as_str()).collect()
}

/// Fills the slots of a map for which the object names maps or programs as initial values.
fn fill(
    map: &Map,
    maps: &BTreeMap<usize, Map>,
    programs: &BTreeMap<usize, OwnedFd>,
) -> Result<(), LoadError> {
    let def = map.definition();
    for (slot, target) in &def.slots {
        let done = match target {
            SlotRef::Map(number) => maps.get(number).map(|inner| {
                map.update(&slot.to_ne_bytes(), &inner.fd().as_raw_fd().to_ne_bytes())
            }),
            SlotRef::Program(number) => programs.get(number).map(|p| map.set_fd(*slot, p.as_fd())),
        };
        let cause = match done {
            Some(Ok(())) => continue,
            Some(Err(MapError::Kernel { cause, .. })) => cause,
            Some(Err(other)) => io::Error::other(other.to_string()),
            None => not_found(),
        };
        return Err(map_creation::failed(def, "fill", cause));
    }
    Ok(())
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// `XDP_PASS`.
const PASS: u32 = 2;

/// Loads a program that consists of `r0 = XDP_PASS; exit`.
fn probe() -> io::Result<LoadedProgram> {
    let set = Insn::Alu {
        width: Width::W64,
        op: AluOp::Mov,
        dst: Register::R0,
        src: Source::Imm(PASS as i32),
    };
    LoadedProgram::generated("probe", &encode(&[set, Insn::Exit]), Variant::xdp(false))
}
