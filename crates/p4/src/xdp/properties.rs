//! Properties of tables, and their entries in the program.

use num_traits::ToPrimitive;

use super::entries::{ActionCall, KeyValue, Setting};
use super::layout::MatchKind;
use super::members::Members;
use super::storage::is_scalar;
use super::*;

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
        let priorities = self.priorities(properties, entries);
        let most = priorities.iter().copied().max().unwrap_or(0);
        let mut found = Vec::new();
        for (entry, priority) in entries.iter().zip(priorities) {
            let mut keys = Vec::new();
            let sets = match &entry.sets[..] {
                [Expr { kind: ExprKind::List { items, .. }, .. }] if values.len() != 1 => items,
                sets => sets,
            };
            match sets {
                [Expr { kind: ExprKind::Default | ExprKind::DontCare, .. }] => {
                    values.iter().for_each(|(_, ty)| self.any(ty, &mut keys));
                }
                _ => {
                    for (set, (_, ty)) in sets.iter().zip(values) {
                        self.initial_key(set, ty, &mut keys)?;
                    }
                }
            }
            let Some(decl) =
                self.action_of(&entry.action).and_then(|id| self.nodes.get(&id).copied())
            else {
                return self.unsupported(entry.action.span, "this action");
            };
            let mut args = Vec::new();
            if let (ExprKind::Call { args: given, .. }, DeclKind::Action { params, .. }) =
                (&entry.action.kind, &*decl.kind)
            {
                // The list of actions has the arguments with a direction.
                let call = self.checked.calls.get(&entry.action.id);
                let directed = params.iter().enumerate().filter_map(|(at, param)| {
                    let has_direction = param.direction != Direction::None;
                    call?.args.get(at).copied().flatten().filter(|_| has_direction)
                });
                let directed: Vec<usize> = directed.collect();
                for (at, arg) in given.iter().enumerate() {
                    if directed.contains(&at) {
                        continue;
                    }
                    let name = arg.name.as_ref().map(|name| name.text.to_string());
                    args.push((name, self.known_number(&arg.value)?));
                }
            }
            found.push(entries::Entry {
                line: 0,
                table: path.to_owned(),
                setting: Setting::Entry {
                    keys: keys.into_iter().map(|key| (None, key)).collect(),
                    priority: Some(match properties.is_largest_first {
                        true => priority,
                        false => most - priority,
                    }),
                    actions: vec![ActionCall { name: control_name(decl), args }],
                },
            });
        }
        Ok(found)
    }

    fn any(&self, ty: &Type, keys: &mut Vec<KeyValue>) {
        let mut numbers = Vec::new();
        self.leaves("", ty, &mut numbers);
        keys.extend(numbers.iter().map(|_| KeyValue::Any));
    }

    fn initial_key(&self, set: &Expr, ty: &Type, keys: &mut Vec<KeyValue>) -> Result<()> {
        let value = match &set.kind {
            ExprKind::Default | ExprKind::DontCare => {
                self.any(ty, keys);
                return Ok(());
            }
            ExprKind::List { items, .. } if !is_scalar(ty) => {
                for (item, (_, of)) in items.iter().zip(self.members(ty)) {
                    self.initial_key(item, &of, keys)?;
                }
                return Ok(());
            }
            ExprKind::List { items, .. } if items.len() == 1 => {
                return self.initial_key(&items[0], ty, keys);
            }
            ExprKind::Mask { value, mask } => {
                KeyValue::Mask(self.known_number(value)?, self.known_number(mask)?)
            }
            ExprKind::Range { low, high } => {
                KeyValue::Range(self.known_number(low)?, self.known_number(high)?)
            }
            _ => KeyValue::Exact(self.known_number(set)?),
        };
        keys.push(value);
        Ok(())
    }

    /// Returns the value of an expression as a number: members of enums by their place.
    fn known_number(&self, expr: &Expr) -> Result<num_bigint::BigInt> {
        Ok(match self.constant(expr) {
            Some(Value::Number(number)) => number,
            Some(Value::Bool(value)) => u8::from(value).into(),
            Some(Value::Error(name)) => {
                self.checked.errors.iter().position(|one| *one == name).unwrap_or(0).into()
            }
            Some(Value::Member(id, name)) => {
                let members = self.checked.enums.get(&id).map(|one| &one.members);
                let at = members.and_then(|all| all.iter().position(|one| one.0 == name));
                at.unwrap_or(0).into()
            }
            _ => return self.unsupported(expr.span, "an entry that is not constant"),
        })
    }
}

/// Returns the number of the annotation `@priority`.
fn annotated_priority(entry: &Entry) -> Option<u32> {
    let annotation = entry.annotations.iter().find(|one| &*one.name.text == "priority")?;
    match &annotation.body[..] {
        [token] => token.text.parse().ok(),
        _ => None,
    }
}

/// Returns the control-plane name of a declaration, without the names around it.
pub(crate) fn control_name(decl: &Decl) -> String {
    let name = name_of(&decl.annotations);
    name.as_deref().map_or(&*decl.name.text, |name| name.trim_start_matches('.')).to_owned()
}

/// Returns the name that the annotation `@name` gives.
pub(crate) fn name_of(annotations: &[Annotation]) -> Option<String> {
    let annotation = annotations.iter().find(|one| &*one.name.text == "name")?;
    match &annotation.body[..] {
        [token] if token.kind == crate::token::TokenKind::Text => Some(token.text.to_string()),
        _ => None,
    }
}
