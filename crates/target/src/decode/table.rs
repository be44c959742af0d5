//! Reads the keys of a TOML table with the expected types, and collects all problems of the table.

use super::decimal::{DecimalError, scaled_ceil};
use super::problem::Problems;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML table, its path in the file, and the keys that were requested so far.
pub(super) struct Table<'t> {
    /// Path of the table, such as `component[0]`; empty for the document itself.
    path: String,
    entries: &'t DeTable<'t>,
    span: Range<usize>,
    requested: BTreeSet<String>,
}

impl<'t> Table<'t> {
    pub(super) fn new(path: String, entries: &'t DeTable<'t>, span: Range<usize>) -> Self {
        Table { path, entries, span, requested: BTreeSet::new() }
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns the full path to a key of the table, such as `component[0].name`, for messages.
    pub(super) fn key(&self, key: &str) -> String {
        let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        let quoted = match key.bytes().all(bare) && !key.is_empty() {
            true => key.to_owned(),
            false => format!("{key:?}"),
        };
        match self.path.is_empty() {
            true => quoted,
            false => format!("{}.{quoted}", self.path),
        }
    }

    /// Returns all keys and values of the table, for tables whose keys are names that the user
    /// chooses.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'t str, &'t Spanned<DeValue<'t>>)> {
        self.entries.iter().map(|(key, value)| (key.get_ref().as_ref(), value))
    }

    /// Returns the value of a key, or `None` if the key is absent.
    pub(super) fn optional(&mut self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.requested.insert(key.to_owned());
        self.entries.get(key)
    }

    pub(super) fn required(
        &mut self,
        key: &str,
        problems: &mut Problems<'_>,
    ) -> Option<&'t Spanned<DeValue<'t>>> {
        let value = self.optional(key);
        if value.is_none() {
            problems.error(self.span(), format!("`{}` is missing", self.key(key)));
        }
        value
    }

    /// Reads a required key whose value is a string that is not empty.
    pub(super) fn string(&mut self, key: &str, problems: &mut Problems<'_>) -> Option<&'t str> {
        let value = self.required(key, problems)?;
        let text = value.get_ref().as_str();
        match text {
            Some(text) if !text.trim().is_empty() => Some(text),
            Some(_) => {
                problems.error(value.span(), format!("`{}` is empty", self.key(key)));
                None
            }
            None => self.wrong_type(key, value, "a string", problems),
        }
    }

    /// Reads a list of strings from a key that may be absent.
    pub(super) fn strings(
        &mut self,
        key: &str,
        problems: &mut Problems<'_>,
    ) -> Option<Vec<&'t str>> {
        let value = self.optional(key)?;
        let items = value.get_ref().as_array().map(|array| {
            array.iter().map(|item| item.get_ref().as_str()).collect::<Option<Vec<_>>>()
        });
        match items.flatten() {
            Some(items) => Some(items),
            None => self.wrong_type(key, value, "a list of strings", problems),
        }
    }

    /// Reads a boolean from a key that may be absent.
    pub(super) fn flag(&mut self, key: &str, problems: &mut Problems<'_>) -> Option<bool> {
        let value = self.optional(key)?;
        match value.get_ref().as_bool() {
            Some(flag) => Some(flag),
            None => self.wrong_type(key, value, "true or false", problems),
        }
    }

    /// Reads a required key whose value is a whole number in `range`.
    pub(super) fn integer(
        &mut self,
        key: &str,
        range: RangeInclusive<u64>,
        problems: &mut Problems<'_>,
    ) -> Option<u64> {
        let value = self.required(key, problems)?;
        whole(&self.key(key), value, range, problems)
    }

    /// Reads a required key whose value is a table.
    pub(super) fn table(&mut self, key: &str, problems: &mut Problems<'_>) -> Option<Table<'t>> {
        let value = self.required(key, problems)?;
        as_table(self.key(key), value, problems)
    }

    /// Reads a key that may be absent and whose value is a table.
    pub(super) fn optional_table(
        &mut self,
        key: &str,
        problems: &mut Problems<'_>,
    ) -> Option<Table<'t>> {
        let value = self.optional(key)?;
        as_table(self.key(key), value, problems)
    }

