//! Chains of programs: what a description names, and its objects as one file.

use crate::errors;
use crate::objects::Object;
use pyo3::prelude::*;
use slowpath::Error;
use slowpath_chain::Loaded;
use std::sync::Arc;

/// A chain of programs, as its description has it. Raises `Error` when that is none.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Chain {
    inner: slowpath_chain::Chain,
}

/// The name of a program in a chain, its file, and its name there, if that is said.
type Member = (String, String, Option<String>);

#[pymethods]
impl Chain {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let inner = slowpath_chain::Chain::parse(text).map_err(|error| wrong(py, &error))?;
        Ok(Chain { inner })
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
        let loaded = |(object, program): (Py<Object>, usize)| {
            let object: Option<Arc<_>> = object.get().shared().object();
            let object = object.ok_or_else(|| {
                let what = "a listing is no part of a chain; the programs are BPF objects";
                errors::exception(py, &Error::Input(what.to_owned()))
            })?;
            Ok(Loaded { object, program })
        };
        let loaded = objects.into_iter().map(loaded).collect::<PyResult<Vec<_>>>()?;
        let file = self.inner.combine(name, &loaded, device).map_err(|error| wrong(py, &error))?;
        Ok(Object::of(file))
    }
}

fn wrong(py: Python<'_>, error: &slowpath_chain::ChainError) -> PyErr {
    errors::exception(py, &Error::Input(error.to_string()))
}
