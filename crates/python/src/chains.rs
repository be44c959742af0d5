//! Chains of programs: what a description names, and its objects as one file.

use crate::errors;
use crate::objects::{Btf, Object};
use crate::worker::{self, Next, Running, Stop};
use pyo3::prelude::*;
use serde_json::{Value, json};
use slowpath::{Error, ProgramFile};
use slowpath_chain::equivalence::Cover;
use slowpath_chain::verify::Place;
use slowpath_chain::{Apart, Loaded, MapOf, RewriteOptions};
use slowpath_specialise::Mode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A chain of programs, as its description has it. Raises `Error` when that is none.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Chain {
    inner: slowpath_chain::Chain,
}

/// What is known of runs through a chain before they begin.
#[pyclass(frozen, module = "slowpath._core")]
pub struct KnownStart {
    inner: slowpath_chain::KnownStart,
}

/// The name of a program in a chain, its file, and its name there, if that is said.
type Member = (String, String, Option<String>);

/// How programs are rewritten, what they are called as one, and whether graphs are asked for.
type How = (Option<String>, Option<String>, bool);

/// A report as JSON text, the objects of rewritten programs, the one of all programs as one, what
/// rewritten programs can be tried on, and the control-flow graphs as JSON text. What they can be
/// tried on is for each the JSON text of a list of packets, in hexadecimal, with the `maps` of a
/// witness.
type Rewritten = (String, Vec<Option<Vec<u8>>>, Option<Fused>, Vec<String>, Option<String>);

/// The object of all programs as one; one with the programs that call each other, to compare it with,
/// with the name of the first, or why there is none; the names of maps in both, by those in the chain;
/// and what they can be tried on.
type Fused = (Vec<u8>, Option<Vec<u8>>, String, BTreeMap<String, String>, String);