    /// Reads the tables of the array `[[key]]`; none if the key is absent.
    pub(super) fn tables(&mut self, key: &str, problems: &mut Problems<'_>) -> Vec<Table<'t>> {
        let Some(value) = self.optional(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type::<()>(key, value, "a list of tables (`[[…]]`)", problems);
            return Vec::new();
        };
        let name = self.key(key);
        let items = array.iter().enumerate();
        items
            .filter_map(|(index, item)| as_table(format!("{name}[{index}]"), item, problems))
            .collect()
    }

    /// Adds a problem for every key of the table that the decoder never requested, because such a
    /// key is unknown.
    pub(super) fn finish(self, problems: &mut Problems<'_>) {
        for (key, _) in self.entries.iter() {
            let name: &str = key.get_ref();
            if self.requested.contains(name) {
                continue;
            }
            let path = self.key(name);
            let with_unit = self
                .requested
                .iter()
                .find(|k| k.strip_prefix(name).is_some_and(|r| r.starts_with('_')));
            let hint = match with_unit {
                Some(key) => format!("the name of a key ends in its unit: `{key}`"),
                None => {
                    let keys: Vec<_> = self.requested.iter().map(|k| format!("`{k}`")).collect();
                    format!("known keys here are {}", keys.join(", "))
                }
            };
            problems.error(key.span(), format!("unknown key `{path}`; {hint}"));
        }
    }

    fn wrong_type<T>(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        expected: &str,
        problems: &mut Problems<'_>,
    ) -> Option<T> {
        wrong_type(&self.key(key), value, expected, problems)
    }
}

fn wrong_type<T>(
    path: &str,
    value: &Spanned<DeValue<'_>>,
    expected: &str,
    problems: &mut Problems<'_>,
) -> Option<T> {
    let found = value.get_ref().type_str();
    problems.error(value.span(), format!("`{path}` must be {expected}, not of type {found}"));
    None
}

/// Converts a value to a table. Returns `None`, and adds a problem, if the value has another type.
pub(super) fn as_table<'t>(
    path: String,
    value: &'t Spanned<DeValue<'t>>,
    problems: &mut Problems<'_>,
) -> Option<Table<'t>> {
    match value.get_ref().as_table() {
        Some(entries) => Some(Table::new(path, entries, value.span())),
        None => wrong_type(&path, value, "a table", problems),
    }
}

/// Converts a value to a whole number in `range`. Returns `None`, and adds a problem, if that is
/// impossible.
pub(super) fn whole(
    path: &str,
    value: &Spanned<DeValue<'_>>,
    range: RangeInclusive<u64>,
    problems: &mut Problems<'_>,
) -> Option<u64> {
    let Some(integer) = value.get_ref().as_integer() else {
        return wrong_type(path, value, "a whole number", problems);
    };
    match u64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) if range.contains(&number) => Some(number),
        _ => {
            let (low, high) = range.into_inner();
            problems.error(
                value.span(),
                format!("`{path}` must be between {low} and {high}, not {integer}"),
            );
            None
        }
    }
}

/// Converts a TOML integer or float, multiplied by 10^`scale` and rounded up, to an integer.
/// Returns `None`, and adds a problem, if the value is not a suitable number.
pub(super) fn scaled(
    path: &str,
    value: &Spanned<DeValue<'_>>,
    scale: u32,
    problems: &mut Problems<'_>,
) -> Option<u64> {
    let parsed = match value.get_ref() {
        DeValue::Float(float) => scaled_ceil(float.as_str(), scale),
        DeValue::Integer(integer) => {
            match i128::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) => scaled_ceil(&number.to_string(), scale),
                Err(_) => Err(DecimalError::TooLarge),
            }
        }
        _ => return wrong_type(path, value, "a number", problems),
    };
    match parsed {
        Ok(number) => Some(number),
        Err(error) => {
            problems.error(value.span(), format!("`{path}` {}", error.text()));
            None
        }
    }
}
