//! Reads descriptions of chains, combines the objects of a chain into one file, rewrites its
//! programs, and compares programs.

use crate::errors;
use crate::objects::{Btf, Object};
use crate::worker::{self, Next, Running, Stop};
use pyo3::prelude::*;
use serde_json::{Value, json};
use slowpath::{Error, ProgramFile};
use slowpath_chain::equivalence::TestInput;
use slowpath_chain::verify::ChainContext;
use slowpath_chain::{Loaded, MemberMap, RewriteOptions, Unfused};
use slowpath_codes as codes;
use slowpath_specialise::Mode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A chain of programs, read from its description. Raises `Error` if the description is invalid.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Chain {
    inner: slowpath_chain::Chain,
}

/// Facts and map content that are known before the first program of a chain runs.
#[pyclass(frozen, module = "slowpath._core")]
pub struct KnownStart {
    inner: slowpath_chain::KnownStart,
}

/// A program of a chain: its name in the chain, the name of its file, and its name in the file
/// (`None` if not stated).
type Member = (String, String, Option<String>);

/// Options of a rewriting: the mode (`trust`, `guard`, or `None` for no rewriting), the name of the
/// program into which the chain is fused (`None` to fuse nothing), and true to request control-flow
/// graphs.
type How = (Option<String>, Option<String>, bool);

/// Result of rewriting a chain, in five parts: the report as JSON text; the rewritten object of
/// each program; the chain fused into one program; test inputs; control-flow graphs as JSON text.
/// An object is `None` if its program was not rewritten. Test inputs are JSON text for each
/// program: a list of packets in hexadecimal, each with map content.
type Rewritten = (String, Vec<Option<Vec<u8>>>, Option<Fused>, Vec<String>, Option<String>);

/// A chain fused into one program, in five parts. The first is the object of this program. The
/// second is an object for comparison, in which the programs of the chain stay separate and call
/// each other. The third is the name of its first program, or the reason why it does not exist. The
/// fourth maps names of maps in the chain to names in both objects. The fifth has test inputs for
/// the fused program, as in `Rewritten`.
type Fused = (Vec<u8>, Option<Vec<u8>>, String, BTreeMap<String, String>, String);