#[pymethods]
impl Chain {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let inner = slowpath_chain::Chain::parse(text).map_err(|error| wrong(py, &error))?;
        Ok(Chain { inner })
    }

    /// Raises `Error` unless these are facts about packets, in words, that go together.
    #[staticmethod]
    fn check_assumed(py: Python<'_>, assumed: Vec<String>) -> PyResult<()> {
        let read = slowpath_chain::assumed(&assumed);
        read.map(|_| ()).map_err(|why| errors::exception(py, &Error::Input(why)))
    }

    /// The programs, in the order of the description.
    #[getter]
    fn members(&self) -> Vec<Member> {
        let member = |member: &slowpath_chain::Member| {
            (member.name.clone(), member.object.clone(), member.program.clone())
        };
        self.inner.members.iter().map(member).collect()
    }

    /// The line of the description that names each program.
    #[getter]
    fn lines(&self) -> Vec<u64> {
        self.inner.members.iter().map(|member| member.line).collect()
    }

    /// The devices that programs run on, in the order of the programs.
    #[getter]
    fn devices(&self) -> Vec<Option<String>> {
        self.inner.devices().into_iter().map(|device| device.map(str::to_owned)).collect()
    }

    /// The targets of devices, as far as they are said: device, target, and the line of the description.
    #[getter]
    fn targets(&self) -> Vec<(String, String, u64)> {
        let target =
            |of: &slowpath_chain::DeviceTarget| (of.device.clone(), of.target.clone(), of.line);
        self.inner.targets.iter().map(target).collect()
    }

    /// The numbers of the programs that run on a device.
    #[pyo3(signature = (device))]
    fn on_device(&self, device: Option<&str>) -> Vec<usize> {
        self.inner.on_device(device).into_iter().collect()
    }

    /// One file of the objects of all programs, each with the number of its program there; of several
    /// devices, the work of one counts. The programs with the numbers `compiled` run as something that
    /// they were compiled to. It is about packets that are `known` to arrive, with maps as they are
    /// known; about any if nothing is. Raises `Error` when they do not fit together.
    #[pyo3(signature = (name, objects, device=None, compiled=Vec::new(), known=None))]
    fn combine(
        &self,
        py: Python<'_>,
        name: &str,
        objects: Vec<(Py<Object>, usize)>,
        device: Option<&str>,
        compiled: Vec<usize>,
        known: Option<Py<KnownStart>>,
    ) -> PyResult<Object> {
        let loaded = loaded(py, objects)?;
        let known = known.map(|known| known.get().inner.clone()).unwrap_or_default();
        let compiled = compiled.into_iter().collect();
        let file = self.inner.combine(name, &loaded, device, &compiled, &known);
        Ok(Object::of(file.map_err(|error| wrong(py, &error))?))
    }

    /// As `combine`, but the work of one program counts only, by its number: what it costs for packets
    /// that get to it.
    fn combine_for(
        &self,
        py: Python<'_>,
        name: &str,
        objects: Vec<(Py<Object>, usize)>,
        member: usize,
        compiled: Vec<usize>,
        known: &KnownStart,
    ) -> PyResult<Object> {
        let loaded = loaded(py, objects)?;
        let compiled = compiled.into_iter().collect();
        let file = self.inner.combine_for(name, &loaded, member, &compiled, &known.inner);
        Ok(Object::of(file.map_err(|error| wrong(py, &error))?))
    }

    /// One of the programs by itself, by its number, for the packets that those in front of it let
    /// through; `compiled` and `known` as with `combine_for`. Raises `Error` when the programs of a
    /// dispatcher cannot be put in order.
    fn arriving(
        &self,
        py: Python<'_>,
        name: &str,
        objects: Vec<(Py<Object>, usize)>,
        member: usize,
        compiled: Vec<usize>,
        known: &KnownStart,
    ) -> PyResult<Object> {
        let loaded = loaded(py, objects)?;
        let compiled = compiled.into_iter().collect();
        let file = self.inner.arriving(name, &loaded, member, &compiled, &known.inner);
        Ok(Object::of(file.map_err(|error| wrong(py, &error))?))
    }

    /// The conditions under which the programs `compiled` do to packets on their way to one what their
    /// BPF programs do. Raises `Error` when the programs of a dispatcher cannot be put in order.
    fn as_compiled(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        member: usize,
        compiled: Vec<usize>,
    ) -> PyResult<Vec<String>> {
        let loaded = loaded(py, objects)?;
        let sentences =
            self.inner.as_compiled(&loaded, &[member].into(), &compiled.into_iter().collect());
        sentences.map_err(|error| wrong(py, &error))
    }

    /// How packets get to a program: the numbers of the programs in front of it, in their order, each
    /// with the results with which they go on; of several ways one of the shortest. Raises `Error` when
    /// the programs of a dispatcher cannot be put in order.
    fn way_to(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        member: usize,
    ) -> PyResult<Vec<(usize, Vec<u32>)>> {
        let loaded = loaded(py, objects)?;
        self.inner.way_to(&loaded, member).map_err(|error| wrong(py, &error))
    }

    /// The objects with `variables` (`NAME=VALUE`, or `PROGRAM:NAME=VALUE`) and read-only data as
    /// `maps`, a file with content of maps, have them. Raises `Error` when there is no such variable, or
    /// a value does not fit.
    fn configured(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        variables: Vec<String>,
        maps: Option<&str>,
    ) -> PyResult<Vec<(Object, usize)>> {
        let loaded = loaded(py, objects)?;
        let configured = slowpath_chain::configured(&self.inner, &loaded, &variables, maps);
        let configured = configured.map_err(|error| errors::exception(py, &error))?;
        let object = |of: Loaded| (Object::of(ProgramFile::of(of.object)), of.program);
        Ok(configured.into_iter().map(object).collect())
    }

    /// What a file with content of maps says as the `maps` of a witness of the whole chain, as JSON
    /// text. Raises `Error` when it cannot be read.
    fn start_maps(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        text: &str,
    ) -> PyResult<String> {
        let loaded = loaded(py, objects)?;
        let maps = slowpath_chain::frozen::start_maps(&self.inner, &loaded, text);
        Ok(maps.map_err(|error| errors::exception(py, &error))?.to_string())
    }

    /// What is known of runs before they begin: facts about packets that arrive at the first program, in
    /// words; what maps of `frozen` hold, by the text of a file with content of maps; and that the maps
    /// of `generations` are zero. Maps are told by the number of their program and their name in its
    /// object. Raises `Error` when facts or text cannot be read.
    fn known_start(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        assumed: Vec<String>,
        maps: &str,
        frozen: BTreeSet<MapOf>,
        generations: Vec<MapOf>,
    ) -> PyResult<KnownStart> {
        let loaded = loaded(py, objects)?;
        let first = slowpath_chain::assumed(&assumed)
            .map_err(|why| errors::exception(py, &Error::Input(why)))?;
        let read = slowpath_chain::KnownStart::read(
            &self.inner,
            &loaded,
            first,
            maps,
            &frozen,
            &generations,
        );
        Ok(KnownStart { inner: read.map_err(|error| errors::exception(py, &error))? })
    }

    /// Finds out what holds of packets that arrive at each program, as JSON text, and where programs
    /// are rewritten for it the objects to load instead, in the order of the description, the object of
    /// all as one, what they can be tried on, and the control-flow graphs as JSON text. `how` is
    /// `trust` or `guard`, or `None` where nothing is rewritten; what all programs as one are called,
    /// if they are to become one; and whether graphs are asked for. `stop` ends it with what is known
    /// by then. `assumed` are facts about packets that arrive at the first program, `maps` the text of
    /// a file with content of maps that is frozen, `receive` says how packets arrive. Raises `Error`
    /// when a program cannot be linked, and when these cannot be read.
    #[pyo3(signature = (objects, how, btf, stop, assumed=Vec::new(), maps=None, receive=None))]
    #[allow(clippy::too_many_arguments, reason = "arguments of the Python function")]
    fn rewrite(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        how: How,
        btf: Option<Py<Btf>>,
        stop: &Stop,
        assumed: Vec<String>,
        maps: Option<String>,
        receive: Option<String>,
    ) -> PyResult<Rewriting> {
        let loaded = loaded(py, objects)?;
        let (mode, fuse, graphs) = how;
        let mode = match mode.as_deref() {
            Some("trust") => Some(Mode::Trust),
            Some(_) => Some(Mode::Guard),
            None => None,
        };
        let mut options = RewriteOptions { mode, fuse, graphs, ..RewriteOptions::default() };
        options.first = slowpath_chain::assumed(&assumed)
            .map_err(|why| errors::exception(py, &Error::Input(why)))?;
        if let Some(maps) = maps {
            let read = slowpath_chain::frozen::read_contents(&self.inner, &loaded, &maps);
            options.contents = read.map_err(|error| errors::exception(py, &error))?;
        }
        if let Some(name) = receive {
            let read = options.receiving(&name);
            options = read.map_err(|why| errors::exception(py, &Error::Option(why)))?;
        }
        options.lift.kernel_types = btf.map(|btf| btf.get().shared().shared());
        let chain = self.inner.clone();
        let running = worker::start(stop, move |stop, so_far: &dyn Fn(Said)| {
            let said =
                |rewritten: &slowpath_chain::Rewritten| so_far(Ok(message(rewritten, graphs)));
            let rewritten = slowpath_chain::rewrite(&chain, &loaded, &options, stop, said);
            so_far(rewritten.as_ref().map(|all| message(all, graphs)).map_err(Clone::clone));
        })?;
        Ok(Rewriting { running })
    }
}

