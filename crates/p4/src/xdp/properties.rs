//! Properties of tables, and their entries in the program.

use num_traits::ToPrimitive;

use super::layout::MatchKind;
use super::members::Members;
use super::storage::is_scalar;
use super::*;
use crate::annotations::annotated_priority;

/// Entries of a table without the property `size`.
const DEFAULT_SIZE: u32 = 1024;

/// A counter or meter of each entry of a table.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    /// Control-plane name.
    pub path: String,
    /// True if each look-up that finds an entry uses it (v1model), not a call (PSA).
    pub is_implicit: bool,
    /// True if it counts bytes.
    pub counts_bytes: bool,
}

/// The properties of a table.
pub(super) struct Properties<'a> {
    pub keys: Vec<&'a Key>,
    pub actions: &'a [ActionRef],
    pub default: Option<&'a Expr>,
    pub has_constant_default: bool,
    pub entries: Option<(&'a [Entry], bool)>,
    pub size: u32,
    /// True if entries with higher priorities win.
    pub is_largest_first: bool,
    /// Difference of the priorities of entries without one.
    pub priority_delta: u32,
    /// Direct counter of packets and bytes of each entry.
    pub counter: Option<Direct>,
    /// Direct meter of each entry.
    pub meter: Option<Direct>,
    /// Members or groups that entries name instead of actions.
    pub members: Option<Members>,
}

impl<'a> Generator<'a> {
    /// Returns the actions of a table, in order.
    pub(super) fn table_actions(&self, table: DeclId) -> Vec<DeclId> {
        let Some(DeclKind::Table(table)) = self.nodes.get(&table).map(|decl| &*decl.kind) else {
            return Vec::new();
        };
        let listed = table.properties.iter().find_map(|property| match &property.value {
            PropertyValue::Actions(actions) => Some(actions),
            _ => None,
        });
        listed.into_iter().flatten().filter_map(|one| self.action_of(&one.action)).collect()
    }

    pub(super) fn action_of(&self, action: &Expr) -> Option<DeclId> {
        let function = match &action.kind {
            ExprKind::Call { function, .. } => function,
            _ => action,
        };
        self.checked.uses.get(&function.id).copied()
    }