#[pymethods]
impl Chain {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let inner = slowpath_chain::Chain::parse(text).map_err(|error| wrong(py, &error))?;
        Ok(Chain { inner })
    }

    /// Checks facts about packets, each given as a text. Raises `Error` if the facts are invalid or
    /// contradictory.
    #[staticmethod]
    fn check_assumed(py: Python<'_>, assumed: Vec<String>) -> PyResult<()> {
        let read = slowpath_chain::parse_facts(&assumed);
        read.map(|_| ())
            .map_err(|why| errors::exception(py, &Error::Input(codes::INVALID_FACTS, why)))
    }

    /// Programs of the chain, in the order of its description.
    #[getter]
    fn members(&self) -> Vec<Member> {
        let member = |member: &slowpath_chain::Member| {
            (member.name.clone(), member.object.clone(), member.program.clone())
        };
        self.inner.members.iter().map(member).collect()
    }

    /// Numbers of the lines in the description that name the programs, in the order of `members`.
    #[getter]
    fn lines(&self) -> Vec<u64> {
        self.inner.members.iter().map(|member| member.line).collect()
    }

    /// Devices of the programs, each once, in the order of the programs. `None` stands for programs
    /// without a device.
    #[getter]
    fn devices(&self) -> Vec<Option<String>> {
        self.inner.devices().into_iter().map(|device| device.map(str::to_owned)).collect()
    }

    /// Targets of the devices, as the description of the chain gives them: name of the device, name
    /// of the target, and number of the line.
    #[getter]
    fn targets(&self) -> Vec<(String, String, u64)> {
        let target =
            |of: &slowpath_chain::DeviceTarget| (of.device.clone(), of.target.clone(), of.line);
        self.inner.targets.iter().map(target).collect()
    }

    /// Returns the indices of the programs that run on a device. `None` selects the programs
    /// without a device.
    #[pyo3(signature = (device))]
    fn on_device(&self, device: Option<&str>) -> Vec<usize> {
        self.inner.on_device(device).into_iter().collect()
    }

    /// Combines the objects of all programs into one file. Each object comes with the index of its
    /// program. If the programs run on several devices, only the work on `device` is counted.
    /// `compiled` has the indices of the chain's programs that run in compiled form instead of as
    /// BPF. `known` restricts the analysis to certain packets and map content; without it, any are
    /// possible. Raises `Error` if the objects do not fit together.
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

    /// Combines objects as `combine` does, but counts only the work of the chain's program with the
    /// index `member`: its cost for packets that reach it.
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

    /// Returns the chain's program with the index `member` alone, for the packets that the programs
    /// before it pass on. `compiled` and `known` are as for `combine`. Raises `Error` if the
    /// programs of a dispatcher cannot be ordered.
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
        let file = self.inner.isolated(name, &loaded, member, &compiled, &known.inner);
        Ok(Object::of(file.map_err(|error| wrong(py, &error))?))
    }

    /// Returns the conditions under which compiled programs treat packets like the BPF programs
    /// from which they were compiled, one sentence each. `compiled` has the indices of these
    /// programs. Only those before the program `member` count. Raises `Error` if the programs of a
    /// dispatcher cannot be ordered.
    fn as_compiled(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        member: usize,
        compiled: Vec<usize>,
    ) -> PyResult<Vec<String>> {
        let loaded = loaded(py, objects)?;
        let sentences = self.inner.compilation_conditions(
            &loaded,
            &[member].into(),
            &compiled.into_iter().collect(),
        );
        sentences.map_err(|error| wrong(py, &error))
    }

    /// Returns a shortest path through the chain to the program `member`: the indices of the
    /// programs before it, in order, each with the return codes with which it passes packets on.
    /// Raises `Error` if the programs of a dispatcher cannot be ordered.
    fn way_to(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        member: usize,
    ) -> PyResult<Vec<(usize, Vec<u32>)>> {
        let loaded = loaded(py, objects)?;
        self.inner.shortest_path_to(&loaded, member).map_err(|error| wrong(py, &error))
    }

    /// Returns the objects with new values of variables and read-only data. `variables` has texts
    /// such as `NAME=VALUE` or `PROGRAM:NAME=VALUE`. Read-only data come from `maps`, the text of a
    /// file with map content. Raises `Error` if a variable is unknown or a value does not fit.
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

    /// Converts map content for the whole chain to JSON text, in the form that the `maps` of a
    /// witness have. `text` is a file with map content. Raises `Error` if the text cannot be read.
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

    /// Collects facts and map content that are known before the first program runs. `assumed` has
    /// facts, in words, about packets that arrive at this program. `maps` is the text of a file
    /// with the content of the maps `frozen`. The maps `generations` contain zero, which says that
    /// no one has changed a frozen map. A map is given by the index of its program and its name in
    /// the object. Raises `Error` if facts or text cannot be read.
    fn known_start(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        assumed: Vec<String>,
        maps: &str,
        frozen: BTreeSet<MemberMap>,
        generations: Vec<MemberMap>,
    ) -> PyResult<KnownStart> {
        let loaded = loaded(py, objects)?;
        let first = slowpath_chain::parse_facts(&assumed)
            .map_err(|why| errors::exception(py, &Error::Input(codes::INVALID_FACTS, why)))?;
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

    /// Derives facts about the packets that arrive at each program, and optionally rewrites the
    /// programs for these facts. Returns an iterator over the results so far.
    ///
    /// `objects` has the object of each program and the index of the program in the object. `how`
    /// has three parts: the mode (`trust`, `guard`, or `None` for no rewriting), the name of the
    /// fused program to build, and true to request control-flow graphs. `stop` ends the work with
    /// the results so far. `assumed` are facts about packets that arrive at the first program.
    /// `maps` is the text of a file with content of frozen maps, and `receive` names the
    /// environment in which packets arrive. Raises `Error` if a program cannot be linked, or an
    /// argument is invalid.
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
        options.first = slowpath_chain::parse_facts(&assumed)
            .map_err(|why| errors::exception(py, &Error::Input(codes::INVALID_FACTS, why)))?;
        if let Some(maps) = maps {
            let read = slowpath_chain::frozen::read_contents(&self.inner, &loaded, &maps);
            options.contents = read.map_err(|error| errors::exception(py, &error))?;
        }
        if let Some(name) = receive {
            let read = options.receiving(&name);
            options = read
                .map_err(|why| errors::exception(py, &Error::Option(codes::INVALID_VALUE, why)))?;
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

/// A chain that is being rewritten. Iterating yields all results so far whenever there are new
/// results, and `None` if there are none for a while. Raises `Error` if a program cannot be linked.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Rewriting {
    running: Running<Said>,
}

/// Message of a rewriting: the results so far, or the error that ended it.
type Said = Result<Message, slowpath_chain::ChainError>;

/// Results converted for Python, or the error of the conversion.
type Message = Result<Rewritten, String>;

fn message(rewritten: &slowpath_chain::Rewritten, graphs: bool) -> Message {
    let text = serde_json::to_string(&rewritten.report).map_err(|error| error.to_string())?;
    let covers = rewritten.test_inputs.iter().map(|covers| covered(covers)).collect();
    let graphs = graphs.then(|| serde_json::to_string(&rewritten.graphs)).transpose();
    let graphs = graphs.map_err(|error| error.to_string())?;
    Ok((text, rewritten.objects.clone(), fused(rewritten), covers, graphs))
}

fn fused(rewritten: &slowpath_chain::Rewritten) -> Option<Fused> {
    let bytes = rewritten.fused.clone()?;
    let covers = covered(&rewritten.fused_test_inputs);
    Some(match rewritten.apart.clone()? {
        Ok(Unfused { bytes: apart, entry, maps }) => (bytes, Some(apart), entry, maps, covers),
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

/// A chain; the objects of its programs, each with the index of its program in the object; and the
/// index of one program in the chain.
type Behind = (Py<Chain>, Vec<(Py<Object>, usize)>, usize);

/// Compares two programs, each given by an object and its index in the object. The packets satisfy
/// the facts `assumed` and arrive in the environment `receive`. Returns the result as JSON text
/// (`slowpath_chain::verify::VerifyReport`). With `behind`, both programs take the place of one
/// program of a chain. The facts are then about packets at the first program of the chain. Raises
/// `Error` if a program cannot be linked or analysed. `stop` ends the work with the results so far.
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
    let first = slowpath_chain::parse_facts(&assumed)
        .map_err(|why| errors::exception(py, &Error::Input(codes::INVALID_FACTS, why)))?;
    let mut options = RewriteOptions { first, ..RewriteOptions::default() };
    if let Some(name) = receive {
        let read = options.receiving(name);
        options =
            read.map_err(|why| errors::exception(py, &Error::Option(codes::INVALID_VALUE, why)))?;
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
                let found = ChainContext::in_chain(chain, members, *member, &options, stop);
                found.map_err(|error| (error.code(), error.to_string()))?
            }
            None => ChainContext::of(&options),
        };
        slowpath_chain::verify::verify([&both[0], &both[1]], &place, kernel_types, stop)
            .map_err(|error| (error.code(), error.to_string()))
    })?;
    let report = done.map_err(|(code, error)| errors::exception(py, &Error::Input(code, error)))?;
    serde_json::to_string(&report).map_err(|error| errors::defect(py, &error))
}

