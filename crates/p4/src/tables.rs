//! Properties of tables and the order of their entries, for the translations to XDP and SWX.

use num_traits::ToPrimitive;

use crate::annotations::annotated_priority;
use crate::ast::*;
use crate::check::{Checked, Type, Value};
use crate::error::P4Error;
use crate::initial;
use crate::xdp::entries;
use crate::xdp::layout::MatchKind;

/// Number of entries of a table that has no property `size`.
pub(crate) const DEFAULT_SIZE: u32 = 1024;

/// Function that returns the value of an expression; `None` if it is not a compile-time constant.
type Constant<'c> = &'c dyn Fn(&Expr) -> Option<Value>;

/// The properties of a table.
pub(crate) struct Properties<'a> {
    pub keys: Vec<&'a Key>,
    pub actions: &'a [ActionRef],
    pub default: Option<&'a Expr>,
    pub has_constant_default: bool,
    /// Entries that the program states, with a flag that is true if they are constant.
    pub entries: Option<(&'a [Entry], bool)>,
    /// Largest number of entries.
    pub size: u32,
    /// True if the entry with the highest priority wins, false if the one with the lowest wins.
    pub is_largest_first: bool,
    /// Difference between the priority of an entry that states no priority and that of the entry
    /// before it.
    priority_delta: u32,
    /// Value of the property `implementation`: a map, action profile or selector.
    pub implementation: Option<&'a Expr>,
    /// Direct counter of the table.
    pub counter: Option<&'a Expr>,
    /// Direct meter of the table.
    pub meter: Option<&'a Expr>,
}

impl<'a> Properties<'a> {
    pub fn of(table: &'a Table, constant: Constant<'_>) -> Properties<'a> {
        let mut found = Properties {
            keys: Vec::new(),
            actions: &[],
            default: None,
            has_constant_default: false,
            entries: None,
            size: DEFAULT_SIZE,
            is_largest_first: true,
            priority_delta: 1,
            implementation: None,
            counter: None,
            meter: None,
        };
        let number = |value| number(constant, value);
        // With p4c's annotation `@priority`, the entry with the smallest number wins.
        let annotated = |property: &Property| match &property.value {
            PropertyValue::Entries(entries) => {
                entries.iter().any(|entry| annotated_priority(entry).is_some())
            }
            _ => false,
        };
        found.is_largest_first = !table.properties.iter().any(annotated);
        for property in &table.properties {
            match (&*property.name.text, &property.value) {
                (_, PropertyValue::Keys(keys)) => found.keys = keys.iter().collect(),
                (_, PropertyValue::Actions(actions)) => found.actions = actions,
                (_, PropertyValue::Entries(entries)) => {
                    found.entries = Some((entries, property.is_const));
                }
                ("default_action", PropertyValue::Expr(value)) => {
                    found.default = Some(value);
                    found.has_constant_default = property.is_const;
                }
                ("size", PropertyValue::Expr(value)) => {
                    found.size = number(value).unwrap_or(DEFAULT_SIZE).max(1);
                }
                ("largest_priority_wins", PropertyValue::Expr(value)) => {
                    found.is_largest_first = constant(value) != Some(Value::Bool(false));
                }
                ("priority_delta", PropertyValue::Expr(value)) => {
                    found.priority_delta = number(value).unwrap_or(1);
                }
                ("implementation" | "psa_implementation", PropertyValue::Expr(value)) => {
                    found.implementation = Some(value);
                }
                ("counters" | "psa_direct_counter", PropertyValue::Expr(value)) => {
                    found.counter = Some(value);
                }
                ("meters" | "psa_direct_meter", PropertyValue::Expr(value)) => {
                    found.meter = Some(value);
                }
                _ => {}
            }
        }
        found
    }

    /// Returns the priorities of entries (section 14.2.1.4 of the specification). The priority of
    /// an entry that states none follows from that of the previous entry and `priority_delta`.
    fn priorities(&self, entries: &[Entry], constant: Constant<'_>) -> Vec<u32> {
        let delta = self.priority_delta;
        let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let mut before = None;
        let mut found = Vec::new();
        for entry in entries {
            let given = entry.priority.as_ref().and_then(|one| number(constant, one));
            let given = given.or_else(|| annotated_priority(entry));
            let priority = given.unwrap_or(match (before, self.is_largest_first) {
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

    /// Returns constant entries in the order of comparison: the first entry that matches wins.
    pub fn in_order(&self, entries: &'a [Entry], constant: Constant<'_>) -> Vec<&'a Entry> {
        let mut order: Vec<(&'a Entry, u32)> =
            entries.iter().zip(self.priorities(entries, constant)).collect();
        let by_priority =
            self.keys.iter().any(|key| matches!(&*key.kind.text, "ternary" | "range" | "optional"));
        match self.keys.iter().position(|key| &*key.kind.text == "lpm") {
            // The longest prefix wins: the mask with the most ones.
            Some(at) if !by_priority => order.sort_by_key(|(entry, _)| {
                let length = entry.sets.get(at).map_or(0, |set| prefix_length(set, constant));
                std::cmp::Reverse(length)
            }),
            _ if self.is_largest_first => order.sort_by_key(|one| std::cmp::Reverse(one.1)),
            _ => order.sort_by_key(|one| one.1),
        }
        order.into_iter().map(|one| one.0).collect()
    }

    /// Returns the entries of the program that the control plane may change. `types` are the types
    /// of the keys.
    ///
    /// # Errors
    ///
    /// Returns an error for the first entry that is not constant.
    pub fn initial(
        &self,
        path: &str,
        program: &initial::Program<'_>,
        types: &[Type],
    ) -> Result<Vec<entries::Entry>, P4Error> {
        let Some((entries, _)) = self.entries else { return Ok(Vec::new()) };
        let priorities = self.priorities(entries, program.constant);
        program.entries(path, entries, (&priorities, self.is_largest_first), types)
    }
}

fn number(constant: Constant<'_>, expr: &Expr) -> Option<u32> {
    constant(expr).and_then(|value| value.number().and_then(ToPrimitive::to_u32))
}

fn prefix_length(set: &Expr, constant: Constant<'_>) -> u64 {
    match &set.kind {
        ExprKind::Default | ExprKind::DontCare => 0,
        ExprKind::Mask { mask, .. } => match constant(mask) {
            Some(Value::Number(number)) => (0..256).filter(|bit| number.bit(*bit)).count() as u64,
            _ => 0,
        },
        _ => 256,
    }
}

/// Returns the declaration of the action that an expression names or calls.
pub(crate) fn action_of(checked: &Checked, action: &Expr) -> Option<DeclId> {
    let function = match &action.kind {
        ExprKind::Call { function, .. } => function,
        _ => action,
    };
    checked.uses.get(&function.id).copied()
}

/// Returns the actions of a table, in the order of its list.
pub(crate) fn actions_of(checked: &Checked, table: &Table) -> Vec<DeclId> {
    let listed = table.properties.iter().find_map(|property| match &property.value {
        PropertyValue::Actions(actions) => Some(actions),
        _ => None,
    });
    listed.into_iter().flatten().filter_map(|one| action_of(checked, &one.action)).collect()
}

/// Returns the match kind of a key; `None` for kinds that the translations do not know.
pub(crate) fn match_kind(key: &Key) -> Option<MatchKind> {
    Some(match &*key.kind.text {
        "exact" => MatchKind::Exact,
        "lpm" => MatchKind::Lpm,
        "ternary" => MatchKind::Ternary,
        "range" => MatchKind::Range,
        "optional" => MatchKind::Optional,
        _ => return None,
    })
}