    pub(super) fn properties(&mut self, table: &'a Table, path: &str) -> Result<Properties<'a>> {
        let mut found = Properties {
            keys: Vec::new(),
            actions: &[],
            default: None,
            has_constant_default: false,
            entries: None,
            size: DEFAULT_SIZE,
            is_largest_first: true,
            priority_delta: 1,
            counter: None,
            meter: None,
            members: None,
        };
        let annotated = |property: &Property| match &property.value {
            PropertyValue::Entries(entries) => {
                entries.iter().any(|entry| annotated_priority(entry).is_some())
            }
            _ => false,
        };
        // With the annotation of p4c, the smallest number wins.
        found.is_largest_first = !table.properties.iter().any(annotated);
        for property in &table.properties {
            match (&*property.name.text, &property.value) {
                (_, PropertyValue::Keys(keys)) => found.keys = keys.iter().collect(),
                (_, PropertyValue::Actions(actions)) => found.actions = actions,
                (_, PropertyValue::Entries(entries)) => {
                    found.entries = Some((entries, property.is_const))
                }
                ("default_action", PropertyValue::Expr(value)) => {
                    found.default = Some(value);
                    found.has_constant_default = property.is_const;
                }
                ("size", PropertyValue::Expr(value)) => {
                    found.size = self.number(value).unwrap_or(DEFAULT_SIZE).max(1);
                }
                ("largest_priority_wins", PropertyValue::Expr(value)) => {
                    found.is_largest_first = self.constant(value) != Some(Value::Bool(false));
                }
                ("priority_delta", PropertyValue::Expr(value)) => {
                    found.priority_delta = self.number(value).unwrap_or(1);
                }
                ("implementation" | "psa_implementation", PropertyValue::Expr(value)) => {
                    let Some(Binding::Instance(instance)) = self.object_of(value) else {
                        return self.unsupported(value.span, "this implementation of a table");
                    };
                    let size = instance.number(0);
                    match (instance.kind(), size) {
                        ("hash_table" | "array_table", Some(size)) => found.size = size.max(1),
                        _ => {
                            let is_inline = matches!(value.kind, ExprKind::Call { .. });
                            let own = is_inline.then(|| format!("{path}.members"));
                            found.members = Some(self.members_of(&instance, own, table, value)?);
                        }
                    }
                }
                ("counters" | "psa_direct_counter", PropertyValue::Expr(value)) => {
                    found.counter = Some(self.direct(value, "direct_counter")?);
                }
                ("meters" | "psa_direct_meter", PropertyValue::Expr(value)) => {
                    found.meter = Some(self.direct(value, "direct_meter")?);
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// Returns the direct counter or meter that a property names.
    fn direct(&mut self, value: &'a Expr, kind: &str) -> Result<Direct> {
        let Some(Binding::Instance(instance)) = self.object_of(value) else {
            return self.unsupported(value.span, format!("this {}", kind.replace('_', " ")));
        };
        let counts_bytes = instance.args.iter().flatten().any(|arg| {
            matches!(arg, Binding::Constant(Value::Member(_, name)) if name.eq_ignore_ascii_case("bytes"))
        });
        let is_implicit = instance.kind() == kind;
        Ok(Direct { path: instance.path, is_implicit, counts_bytes })
    }

    pub(super) fn number(&self, expr: &Expr) -> Option<u32> {
        self.constant(expr).and_then(|value| value.number().and_then(ToPrimitive::to_u32))
    }

    pub(super) fn match_kind(&self, key: &Key) -> Result<MatchKind> {
        Ok(match &*key.kind.text {
            "exact" => MatchKind::Exact,
            "lpm" => MatchKind::Lpm,
            "ternary" => MatchKind::Ternary,
            "range" => MatchKind::Range,
            "optional" => MatchKind::Optional,
            other => return self.unsupported(key.kind.span, format!("match kind {other}")),
        })
    }

    /// Returns the priorities of entries (section 14.2.1.4 of the specification): an entry without
    /// one follows the entry before it.
    pub(super) fn priorities(&self, properties: &Properties<'a>, entries: &[Entry]) -> Vec<u32> {
        let delta = properties.priority_delta;
        let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let mut before = None;
        let mut found = Vec::new();
        for entry in entries {
            let given = entry.priority.as_ref().and_then(|one| self.number(one));
            let given = given.or_else(|| annotated_priority(entry));
            let priority = given.unwrap_or(match (before, properties.is_largest_first) {
                (None, true) => count.saturating_sub(1).saturating_mul(delta).saturating_add(1),
                (None, false) => 1,
                (Some(before), true) => u32::saturating_sub(before, delta),
                (Some(before), false) => u32::saturating_add(before, delta),
            });
            before = Some(priority);
            found.push(priority);
        }
        found
    }

    pub(super) fn prefix_length(&self, set: &Expr) -> u64 {
        match &set.kind {
            ExprKind::Default => 0,
            ExprKind::Mask { mask, .. } => match self.constant(mask) {
                Some(Value::Number(number)) => {
                    (0..256).filter(|bit| number.bit(*bit)).count() as u64
                }
                _ => 0,
            },
            _ => 256,
        }
    }

    // --- initial entries -----------------------------------------------------------------------

    /// Returns the entries of a table that the control plane may change.
    pub(super) fn initial_entries(
        &self,
        path: &str,
        properties: &Properties<'a>,
        values: &[(String, Type)],
    ) -> Result<Vec<entries::Entry>> {
        let Some((entries, _)) = properties.entries else { return Ok(Vec::new()) };
        let types: Vec<Type> = values.iter().map(|one| one.1.clone()).collect();
        let program = crate::initial::Program {
            checked: self.checked,
            constant: &|expr| self.constant(expr),
            action: &|expr| self.action_of(expr).and_then(|id| self.nodes.get(&id).copied()),
            members: &|ty| match is_scalar(ty) {
                true => None,
                false => Some(self.members(ty).into_iter().map(|one| one.1).collect()),
            },
            refusal: &|span, what| {
                P4Error::unsupported(span, format!("{what} cannot be compiled for XDP yet"))
            },
        };
        let priorities = self.priorities(properties, entries);
        program.entries(path, entries, (&priorities, properties.is_largest_first), &types)
    }
}