/// Converts objects, each with the index of a program in it, to programs that can be part of a
/// chain. Raises `Error` if a file is a listing, or a program has an unsupported type.
fn loaded(py: Python<'_>, objects: Vec<(Py<Object>, usize)>) -> PyResult<Vec<Loaded>> {
    let loaded = |(object, program): (Py<Object>, usize)| {
        let object: Option<Arc<_>> = object.get().shared().object();
        let object = object.ok_or_else(|| {
            let what = "a listing cannot be part of a chain; programs must be BPF objects";
            errors::exception(py, &Error::Input(codes::CHAIN_MEMBER_LISTING, what.to_owned()))
        })?;
        let wrong = |what| Error::Input(codes::UNSUPPORTED_PROGRAM_TYPE, what);
        Loaded::new(object, program).map_err(|what| errors::exception(py, &wrong(what)))
    };
    objects.into_iter().map(loaded).collect()
}

/// Formats test inputs as JSON text: packets in hexadecimal, each with map content.
fn covered(covers: &[TestInput]) -> String {
    let one = |cover: &TestInput| {
        let packet: String = cover.packet.iter().map(|byte| format!("{byte:02x}")).collect();
        json!([packet, cover.maps])
    };
    covers.iter().map(one).collect::<Value>().to_string()
}

fn wrong(py: Python<'_>, error: &slowpath_chain::ChainError) -> PyErr {
    errors::exception(py, &Error::Input(error.code(), error.to_string()))
}
