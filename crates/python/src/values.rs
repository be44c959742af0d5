//! Converts plain data between Rust and Python: `None`, numbers, strings, lists and dictionaries.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Converts a Python dictionary into a structure with fields of the same names. Raises `TypeError`
/// for unknown fields, and for values of other types.
pub fn from_table<T: DeserializeOwned>(table: &Bound<'_, PyDict>) -> PyResult<T> {
    serde_json::from_value(to_json(table)?).map_err(|error| PyTypeError::new_err(error.to_string()))
}

/// Converts a structure into Python data.
pub fn to_python(py: Python<'_>, value: &impl Serialize) -> PyResult<Py<PyAny>> {
    let value = serde_json::to_value(value);
    from_json(py, &value.map_err(|error| PyTypeError::new_err(error.to_string()))?)
}

fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        Ok(Value::Null)
    } else if value.is_instance_of::<PyBool>() {
        Ok(value.extract::<bool>()?.into())
    } else if value.is_instance_of::<PyInt>() {
        Ok(value.extract::<u64>()?.into())
    } else if value.is_instance_of::<PyFloat>() {
        Ok(value.extract::<f64>()?.into())
    } else if value.is_instance_of::<PyString>() {
        Ok(value.extract::<String>()?.into())
    } else if let Ok(list) = value.cast::<PyList>() {
        list.iter().map(|item| to_json(&item)).collect::<PyResult<Vec<_>>>().map(Value::from)
    } else {
        let pairs = value.cast::<PyDict>()?.iter();
        let pair = |(name, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((name.extract::<String>()?, to_json(&item)?))
        };
        pairs.map(pair).collect::<PyResult<Map<_, _>>>().map(Value::from)
    }
}

fn from_json(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(value) => value.into_py_any(py),
        Value::Number(number) => match number.as_u64() {
            Some(number) => number.into_py_any(py),
            None => number.as_f64().into_py_any(py),
        },
        Value::String(text) => text.into_py_any(py),
        Value::Array(items) => {
            let items = items.iter().map(|item| from_json(py, item));
            items.collect::<PyResult<Vec<_>>>()?.into_py_any(py)
        }
        Value::Object(fields) => {
            let table = PyDict::new(py);
            for (name, value) in fields {
                table.set_item(name, from_json(py, value)?)?;
            }
            table.into_py_any(py)
        }
    }
}
