//! Reads the functions of object files, which need not contain BPF programs, and describes their
//! instructions as tokens.

use crate::errors;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use slowpath::tokens;
use std::collections::{BTreeMap, BTreeSet};

/// A fact about an argument of a function, or about the result of a function.
#[pyclass(frozen, from_py_object, module = "slowpath._core")]
#[derive(Clone, Copy)]
pub struct Given {
    inner: tokens::Given,
}

impl Given {
    fn of(inner: tokens::Given) -> Self {
        Given { inner }
    }
}

#[pymethods]
impl Given {
    /// States that the value is a number of at most `bits` bits.
    #[staticmethod]
    fn number(bits: u32) -> Self {
        Given::of(tokens::Given::Number(bits))
    }

    /// States that the value is the context of an XDP program; `data` and `data_end` are the
    /// offsets of the fields for the packet's start and end.
    #[staticmethod]
    fn context(data: i64, data_end: i64) -> Self {
        Given::of(tokens::Given::Context { data, end: data_end })
    }

    /// States that the value is a pointer to an object that describes a packet.
    #[staticmethod]
    fn descriptor() -> Self {
        Given::of(tokens::Given::Descriptor)
    }

    /// States that the value is a pointer into the packet.
    #[staticmethod]
    fn packet() -> Self {
        Given::of(tokens::Given::Packet)
    }

    /// States that the value is a pointer to the function's state.
    #[staticmethod]
    fn state() -> Self {
        Given::of(tokens::Given::State)
    }

    /// States that the value is a pointer to unknown memory.
    #[staticmethod]
    fn unknown() -> Self {
        Given::of(tokens::Given::Unknown)
    }

    /// States that the value is a number, not a pointer to the device's memory.
    #[staticmethod]
    fn verdict() -> Self {
        Given::of(tokens::Given::Verdict)
    }
}

/// The functions of an object. Raises `Error` if it cannot be read.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Functions {
    inner: slowpath::UnlinkedObject,
}

/// Description of an instruction, in three parts: a list of words, beginning with the operation; a
/// number of SmartNIC instructions; and the kind of memory that the instruction accesses, or an
/// empty text. The number counts only SmartNIC instructions that can be computed from access
/// lengths and stack offsets.
type Token = (Vec<String>, u32, &'static str);

#[pymethods]
impl Functions {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let read = py.detach(|| slowpath::UnlinkedObject::parse(data));
        let inner = read.map_err(|error| errors::exception(py, &error.into()))?;
        Ok(Functions { inner })
    }

    /// Returns the function `entry` and those functions in `own` that it calls, each with its name
    /// and its instructions. `arguments` has facts about the arguments of `entry`. `results` has
    /// facts about the results of functions that are not in `own`. Raises `KeyError` if the object
    /// has no function `entry`.
    fn tokens(
        &self,
        py: Python<'_>,
        entry: &str,
        arguments: Vec<Given>,
        own: BTreeSet<String>,
        results: BTreeMap<String, Given>,
    ) -> PyResult<Vec<(String, Vec<Token>)>> {
        let results = results.into_iter().map(|(name, given)| (name, given.inner)).collect();
        let arguments: Vec<tokens::Given> =
            arguments.into_iter().map(|given| given.inner).collect();
        let found = py.detach(|| {
            let program = self.inner.program(entry, &|name| own.contains(name))?;
            Some(tokens::describe(&program, &arguments, &results))
        });
        let found = found.ok_or_else(|| PyKeyError::new_err(entry.to_owned()))?;
        let token =
            |token: tokens::Token| (token.words, token.pieces, token.pointee.unwrap_or_default());
        let function = |(name, tokens): (String, Vec<tokens::Token>)| {
            (name, tokens.into_iter().map(token).collect())
        };
        Ok(found.into_iter().map(function).collect())
    }
}
