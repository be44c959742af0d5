//! Resolves tables: their keys, and the possible results of lookups.

use super::names::{Names, fault, unknown};
use crate::code::{Lookup, Outcome, Place};
use crate::error::SpecError;
use crate::spec::{
    ActionRef, DefaultAction, FieldRef, Learner, Line, Match, Op, Selector, Table, Use,
};

impl Names<'_> {
    /// Checks the fields of a key: all belong to one header or to the metadata, and none occurs
    /// twice. Returns a flag that is true if the fields are adjacent, and the number of bytes from
    /// the first to the last field.
    fn key<'k>(
        &self,
        fields: impl Iterator<Item = (Line, &'k FieldRef)>,
    ) -> Result<(bool, u32), SpecError> {
        let mut places: Vec<Place> = Vec::new();
        for (line, field) in fields {
            let place = self.wide(line, field, None)?;
            if places.first().is_some_and(|first| first.base != place.base) {
                return Err(fault(
                    line,
                    format!("'{field}' is not of the same header as the rest"),
                ));
            }
            if places.iter().any(|other| other.offset == place.offset) {
                return Err(fault(line, format!("'{field}' occurs twice in the key; keep one")));
            }
            places.push(place);
        }
        let followed = places
            .iter()
            .filter(|place| places.iter().any(|other| other.offset == place.offset + place.bytes));
        let first = places.iter().map(|place| place.offset).min().unwrap_or(0);
        let end = places.iter().map(|place| place.offset + place.bytes).max().unwrap_or(0);
        Ok((followed.count() + 1 == places.len(), end - first))
    }

    /// Returns an error for an unknown hash function.
    pub fn hash(&self, line: Line, name: Option<&str>) -> Result<(), SpecError> {
        match name {
            None | Some("jhash" | "crc32") => Ok(()),
            Some(name) => Err(unknown(line, "hash function", name)),
        }
    }

    /// Returns the location of the field that a selector writes.
    pub fn selector(&self, selector: &Selector) -> Result<Place, SpecError> {
        let line = selector.line;
        self.meta(line, &selector.group)?;
        self.key(selector.fields.iter().map(|field| (line, field)))?;
        if selector.fields.is_empty() || selector.groups == 0 || selector.members == 0 {
            return Err(fault(line, "a selector needs fields, groups and members; add them"));
        }
        // DPDK writes 4 bytes whatever the width of the field.
        Ok(Place { bytes: 4, ..self.meta(line, &selector.member)? })
    }

    /// Resolves a table, and lists the possible results of its lookups.
    pub fn table(&self, table: &Table) -> Result<Lookup, SpecError> {
        let (adjoining, key_bytes) =
            self.key(table.key.iter().map(|key| (key.line, &key.field)))?;
        self.hash(table.line, table.hash.as_deref())?;
        let has = |kind| table.key.iter().any(|key| key.kind == kind);
        let exact = table.key.iter().filter(|key| key.kind == Match::Exact).count();
        if has(Match::Lpm) && exact + 1 != table.key.len() {
            let what = "a key with an lpm field has only exact fields beside it; change the rest";
            return Err(fault(table.line, what));
        }
        let kind = match table.key.as_slice() {
            [] => "none",
            _ if has(Match::Lpm) => "lpm",
            // DPDK looks up keys with a gap in a wildcard table.
            _ if has(Match::Wildcard) || !adjoining => "wildcard",
            _ => "exact",
        };
        let mut outcomes = Vec::new();
        if !table.key.is_empty() {
            for action in self.used(&table.actions, Use::DefaultOnly)? {
                outcomes.push(Outcome { hit: true, action, data: None });
            }
        }
        self.misses(&table.actions, &table.default_action, &mut outcomes)?;
        let (name, size) = (table.name.clone(), table.size);
        Ok(Lookup { name, kind, key_bytes, size, outcomes })
    }

    /// Resolves a learner, and lists the possible results of its lookups. An entry can have any
    /// action that the learner's actions add with `learn`.
    pub fn learner(&self, learner: &Learner) -> Result<Lookup, SpecError> {
        let line = learner.line;
        let (adjoining, key_bytes) = self.key(learner.key.iter().map(|field| (line, field)))?;
        if !adjoining {
            return Err(fault(line, "the fields of the key have a gap; use neighbouring fields"));
        }
        self.hash(line, learner.hash.as_deref())?;
        if learner.size == 0 || !(1..=16).contains(&learner.timeouts.len()) {
            return Err(fault(line, "a learner needs a size, and 1 to 16 timeouts; correct them"));
        }
        let usable = self.used(&learner.actions, Use::DefaultOnly)?;
        let all = learner.actions.iter().filter_map(|one| self.actions.get(one.name.as_str()));
        let learnt: Vec<&str> = all
            .flat_map(|&action| &self.spec.actions[action].instructions)
            .filter_map(|instruction| match &instruction.op {
                Op::Learn { action, .. } => Some(action.as_str()),
                _ => None,
            })
            .collect();
        let named = |name: &&str| learner.actions.iter().any(|action| action.name == **name);
        if let Some(other) = learnt.iter().find(|name| !named(name)) {
            return Err(fault(line, format!("the learner does not have the action '{other}'")));
        }
        let mut outcomes = Vec::new();
        for action in usable {
            if learnt.contains(&self.spec.actions[action].name.as_str()) {
                outcomes.push(Outcome { hit: true, action, data: None });
            }
        }
        self.misses(&learner.actions, &learner.default_action, &mut outcomes)?;
        let (name, size) = (learner.name.clone(), learner.size);
        Ok(Lookup { name, kind: "learner", key_bytes, size, outcomes })
    }

    /// Returns the indices of the actions in `actions`, except those that only entries of the kind
    /// `except` may use.
    fn used(&self, actions: &[ActionRef], except: Use) -> Result<Vec<usize>, SpecError> {
        let number = |one: &ActionRef| Names::number(&self.actions, "action", one.line, &one.name);
        actions.iter().filter(|one| one.used != except).map(number).collect()
    }

    /// Appends the possible results of a miss. If the default action is not constant, the control
    /// plane can replace it by another action.
    fn misses(
        &self,
        actions: &[ActionRef],
        default: &DefaultAction,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), SpecError> {
        let line = default.line;
        let number = Names::number(&self.actions, "action", line, &default.name)?;
        let candidates = self.used(actions, Use::TableOnly)?;
        if !candidates.contains(&number) {
            let what = format!("the table cannot use '{}' as its default action", default.name);
            return Err(fault(line, what));
        }
        let data = self.default_data(number, default)?;
        if default.constant {
            outcomes.push(Outcome { hit: false, action: number, data: Some(data) });
        } else {
            outcomes.extend(candidates.into_iter().map(|action| Outcome {
                hit: false,
                action,
                data: None,
            }));
        }
        Ok(())
    }

    /// Returns the data of a default action as the bytes in memory.
    fn default_data(&self, action: usize, default: &DefaultAction) -> Result<Vec<u8>, SpecError> {
        let data = self.spec.actions[action].data.as_deref();
        let fields = data.map_or(&[][..], |data| &self.structs[data].fields);
        let unlike = || {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            fault(
                default.line,
                format!("the arguments of '{}' do not fit its fields: {names}", default.name),
            )
        };
        if fields.len() != default.arguments.len() {
            return Err(unlike());
        }
        let mut bytes = Vec::new();
        for (field, (name, value)) in fields.iter().zip(&default.arguments) {
            if field.name != *name {
                return Err(unlike());
            }
            let size = field.bits as usize / 8;
            if size > 8 {
                bytes.extend(crate::parse::in_memory_order(value, size).ok_or_else(unlike)?);
            } else {
                let value = crate::parse::number(value).ok_or_else(unlike)?;
                bytes.extend(&value.to_le_bytes()[..size]);
            }
        }
        Ok(bytes)
    }
}
