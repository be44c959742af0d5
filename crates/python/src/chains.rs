//! Chains of programs: what a description names, and its objects as one file.

use crate::errors;
use crate::objects::{Btf, Object};
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use slowpath::Error;
use slowpath_chain::{Loaded, RewriteOptions};
use slowpath_specialise::Mode;
use std::sync::Arc;

/// A chain of programs, as its description has it. Raises `Error` when that is none.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Chain {
    inner: slowpath_chain::Chain,
}

/// The name of a program in a chain, its file, and its name there, if that is said.
type Member = (String, String, Option<String>);

/// A report as JSON text, the objects of rewritten programs, and the one of all programs as one.
type Rewritten = (String, Vec<Option<Vec<u8>>>, Option<Vec<u8>>);

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

    /// The devices that programs run on, in the order of the programs.
    #[getter]
    fn devices(&self) -> Vec<Option<String>> {
        self.inner.devices().into_iter().map(|device| device.map(str::to_owned)).collect()
    }

    #[pyo3(signature = (name, objects, device=None))]
    /// One file of the objects of all programs, each with the number of its program there; of several
    /// devices, the work of one counts. Raises `Error` when they do not fit together.
    fn combine(
        &self,
        py: Python<'_>,
        name: &str,
        objects: Vec<(Py<Object>, usize)>,
        device: Option<&str>,
    ) -> PyResult<Object> {
        let loaded = loaded(py, objects)?;
        let file = self.inner.combine(name, &loaded, device).map_err(|error| wrong(py, &error))?;
        Ok(Object::of(file))
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

    /// What a file with content of maps says as the `maps` of a witness of the whole chain, as JSON
    /// text. Raises `Error` when it cannot be read.
    fn start_maps(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        text: &str,
    ) -> PyResult<String> {
        let loaded = loaded(py, objects)?;
        let joined = slowpath_chain::frozen::joined(&self.inner, &loaded);
        let joined = joined.map_err(|error| wrong(py, &error))?;
        let maps = slowpath::start_maps(text, &joined.object);
        Ok(maps.map_err(|error| errors::exception(py, &error))?.to_string())
    }

    /// What holds of packets that arrive at each program, as JSON text, and where programs are
    /// rewritten for it the objects to load instead, in the order of the description. `mode` is
    /// `trust` or `guard`, or `None` where nothing is rewritten. `stop` ends it with what is known by
    /// then; `fuse` is what all programs as one are called, if they are to become one. `assumed` are
    /// facts about packets that arrive at the first program, `maps` the text of a file with content of
    /// maps that is frozen. Raises `Error` when a program cannot be linked, and when these cannot be
    /// read.
    #[pyo3(signature = (objects, mode, fuse, btf, stop, assumed=Vec::new(), maps=None))]
    #[allow(clippy::too_many_arguments, reason = "arguments of the Python function")]
    fn rewrite(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize)>,
        mode: Option<&str>,
        fuse: Option<String>,
        btf: Option<Py<Btf>>,
        stop: &Stop,
        assumed: Vec<String>,
        maps: Option<String>,
    ) -> PyResult<Rewritten> {
        let loaded = loaded(py, objects)?;
        let mode = match mode {
            Some("trust") => Some(Mode::Trust),
            Some(_) => Some(Mode::Guard),
            None => None,
        };
        let mut options = RewriteOptions { mode, fuse, ..RewriteOptions::default() };
        options.first = slowpath_chain::assumed(&assumed)
            .map_err(|why| errors::exception(py, &Error::Input(why)))?;
        if let Some(maps) = maps {
            let read = slowpath_chain::frozen::read_contents(&self.inner, &loaded, &maps);
            options.contents = read.map_err(|error| errors::exception(py, &error))?;
        }
        options.lift.kernel_types = btf.map(|btf| btf.get().shared().shared());
        let chain = self.inner.clone();
        let work = move |stop: &slowpath::Stop| {
            slowpath_chain::rewrite(&chain, &loaded, &options, stop, |_| ())
        };
        let rewritten = worker::run(py, stop, work)?.map_err(|error| wrong(py, &error))?;
        let text = serde_json::to_string(&rewritten.report);
        Ok((text.map_err(|error| errors::defect(py, &error))?, rewritten.objects, rewritten.fused))
    }
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

fn wrong(py: Python<'_>, error: &slowpath_chain::ChainError) -> PyErr {
    errors::exception(py, &Error::Input(error.to_string()))
}