/// A chain that is being rewritten. Iterating yields what is known so far each time that there is
/// more, at last all, and `None` where nothing is new. Raises `Error` when a program cannot be linked.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Rewriting {
    running: Running<Said>,
}

/// What is known so far, or why nothing is.
type Said = Result<Message, slowpath_chain::ChainError>;

/// A report as JSON text, or what is wrong with it, and the rest of [`Rewritten`].
type Message = Result<Rewritten, String>;

fn message(rewritten: &slowpath_chain::Rewritten, graphs: bool) -> Message {
    let text = serde_json::to_string(&rewritten.report).map_err(|error| error.to_string())?;
    let covers = rewritten.covers.iter().map(|covers| covered(covers)).collect();
    let graphs = graphs.then(|| serde_json::to_string(&rewritten.graphs)).transpose();
    let graphs = graphs.map_err(|error| error.to_string())?;
    Ok((text, rewritten.objects.clone(), fused(rewritten), covers, graphs))
}

fn fused(rewritten: &slowpath_chain::Rewritten) -> Option<Fused> {
    let bytes = rewritten.fused.clone()?;
    let covers = covered(&rewritten.fused_covers);
    Some(match rewritten.apart.clone()? {
        Ok(Apart { bytes: apart, entry, maps }) => (bytes, Some(apart), entry, maps, covers),
        Err(why) => (bytes, None, why, BTreeMap::new(), covers),
    })
}

