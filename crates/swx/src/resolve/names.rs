//! Resolves the names that a file declares, and the fields that they denote.

use std::collections::HashMap;

use slowpath_codes as codes;

use crate::code::{Base, Place, Value};
use crate::error::SpecError;
use crate::spec::{Action, FieldRef, Line, Operand, Spec, Struct};

pub fn fault(line: Line, message: impl std::fmt::Display) -> SpecError {
    SpecError::new(codes::SWX_NAME, line, message)
}

pub fn unsupported(line: Line, message: impl std::fmt::Display) -> SpecError {
    SpecError::new(codes::SWX_UNSUPPORTED, line, message)
}

/// Creates an error about a name that the file does not declare. `what` is the kind of the named
/// object, such as a table.
pub fn unknown(line: Line, what: &str, name: &str) -> SpecError {
    fault(line, format!("the file declares no {what} '{name}'; declare it or correct the name"))
}

pub type Numbers<'a> = HashMap<&'a str, usize>;
pub type Within<'a> = Option<(usize, &'a Action)>;

/// Names that a file declares, by kind.
pub struct Names<'a> {
    pub spec: &'a Spec,
    pub structs: HashMap<&'a str, &'a Struct>,
    pub headers: Numbers<'a>,
    pub metadata: Option<&'a Struct>,
    pub actions: Numbers<'a>,
    pub registers: Numbers<'a>,
    pub meters: Numbers<'a>,
    /// Indices of tables, then selectors, then learners.
    pub tables: Numbers<'a>,
}

/// Assigns an index to each name of a kind. Returns an error if a name occurs twice.
pub fn numbered<'a>(
    what: &str,
    names: impl Iterator<Item = (&'a String, Line)>,
) -> Result<Numbers<'a>, SpecError> {
    let mut numbers = HashMap::new();
    for (index, (name, line)) in names.enumerate() {
        if numbers.insert(name.as_str(), index).is_some() {
            return Err(fault(line, format!("the {what} '{name}' is declared twice; rename one")));
        }
    }
    Ok(numbers)
}

impl<'a> Names<'a> {
    pub fn new(spec: &'a Spec) -> Result<Names<'a>, SpecError> {
        numbered("struct", spec.structs.iter().map(|one| (&one.name, one.line)))?;
        let structs: HashMap<&str, &Struct> =
            spec.structs.iter().map(|one| (one.name.as_str(), one)).collect();
        for one in &spec.structs {
            numbered("field", one.fields.iter().map(|field| (&field.name, field.line)))?;
            if one.fields.is_empty() {
                let what = format!("the struct '{}' has no fields; add one", one.name);
                return Err(fault(one.line, what));
            }
        }
        let kind = |line, name: &str| {
            structs.get(name).copied().ok_or_else(|| unknown(line, "struct", name))
        };
        let headers = numbered("header", spec.headers.iter().map(|one| (&one.name, one.line)))?;
        for header in &spec.headers {
            kind(header.line, &header.kind)?;
        }
        if let Some(header) = spec.headers.get(64) {
            return Err(fault(header.line, "DPDK supports at most 64 headers; remove others"));
        }
        let metadata = match &spec.metadata {
            Some(metadata) => Some(kind(metadata.line, &metadata.kind)?),
            None => None,
        };
        for action in &spec.actions {
            if let Some(data) = &action.data
                && kind(action.line, data)?.variable
            {
                let what = format!("action data '{data}' has a varbit field; give it a width");
                return Err(fault(action.line, what));
            }
        }
        let tables = spec.tables.iter().map(|one| (&one.name, one.line));
        let tables = tables.chain(spec.selectors.iter().map(|one| (&one.name, one.line)));
        let tables = tables.chain(spec.learners.iter().map(|one| (&one.name, one.line)));
        let arrays = spec.register_arrays.iter().map(|one| (&one.name, one.line));
        Ok(Names {
            spec,
            headers,
            metadata,
            actions: numbered("action", spec.actions.iter().map(|one| (&one.name, one.line)))?,
            registers: numbered("register array", arrays)?,
            meters: numbered(
                "meter array",
                spec.meter_arrays.iter().map(|one| (&one.name, one.line)),
            )?,
            tables: numbered("table", tables)?,
            structs,
        })
    }

    pub fn number(
        numbers: &Numbers<'_>,
        what: &str,
        line: Line,
        name: &str,
    ) -> Result<usize, SpecError> {
        numbers.get(name).copied().ok_or_else(|| unknown(line, what, name))
    }

    pub fn header(&self, line: Line, name: &str) -> Result<usize, SpecError> {
        Names::number(&self.headers, "header", line, name)
    }

    pub fn header_kind(&self, header: usize) -> &'a Struct {
        self.structs[self.spec.headers[header].kind.as_str()]
    }

    /// Resolves a field of any width. `within` is the action that contains the instruction, with
    /// its index.
    pub fn wide(&self, line: Line, field: &FieldRef, within: Within) -> Result<Place, SpecError> {
        let (base, kind, name) = match field {
            FieldRef::Header { header, field } => {
                let header = self.header(line, header)?;
                (Base::Header(header), Some(self.header_kind(header)), field)
            }
            FieldRef::Meta(field) => (Base::Meta, self.metadata, field),
            FieldRef::Data(field) => {
                let data = within.and_then(|(_, action)| action.data.as_deref());
                (Base::Data, data.map(|data| self.structs[data]), field)
            }
            FieldRef::Object { .. } | FieldRef::Function { .. } => {
                return Err(unsupported(
                    line,
                    format!(
                        "'{field}' belongs to C code that slowpath cannot read; remove the call"
                    ),
                ));
            }
        };
        let found = kind.and_then(|kind| Some((kind, kind.field(name)?)));
        let Some((kind, (declared, offset))) = found else {
            return Err(unknown(line, "field", &field.to_string()));
        };
        let last = kind.fields.last().map(|last| &last.name);
        if kind.variable && last == Some(name) {
            let what = format!("'{field}' is a varbit field, which instructions cannot name");
            return Err(fault(line, what));
        }
        Ok(Place { base, offset: offset / 8, bytes: declared.bits / 8 })
    }

    /// Resolves a field of at most 64 bits.
    pub fn field(&self, line: Line, field: &FieldRef, within: Within) -> Result<Place, SpecError> {
        let place = self.wide(line, field, within)?;
        if place.bytes > 8 {
            let bits = 8 * place.bytes;
            let what = format!("'{field}' has {bits} bits; the instruction takes at most 64");
            return Err(fault(line, what));
        }
        Ok(place)
    }

    /// Resolves a field of at most 64 bits that an instruction writes. Action data cannot be
    /// written.
    pub fn target(&self, line: Line, field: &FieldRef) -> Result<Place, SpecError> {
        self.field(line, field, None)
    }

    pub fn meta(&self, line: Line, name: &str) -> Result<Place, SpecError> {
        self.field(line, &FieldRef::Meta(name.to_owned()), None)
    }

    pub fn value(&self, line: Line, operand: &Operand, within: Within) -> Result<Value, SpecError> {
        Ok(match operand {
            Operand::Field(field) => Value::Field(self.field(line, field, within)?),
            Operand::Immediate(value) => Value::Number(*value),
        })
    }

    /// Resolves the index into an array. DPDK keeps the low 32 bits of a constant index.
    pub fn index(&self, line: Line, operand: &Operand, within: Within) -> Result<Value, SpecError> {
        Ok(match self.value(line, operand, within)? {
            Value::Number(value) => Value::Number(value & 0xffff_ffff),
            field @ Value::Field(_) => field,
        })
    }
}
