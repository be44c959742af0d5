//! Tables: constant entries as branches, all others as BPF maps (see [`layout`]).

use num_traits::ToPrimitive;

use super::entries::{ActionCall, KeyValue, Setting};
use super::layout::{ActionLayout, KeyLayout, MatchKind, Number, TableLayout, TableMaps};
use super::storage::{c_width, integer, is_scalar, plain};
use super::*;

/// Entries of a table without the property `size`.
const DEFAULT_SIZE: u32 = 1024;
/// Largest number of masks of a table with ternary keys.
const MOST_MASKS: u32 = 16;
/// Largest number of entries of a table with range keys, which are compared one after the other.
const MOST_SCANNED: u32 = 64;

/// Variables with the result of an applied table.
pub(super) struct Applied {
    /// True if an entry was found.
    pub hit: String,
    /// Number of the action that ran, from 1 in the order of the table's list.
    pub action: String,
}

/// The properties of a table.
struct Properties<'a> {
    keys: Vec<&'a Key>,
    actions: &'a [ActionRef],
    default: Option<&'a Expr>,
    has_constant_default: bool,
    entries: Option<(&'a [Entry], bool)>,
    size: u32,
    /// True if entries with higher priorities win.
    is_largest_first: bool,
    /// Difference of the priorities of entries without one.
    priority_delta: u32,
    /// True if a direct counter counts packets and bytes of each entry.
    is_counted: bool,
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

    fn action_of(&self, action: &Expr) -> Option<DeclId> {
        let function = match &action.kind {
            ExprKind::Call { function, .. } => function,
            _ => action,
        };
        self.checked.uses.get(&function.id).copied()
    }

    fn properties(&self, decl: &'a Decl, table: &'a Table) -> Result<Properties<'a>> {
        let mut found = Properties {
            keys: Vec::new(),
            actions: &[],
            default: None,
            has_constant_default: false,
            entries: None,
            size: DEFAULT_SIZE,
            is_largest_first: true,
            priority_delta: 1,
            is_counted: false,
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
                    let size = match &value.kind {
                        ExprKind::Call { function, args, .. } => match &function.kind {
                            ExprKind::Type(TypeRef {
                                kind: TypeRefKind::Named { name, .. },
                                ..
                            }) if matches!(&*name.text, "hash_table" | "array_table") => {
                                args.first().and_then(|arg| self.number(&arg.value))
                            }
                            _ => None,
                        },
                        _ => None,
                    };
                    match size {
                        Some(size) => found.size = size.max(1),
                        None => {
                            return self.unsupported(
                                value.span,
                                format!("the implementation of table '{}'", decl.name.text),
                            );
                        }
                    }
                }
                ("counters", _) => found.is_counted = true,
                ("meters", PropertyValue::Expr(value)) => {
                    return self.unsupported(value.span, "a direct meter");
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn number(&self, expr: &Expr) -> Option<u32> {
        self.constant(expr).and_then(|value| value.number().and_then(ToPrimitive::to_u32))
    }

    fn match_kind(&self, key: &Key) -> Result<MatchKind> {
        Ok(match &*key.kind.text {
            "exact" => MatchKind::Exact,
            "lpm" => MatchKind::Lpm,
            "ternary" => MatchKind::Ternary,
            "range" => MatchKind::Range,
            "optional" => MatchKind::Optional,
            other => return self.unsupported(key.kind.span, format!("match kind {other}")),
        })
    }

    /// Emits `table.apply()`, an expression that the type checker recorded as such a call.
    pub(super) fn apply_table(&mut self, call: &'a Expr) -> Result<Applied> {
        let id = match self.checked.calls.get(&call.id).map(|call| call.callee) {
            Some(crate::check::Callee::Table(id)) => id,
            _ => return self.unsupported(call.span, "this table"),
        };
        let Some(decl) = self.nodes.get(&id).copied() else {
            return self.unsupported(call.span, "this table");
        };
        let DeclKind::Table(table) = &*decl.kind else {
            return self.unsupported(call.span, "this table");
        };
        let path = self.paths.get(&id).cloned().unwrap_or_else(|| decl.name.text.to_string());
        let properties = self.properties(decl, table)?;
        let mut values = Vec::new();
        for key in &properties.keys {
            self.at(key.value.span);
            values.push(self.key_value(&key.value)?);
        }
        self.at(call.span);
        let hit = self.variable("hit", &Type::Bool)?;
        let action = self.variable("action", &Type::Bit(32))?;
        let applied = Applied { hit, action };
        match properties.entries {
            Some((_, true)) if properties.is_counted => {
                return self.unsupported(call.span, "a direct counter of constant entries");
            }
            Some((entries, true)) => {
                self.constant_entries(&properties, entries, &values, &applied)?
            }
            _ => self.map_entries(decl, &path, &properties, &values, &applied)?,
        }
        Ok(applied)
    }

    // --- constant entries ----------------------------------------------------------------------

    fn constant_entries(
        &mut self,
        properties: &Properties<'a>,
        entries: &'a [Entry],
        values: &[(String, Type)],
        applied: &Applied,
    ) -> Result<()> {
        let mut order: Vec<(&'a Entry, u32)> =
            entries.iter().zip(self.priorities(properties, entries)).collect();
        let by_priority = properties
            .keys
            .iter()
            .any(|key| matches!(&*key.kind.text, "ternary" | "range" | "optional"));
        let lpm = properties.keys.iter().position(|key| &*key.kind.text == "lpm");
        match lpm {
            // The longest prefix wins: the mask with the most ones.
            Some(at) if !by_priority => order.sort_by_key(|(entry, _)| {
                std::cmp::Reverse(entry.sets.get(at).map_or(0, |set| self.prefix_length(set)))
            }),
            _ if properties.is_largest_first => order.sort_by_key(|one| std::cmp::Reverse(one.1)),
            _ => order.sort_by_key(|one| one.1),
        }
        let mut first = true;
        for (entry, _) in order {
            self.at(entry.span);
            let conditions = self.sets_condition(&entry.sets, values, entry.span)?;
            let condition =
                if conditions.is_empty() { "1".to_owned() } else { conditions.join(" && ") };
            self.put(format!("{} ({condition}) {{", if first { "if" } else { "} else if" }));
            first = false;
            self.put(format!("{} = 1;", applied.hit));
            self.run_listed(properties, &entry.action, None, applied)?;
        }
        if !first {
            self.put("} else {");
        }
        self.run_default(properties, applied)?;
        if !first {
            self.put("}");
        }
        Ok(())
    }

    /// Returns the priorities of entries (section 14.2.1.4 of the specification): an entry without
    /// one follows the entry before it.
    fn priorities(&self, properties: &Properties<'a>, entries: &[Entry]) -> Vec<u32> {
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

    fn prefix_length(&self, set: &Expr) -> u64 {
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

    fn run_default(&mut self, properties: &Properties<'a>, applied: &Applied) -> Result<()> {
        match properties.default {
            Some(default) => self.run_listed(properties, default, None, applied),
            None => {
                // The default action is NoAction.
                let at = properties.actions.iter().position(|one| {
                    self.action_of(&one.action)
                        .and_then(|id| self.nodes.get(&id))
                        .is_some_and(|decl| &*decl.name.text == "NoAction")
                });
                if let Some(at) = at {
                    self.put(format!("{} = {};", applied.action, at + 1));
                }
                Ok(())
            }
        }
    }

    /// Emits an action of the table's list: with the arguments of an entry in the program, or with
    /// those in the value of a map.
    fn run_listed(
        &mut self,
        properties: &Properties<'a>,
        action: &'a Expr,
        value: Option<(&str, &ActionLayout)>,
        applied: &Applied,
    ) -> Result<()> {
        let Some(id) = self.action_of(action) else {
            return self.unsupported(action.span, "this action");
        };
        let Some(decl) = self.nodes.get(&id).copied() else {
            return self.unsupported(action.span, "this action");
        };
        let DeclKind::Action { params, .. } = &*decl.kind else { return Ok(()) };
        let listed = properties
            .actions
            .iter()
            .enumerate()
            .find(|(_, one)| self.action_of(&one.action) == Some(id));
        if let Some((at, _)) = listed {
            self.put(format!("{} = {};", applied.action, at + 1));
        }
        let args = |expr: &'a Expr| match &expr.kind {
            ExprKind::Call { args, .. } => &args[..],
            _ => &[],
        };
        let mut given = Vec::new();
        let (mut directed, mut set) = (0, 0);
        for (at, param) in params.iter().enumerate() {
            if param.direction != Direction::None {
                let expr = listed.and_then(|(_, one)| {
                    let call = self.checked.calls.get(&one.action.id)?;
                    args(&one.action).get(call.args.get(directed).copied().flatten()?)
                });
                directed += 1;
                given.push(expr.map_or(Given::Missing, |arg| Given::Expr(&arg.value)));
                continue;
            }
            given.push(match value {
                Some((pointer, layout)) => {
                    let field =
                        layout.params.get(set).map(|_| format!("{pointer}->a{}.p{set}", layout.id));
                    let ty = self.declared(param.id);
                    field.map_or(Given::Missing, |field| Given::C(self.fit(&field, &ty)))
                }
                None => {
                    let at = self
                        .checked
                        .calls
                        .get(&action.id)
                        .and_then(|call| call.args.get(at).copied().flatten());
                    at.and_then(|at| args(action).get(at))
                        .map_or(Given::Missing, |arg| Given::Expr(&arg.value))
                }
            });
            set += 1;
        }
        self.run_action(decl, given)
    }

    // --- initial entries -----------------------------------------------------------------------

    /// Returns the entries of a table that the control plane may change.
    fn initial_entries(
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
            if let ExprKind::Call { args: given, .. } = &entry.action.kind {
                for arg in given {
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
                    action: ActionCall { name: control_name(decl), args },
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

    // --- maps ----------------------------------------------------------------------------------

    fn map_entries(
        &mut self,
        decl: &'a Decl,
        path: &str,
        properties: &Properties<'a>,
        values: &[(String, Type)],
        applied: &Applied,
    ) -> Result<()> {
        let map = self.map_name(path);
        let mut numbers = Vec::new();
        let (mut kinds, mut names) = (Vec::new(), Vec::<Rc<str>>::new());
        for (key, (value, ty)) in properties.keys.iter().zip(values) {
            let before = numbers.len();
            self.leaves(value, ty, &mut numbers);
            let kind = self.match_kind(key)?;
            let text = name_of(&key.annotations).unwrap_or_else(|| self.key_text(&key.value));
            for (part, of) in &numbers[before..] {
                if !is_scalar(of) {
                    return self.unsupported(key.value.span, format!("a key of type {of}"));
                }
                if kind == MatchKind::Range && matches!(plain(of), Type::Int(_)) {
                    return self.unsupported(key.kind.span, "a range of a signed number");
                }
                let part = part.strip_prefix(&**value).unwrap_or_default();
                names.push(Rc::from(format!("{text}{part}")));
                kinds.push(kind);
            }
        }
        let prefixes = kinds.iter().filter(|kind| **kind == MatchKind::Lpm).count();
        let masked =
            kinds.iter().any(|kind| matches!(kind, MatchKind::Ternary | MatchKind::Optional));
        let ranged = kinds.contains(&MatchKind::Range);
        let maps = if numbers.is_empty() {
            TableMaps::None
        } else if ranged {
            TableMaps::Scan { second: 0, value: 0, element: 0 }
        } else if masked || prefixes > 1 {
            TableMaps::TupleSpace { masks: properties.size.min(most_masks(&kinds, &numbers)) }
        } else if prefixes == 1 {
            TableMaps::Trie
        } else {
            TableMaps::Hash
        };
        let is_tuple_space = matches!(maps, TableMaps::TupleSpace { .. });
        let has_priority = is_tuple_space;
        let (value_size, actions) = self.value_struct(&map, properties, has_priority)?;
        let pointer = self.fresh("entry");
        self.locals.push(format!("struct {map}_value *{pointer};"));
        self.put(format!("{pointer} = 0;"));
        let size = if ranged { properties.size.min(MOST_SCANNED) } else { properties.size };
        let mut layout = TableLayout {
            name: path.to_owned(),
            map: map.clone(),
            maps,
            key_size: 0,
            value_size,
            priority: has_priority.then_some(4),
            size,
            keys: Vec::new(),
            actions,
            has_default_map: !properties.has_constant_default,
            initial: self.initial_entries(path, properties, values)?,
        };
        match maps {
            TableMaps::None => {}
            TableMaps::Hash => {
                let (offsets, bytes) = self.key_struct(&map, &numbers, 0)?;
                layout.key_size = bytes;
                layout.keys = keys(offsets, &kinds, &names);
                let key = self.key_variable(&map, &numbers);
                self.map(
                    &map,
                    "BPF_MAP_TYPE_HASH",
                    size,
                    &format!("struct {map}_key"),
                    &format!("struct {map}_value"),
                );
                self.put(format!("{pointer} = bpf_map_lookup_elem(&{map}, &{key});"));
            }
            TableMaps::Trie => self.trie(&map, &numbers, &kinds, &names, &mut layout, &pointer)?,
            TableMaps::TupleSpace { masks } => {
                let (offsets, bytes) = self.key_struct(&map, &numbers, 4)?;
                layout.key_size = bytes;
                layout.keys = keys(offsets, &kinds, &names);
                self.tuple_space(&map, &numbers, masks, size, &pointer)?;
            }
            TableMaps::Scan { .. } => {
                self.scan(&map, &numbers, &kinds, &names, &mut layout, &pointer)?
            }
        }
        if !matches!(maps, TableMaps::None) {
            self.put(format!("if ({pointer}) {} = 1;", applied.hit));
            if properties.is_counted {
                self.put(format!(
                    "if ({pointer}) {{ {pointer}->packets += 1; {pointer}->bytes += packet_length; }}"
                ));
            }
        }
        if layout.has_default_map {
            let default = format!("{map}_default");
            self.map(&default, "BPF_MAP_TYPE_ARRAY", 1, "u32", &format!("struct {map}_value"));
            let zero = self.save("zero", &Type::Bit(32), "0")?;
            self.put(format!("if (!{pointer}) {{"));
            self.put(format!("{pointer} = bpf_map_lookup_elem(&{default}, &{zero});"));
            self.put(format!("if ({pointer} && !{pointer}->action) {pointer} = 0;"));
            self.put("}");
        }
        if layout.has_default_map || !matches!(maps, TableMaps::None) {
            self.put(format!("if ({pointer}) {{"));
            let mut first = true;
            for (at, one) in properties.actions.iter().enumerate() {
                let Some(action) = layout.actions.get(at).cloned() else { continue };
                // Control planes write permitted actions only, so the last one needs no comparison.
                let condition = match (action.in_entries, action.as_default) {
                    (true, true) => None,
                    (true, false) => Some(&applied.hit),
                    (false, _) => Some(&applied.hit).filter(|_| action.as_default),
                };
                let negation = if action.in_entries { "" } else { "!" };
                let last = at + 1 == properties.actions.len() && condition.is_none() && !first;
                let guard = condition.map(|hit| format!(" && {negation}{hit}")).unwrap_or_default();
                self.put(match (first, last) {
                    (_, true) => "} else {".to_owned(),
                    (true, _) => format!("if ({pointer}->action == {}{guard}) {{", action.id),
                    (false, _) => {
                        format!("}} else if ({pointer}->action == {}{guard}) {{", action.id)
                    }
                });
                first = false;
                self.run_listed(properties, &one.action, Some((&pointer, &action)), applied)?;
            }
            if !first {
                self.put("}");
            }
            self.put("} else {");
            self.run_default(properties, applied)?;
            self.put("}");
        } else {
            self.run_default(properties, applied)?;
        }
        if !self.layout.tables.iter().any(|one| one.map == map) {
            self.layout.tables.push(layout);
        }
        let _ = decl;
        Ok(())
    }

    fn key_text(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Name { name, .. } => name.text.to_string(),
            ExprKind::Member { base, name } => format!("{}.{}", self.key_text(base), name.text),
            ExprKind::Index { base, index } => match self.number(index) {
                Some(at) => format!("{}[{at}]", self.key_text(base)),
                None => format!("{}[…]", self.key_text(base)),
            },
            ExprKind::Call { function, .. } => format!("{}()", self.key_text(function)),
            ExprKind::Slice { base, high, low } => {
                format!(
                    "{}[{}:{}]",
                    self.key_text(base),
                    self.number(high).unwrap_or(0),
                    self.number(low).unwrap_or(0)
                )
            }
            ExprKind::Cast { operand, .. } => self.key_text(operand),
            _ => "key".to_owned(),
        }
    }

    /// Defines `struct NAME_key`, and returns the numbers in it and its size.
    pub(super) fn key_struct(
        &mut self,
        name: &str,
        numbers: &[(String, Type)],
        before: u32,
    ) -> Result<(Vec<Number>, u32)> {
        let mut text = format!("struct {name}_key {{\n");
        if before > 0 {
            text.push_str("    u32 tuple;\n");
        }
        let (fields, size, lines) = self.place_numbers(numbers, before, "k")?;
        text.push_str(&lines);
        text.push_str("};\n");
        self.define(&format!("{name}_key"), &text);
        Ok((fields, size))
    }

    /// Returns numbers at aligned offsets from `at`, the size of a struct of them, and its lines.
    fn place_numbers(
        &mut self,
        numbers: &[(String, Type)],
        start: u32,
        prefix: &str,
    ) -> Result<(Vec<Number>, u32, String)> {
        let (mut at, mut most, mut lines, mut fields) =
            (start, if start > 0 { 4 } else { 1 }, String::new(), Vec::new());
        for (index, (name, ty)) in numbers.iter().enumerate() {
            let width = plain(ty).width().unwrap_or(8);
            let Some(bits) = c_width(width) else {
                return self
                    .unsupported(Span::default(), format!("a key or parameter of {width} bits"));
            };
            let size = bits / 8;
            let align = size.min(8);
            at = at.next_multiple_of(align);
            most = most.max(align);
            let kind = if bits == 128 { "u128_in_map".to_owned() } else { format!("u{bits}") };
            let _ = writeln!(lines, "    {kind} {prefix}{index};");
            fields.push(Number { name: Rc::from(&**name), width, offset: at, size });
            at += size;
        }
        Ok((fields, at.next_multiple_of(most).max(1), lines))
    }

    /// Declares a key with the numbers, and returns its name.
    fn key_variable(&mut self, map: &str, numbers: &[(String, Type)]) -> String {
        let key = self.fresh("lookup");
        self.locals.push(format!("struct {map}_key {key};"));
        self.put(format!("__builtin_memset(&{key}, 0, sizeof({key}));"));
        for (at, (value, ty)) in numbers.iter().enumerate() {
            let value = bits_of(value, ty);
            self.put(format!("{key}.k{at} = {value};"));
        }
        key
    }

    /// Defines `struct NAME_value`, and returns its size and the actions.
    fn value_struct(
        &mut self,
        map: &str,
        properties: &Properties<'a>,
        has_priority: bool,
    ) -> Result<(u32, Vec<ActionLayout>)> {
        let start = if has_priority { 8 } else { 4 };
        let mut members = Vec::new();
        let mut align = 4;
        for (at, one) in properties.actions.iter().enumerate() {
            let Some(decl) =
                self.action_of(&one.action).and_then(|id| self.nodes.get(&id).copied())
            else {
                return self.unsupported(one.action.span, "this action");
            };
            let DeclKind::Action { params, .. } = &*decl.kind else { continue };
            let mut numbers = Vec::new();
            for param in params.iter().filter(|param| param.direction == Direction::None) {
                let ty = self.declared(param.id);
                if !is_scalar(&ty) {
                    return self
                        .unsupported(param.name.span, format!("an action parameter of type {ty}"));
                }
                numbers.push((param.name.text.to_string(), ty));
            }
            let (fields, size, lines) = self.place_numbers(&numbers, 0, "p")?;
            if !fields.is_empty() {
                align = align.max(fields.iter().map(|field| field.size.min(8)).max().unwrap_or(4));
            }
            let marked = |name: &str| one.annotations.iter().any(|one| &*one.name.text == name);
            members.push((
                at as u32 + 1,
                Rc::from(control_name(decl)),
                fields,
                size,
                lines,
                !marked("defaultonly"),
                !marked("tableonly"),
            ));
        }
        let union_at = u32::next_multiple_of(start, align);
        let mut text = format!("struct {map}_value {{\n    u32 action;\n");
        if has_priority {
            text.push_str("    u32 priority;\n");
        }
        let (mut actions, mut largest, mut union) = (Vec::new(), 0, String::new());
        for (id, name, fields, size, lines, in_entries, as_default) in members {
            if !fields.is_empty() {
                largest = largest.max(size);
                let _ = write!(union, "        struct {{\n{lines}        }} a{id};\n");
            }
            let params = fields
                .into_iter()
                .map(|field| Number { offset: field.offset + union_at, ..field })
                .collect();
            actions.push(ActionLayout { name, id, params, in_entries, as_default });
        }
        if !union.is_empty() {
            // The union has the alignment of its largest member.
            let padding = union_at - start;
            if padding > 0 {
                let _ = writeln!(text, "    u32 unused_;");
            }
            let _ = write!(text, "    union {{\n{union}    }};\n");
        }
        if properties.is_counted {
            text.push_str("    u64 packets;\n    u64 bytes;\n");
        }
        text.push_str("};\n");
        self.define("u128_in_map", "typedef u128 u128_in_map __attribute__((aligned(8)));\n");
        self.define(&format!("{map}_value"), &text);
        let end = if largest == 0 { start } else { union_at + largest };
        if properties.is_counted {
            return Ok((end.next_multiple_of(8) + 16, actions));
        }
        Ok((end.next_multiple_of(align), actions))
    }

    fn trie(
        &mut self,
        map: &str,
        numbers: &[(String, Type)],
        kinds: &[MatchKind],
        names: &[Rc<str>],
        layout: &mut TableLayout,
        pointer: &str,
    ) -> Result<()> {
        // The key with a prefix stands last.
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by_key(|at| kinds[*at] == MatchKind::Lpm);
        let (mut at, mut stores, mut fields) = (4, Vec::new(), vec![None; numbers.len()]);
        let key = self.fresh("lookup");
        for number in order {
            let (value, ty) = &numbers[number];
            let width = plain(ty).width().unwrap_or(8);
            let bytes = width.div_ceil(8);
            let value = bits_of(value, ty);
            // Bits stand at the start of their bytes.
            let kind = if bytes > 8 { "u128" } else { "u64" };
            let shifted = format!("(({kind}){value} << {})", bytes * 8 - width);
            let (mut left, mut byte) = (bytes * 8, at);
            while left > 0 {
                let size = [64, 32, 16, 8]
                    .into_iter()
                    .find(|size| *size <= left && byte % (size / 8) == 0)
                    .unwrap_or(8);
                left -= size;
                stores.push(format!("STORE{size}((u8 *)&{key} + {byte}, {shifted} >> {left});"));
                byte += size / 8;
            }
            fields[number] = Some(Number { name: "".into(), width, offset: at, size: bytes });
            at += bytes;
        }
        let bytes = at - 4;
        self.define(
            &format!("{map}_key"),
            &format!("struct {map}_key {{\n    u32 length;\n    u8 bytes[{bytes}];\n}};\n"),
        );
        self.locals.push(format!("struct {map}_key {key};"));
        self.put(format!("__builtin_memset(&{key}, 0, sizeof({key}));"));
        self.put(format!("{key}.length = {};", bytes * 8));
        self.body.extend(stores);
        if self.map_names.insert(map.to_owned()) {
            self.maps.push(format!(
                "TRIE({map}, {}, struct {map}_key, struct {map}_value);\n",
                layout.size
            ));
        }
        self.put(format!("{pointer} = bpf_map_lookup_elem(&{map}, &{key});"));
        layout.key_size = (4 + bytes).next_multiple_of(4);
        layout.keys = keys(fields.into_iter().flatten().collect(), kinds, names);
        Ok(())
    }

    /// Declares an index of an array, and returns the variable that counts it. The kernel's verifier
    /// knows the value of a counter only if it has no address, or all 8 bytes of its place.
    fn counter(&mut self, index: &str) -> String {
        let count = self.fresh("count");
        self.locals.push(format!("u32 {index};"));
        self.locals.push(format!("u64 {count};"));
        count
    }

    fn tuple_space(
        &mut self,
        map: &str,
        numbers: &[(String, Type)],
        masks: u32,
        size: u32,
        pointer: &str,
    ) -> Result<()> {
        let masks_map = format!("{map}_masks");
        // The first word of a mask tells that it is in use, and has the place of `tuple` in a key.
        self.map(&masks_map, "BPF_MAP_TYPE_ARRAY", masks, "u32", &format!("struct {map}_key"));
        self.map(
            map,
            "BPF_MAP_TYPE_HASH",
            size,
            &format!("struct {map}_key"),
            &format!("struct {map}_value"),
        );
        let saved: Vec<(String, Type)> = numbers.to_vec();
        let (at, mask, key, found) =
            (self.fresh("tuple"), self.fresh("mask"), self.fresh("lookup"), self.fresh("found"));
        let count = self.counter(&at);
        self.locals.push(format!("struct {map}_key *{mask};"));
        self.locals.push(format!("struct {map}_key {key};"));
        self.locals.push(format!("struct {map}_value *{found};"));
        self.put(format!("for ({count} = 0; {count} < {masks}; {count}++) {{"));
        self.put(format!("{at} = {count};"));
        self.put(format!("{mask} = bpf_map_lookup_elem(&{masks_map}, &{at});"));
        self.put(format!("if (!{mask} || !{mask}->tuple) break;"));
        self.put(format!("__builtin_memset(&{key}, 0, sizeof({key}));"));
        self.put(format!("{key}.tuple = {at};"));
        for (number, (value, ty)) in saved.iter().enumerate() {
            let value = bits_of(value, ty);
            self.put(format!("{key}.k{number} = {value} & {mask}->k{number};"));
        }
        self.put(format!("{found} = bpf_map_lookup_elem(&{map}, &{key});"));
        self.put(format!("if ({found} && (!{pointer} || {found}->priority > {pointer}->priority)) {pointer} = {found};"));
        self.put("}");
        Ok(())
    }

    fn scan(
        &mut self,
        map: &str,
        numbers: &[(String, Type)],
        kinds: &[MatchKind],
        names: &[Rc<str>],
        layout: &mut TableLayout,
        pointer: &str,
    ) -> Result<()> {
        let size = layout.size;
        // used, first numbers, second numbers, value of the action
        let (fields, half, lines) = self.place_numbers(numbers, 0, "k")?;
        let align = fields.iter().map(|field| field.size.min(8)).max().unwrap_or(4).max(4);
        let first_at = 4u32.next_multiple_of(align);
        let half = half.next_multiple_of(align);
        let value_at = (first_at + 2 * half).next_multiple_of(8);
        let text = format!(
            "struct {map}_numbers {{\n{lines}}} __attribute__((aligned({align})));\nstruct {map}_element {{\n    u32 used;\n    struct {map}_numbers first;\n    struct {map}_numbers second;\n    struct {map}_value value __attribute__((aligned(8)));\n}};\n"
        );
        self.define(&format!("{map}_element"), &text);
        self.map(map, "BPF_MAP_TYPE_ARRAY", size, "u32", &format!("struct {map}_element"));
        let (at, element) = (self.fresh("entry"), self.fresh("element"));
        let count = self.counter(&at);
        self.locals.push(format!("struct {map}_element *{element};"));
        self.put(format!("for ({count} = 0; {count} < {size}; {count}++) {{"));
        self.put(format!("{at} = {count};"));
        self.put(format!("{element} = bpf_map_lookup_elem(&{map}, &{at});"));
        self.put(format!("if (!{element} || !{element}->used) break;"));
        let mut conditions = Vec::new();
        for (number, ((value, ty), kind)) in numbers.iter().zip(kinds).enumerate() {
            let value = bits_of(value, ty);
            let (first, second) =
                (format!("{element}->first.k{number}"), format!("{element}->second.k{number}"));
            conditions.push(match kind {
                MatchKind::Exact => format!("{value} == {first}"),
                MatchKind::Range => format!("{value} >= {first} && {value} <= {second}"),
                _ => format!("({value} & {second}) == {first}"),
            });
        }
        self.put(format!("if ({}) {{", conditions.join(" && ")));
        self.put(format!("{pointer} = &{element}->value;"));
        self.put("break;");
        self.put("}");
        self.put("}");
        let element = (value_at + layout.value_size).next_multiple_of(8);
        layout.maps = TableMaps::Scan { second: half, value: value_at, element };
        layout.key_size = 4;
        let fields = fields
            .into_iter()
            .map(|field| Number { offset: field.offset + first_at, ..field })
            .collect();
        layout.keys = keys(fields, kinds, names);
        Ok(())
    }
}

/// Returns the bits of a number as an unsigned number.
fn bits_of(value: &str, ty: &Type) -> String {
    match plain(ty) {
        Type::Int(width) => {
            let size = c_width(width).unwrap_or(128);
            format!(
                "((u{size}){value} & {})",
                integer(&((num_bigint::BigInt::from(1) << width) - 1))
            )
        }
        _ => value.to_owned(),
    }
}

/// Returns the keys of a layout with their names.
fn keys(numbers: Vec<Number>, kinds: &[MatchKind], names: &[Rc<str>]) -> Vec<KeyLayout> {
    numbers
        .into_iter()
        .zip(kinds)
        .enumerate()
        .map(|(at, (number, kind))| {
            let name = names.get(at).cloned().unwrap_or_else(|| "key".into());
            KeyLayout { number: Number { name, ..number }, kind: *kind }
        })
        .collect()
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
pub(super) fn control_name(decl: &Decl) -> String {
    let name = name_of(&decl.annotations);
    name.as_deref().map_or(&*decl.name.text, |name| name.trim_start_matches('.')).to_owned()
}

/// Returns the name that the annotation `@name` gives.
pub(super) fn name_of(annotations: &[Annotation]) -> Option<String> {
    let annotation = annotations.iter().find(|one| &*one.name.text == "name")?;
    match &annotation.body[..] {
        [token] if token.kind == crate::token::TokenKind::Text => Some(token.text.to_string()),
        _ => None,
    }
}

/// Returns the number of masks that entries of these keys can have, at most [`MOST_MASKS`].
fn most_masks(kinds: &[MatchKind], numbers: &[(String, Type)]) -> u32 {
    kinds.iter().zip(numbers).fold(1u32, |product, (kind, (_, ty))| {
        let width = plain(ty).width().unwrap_or(1);
        let masks = match kind {
            MatchKind::Exact => 1,
            MatchKind::Optional => 2,
            MatchKind::Lpm => width + 1,
            _ => 1u32.checked_shl(width).unwrap_or(u32::MAX),
        };
        product.saturating_mul(masks).min(MOST_MASKS)
    })
}