#[pymethods]
impl Rewriting {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Option<Rewritten>>> {
        match self.running.next(py)? {
            Next::Pending => Ok(Some(None)),
            Next::Finished => Ok(None),
            Next::Said(said) => {
                let said = said.map_err(|error| wrong(py, &error))?;
                Ok(Some(Some(said.map_err(|error| errors::defect(py, &error))?)))
            }
        }
    }
}

/// A chain, the objects of its programs, each with its number there, and the number of one of them.
type Behind = (Py<Chain>, Vec<(Py<Object>, usize)>, usize);

/// Compares programs of two objects, by their numbers there, for packets of which the facts `assumed`
/// hold and that arrive as `receive` says; what came of it, as JSON text
/// (`slowpath_chain::verify::VerifyReport`). With `behind`, both take the place of a program of a chain,
/// and the packets are those that arrive at its first one. Raises `Error` when a program cannot be
/// linked or analysed; when `stop` says so, it ends with what is known by then.
#[pyfunction]
#[pyo3(signature = (first, second, assumed, btf, stop, receive=None, behind=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of the Python function")]
pub fn verify(
    py: Python<'_>,
    first: (Py<Object>, usize),
    second: (Py<Object>, usize),
    assumed: Vec<String>,
    btf: Option<Py<Btf>>,
    stop: &Stop,
    receive: Option<&str>,
    behind: Option<Behind>,
) -> PyResult<String> {
    let both = loaded(py, vec![first, second])?;
    let first = slowpath_chain::assumed(&assumed)
        .map_err(|why| errors::exception(py, &Error::Input(why)))?;
    let mut options = RewriteOptions { first, ..RewriteOptions::default() };
    if let Some(name) = receive {
        let read = options.receiving(name);
        options = read.map_err(|why| errors::exception(py, &Error::Option(why)))?;
    }
    let kernel_types = btf.map(|btf| btf.get().shared().shared());
    options.lift.kernel_types.clone_from(&kernel_types);
    let behind = behind.map(|(chain, objects, member)| {
        Ok::<_, PyErr>((chain.get().inner.clone(), loaded(py, objects)?, member))
    });
    let behind = behind.transpose()?;
    let done = worker::run(py, stop, move |stop| {
        let place = match &behind {
            Some((chain, members, member)) => {
                let found = Place::in_chain(chain, members, *member, &options, stop);
                found.map_err(|error| error.to_string())?
            }
            None => Place::of(&options),
        };
        slowpath_chain::verify::verify([&both[0], &both[1]], &place, kernel_types, stop)
            .map_err(|error| error.to_string())
    })?;
    let report = done.map_err(|error| errors::exception(py, &Error::Input(error)))?;
    serde_json::to_string(&report).map_err(|error| errors::defect(py, &error))
}

/// The objects of a chain's programs, each with the number of its program there.
fn loaded(py: Python<'_>, objects: Vec<(Py<Object>, usize)>) -> PyResult<Vec<Loaded>> {
    let loaded = |(object, program): (Py<Object>, usize)| {
        let object: Option<Arc<_>> = object.get().shared().object();
        let object = object.ok_or_else(|| {
            let what = "a listing is no part of a chain; the programs are BPF objects";
            errors::exception(py, &Error::Input(what.to_owned()))
        })?;
        Ok(Loaded { object, program })
    };
    objects.into_iter().map(loaded).collect()
}

/// What programs can be tried on, as JSON text.
fn covered(covers: &[Cover]) -> String {
    let one = |cover: &Cover| {
        let packet: String = cover.packet.iter().map(|byte| format!("{byte:02x}")).collect();
        json!([packet, cover.maps])
    };
    covers.iter().map(one).collect::<Value>().to_string()
}

fn wrong(py: Python<'_>, error: &slowpath_chain::ChainError) -> PyErr {
    errors::exception(py, &Error::Input(error.to_string()))
}
