//! Looks up packets in tables: in the constant entries of the program, or in the content of maps.

use super::*;
use crate::annotations::control_name;
use crate::xdp::layout::{KeyLayout, MatchKind, Number, TableLayout, TableMaps};

/// Action that a table lookup selects.
enum Chosen<'a> {
    /// A call in the program: the action of a constant entry, or the default action.
    Call(&'a Expr),
    /// Value of a map element, which starts with the number of an action of the table.
    Value(Vec<u8>),
}

impl<'a> Walker<'a> {
    /// Runs `table.apply()`. Returns the result as a struct with `hit`, `miss` and the action.
    pub(super) fn apply_table(&mut self, id: DeclId, span: Span) -> Result<Data> {
        let Some(decl) = self.nodes.get(&id).copied() else { return stop(span, "this table") };
        let DeclKind::Table(table) = &*decl.kind else { return stop(span, "this table") };
        let path = self.paths.get(&id).cloned().unwrap_or_default();
        let mut keys = Vec::new();
        for key in table.properties.iter().find_map(keys_of).unwrap_or_default() {
            keys.push((&*key.kind.text, self.value(&key.value)?));
        }
        let constant = table.properties.iter().find_map(|property| match &property.value {
            PropertyValue::Entries(entries) if property.is_const => Some(entries),
            _ => None,
        });
        let layout = self.layout.tables.iter().find(|one| one.name == path);
        let entry = match (constant, layout) {
            (Some(entries), _) => self.entry(table, entries, &keys)?.map(Chosen::Call),
            (None, Some(layout)) if layout.maps != TableMaps::None => {
                let numbers = self.numbers(&keys, span)?;
                self.look_up(layout, &numbers).map(Chosen::Value)
            }
            _ => None,
        };
        let members = layout.and_then(|one| one.members.as_ref());
        let entry = match (entry, members) {
            (Some(Chosen::Value(_)), Some(members)) if members.groups.is_some() => {
                return stop(span, "a selector, whose hash chooses the action,");
            }
            (Some(Chosen::Value(value)), Some(members)) => {
                let number = word(&value, 0);
                let all = self.content.get(&members.map).map(Vec::as_slice).unwrap_or_default();
                let found = all.iter().find(|one| word(&one.0, 0) == number);
                let member = found.and_then(|one| one.1.clone()).filter(|one| word(one, 0) != 0);
                let Some(member) = member else { return stop(span, "an unknown member") };
                Some(Chosen::Value(member))
            }
            (entry, _) => entry,
        };
        let hit = entry.is_some();
        let chosen = entry.or_else(|| {
            let (key, value) = self.content.get(&format!("{}_default", layout?.map))?.first()?;
            let value = value.clone().filter(|_| key.iter().all(|byte| *byte == 0))?;
            (word(&value, 0) != 0).then_some(Chosen::Value(value))
        });
        let default = table.properties.iter().find_map(|property| match &property.value {
            PropertyValue::Expr(value) if &*property.name.text == "default_action" => Some(value),
            _ => None,
        });
        let ran =
            self.run_chosen(table, layout, chosen.or(default.map(Chosen::Call)), (path, hit))?;
        let truth = |value| Data::known(Value::Bool(value));
        let action = ran.map(|id| Value::Member(id, "".into()));
        let fields =
            [("hit", truth(hit)), ("miss", truth(!hit)), ("action_run", Data::Leaf(action))];
        let fields = fields.into_iter().map(|(name, data)| (Rc::from(name), data)).collect();
        Ok(Data::Fields(FieldsKind::Struct, true, fields))
    }

    /// Runs the selected action of a table, and records the table with its result. Returns the
    /// action.
    fn run_chosen(
        &mut self,
        table: &'a Table,
        layout: Option<&'a TableLayout>,
        chosen: Option<Chosen<'a>>,
        (path, hit): (String, bool),
    ) -> Result<Option<DeclId>> {
        let actions = table.properties.iter().find_map(|property| match &property.value {
            PropertyValue::Actions(actions) => Some(&actions[..]),
            _ => None,
        });
        let actions = actions.unwrap_or_default();
        let mut values = Vec::new();
        let (id, listed) = match chosen {
            None => {
                // Without a default action, the action is NoAction.
                let listed = actions.iter().find(|one| {
                    let id = self.action_id(&one.action);
                    id.and_then(|id| self.nodes.get(&id))
                        .is_some_and(|it| &*it.name.text == "NoAction")
                });
                let id = listed.and_then(|one| self.action_id(&one.action));
                let action = id.map_or("", |_| "NoAction").to_owned();
                self.walk.tables.push(TableRun { table: path, hit, action, args: Vec::new() });
                return Ok(id);
            }
            Some(Chosen::Call(call)) => {
                let Some(id) = self.action_id(call) else { return stop(call.span, "this action") };
                let listed = actions.iter().find(|one| self.action_id(&one.action) == Some(id));
                if let (ExprKind::Call { args, .. }, Some(meaning)) =
                    (&call.kind, self.checked.calls.get(&call.id))
                {
                    let directed = self.directed(id);
                    for at in meaning.args.iter().skip(directed) {
                        values.push(match at {
                            Some(at) => self.value(&args[*at].value)?,
                            None => Data::Leaf(None),
                        });
                    }
                }
                (id, listed)
            }
            Some(Chosen::Value(value)) => {
                let Some(layout) = layout else { return Ok(None) };
                let number = word(&value, 0);
                // The translated program runs the last action for every other number.
                let at = layout.actions.iter().position(|one| one.id == number);
                let at = at.unwrap_or(layout.actions.len().saturating_sub(1));
                let (Some(action), Some(listed)) = (layout.actions.get(at), actions.get(at)) else {
                    return Ok(None);
                };
                let Some(id) = self.action_id(&listed.action) else {
                    return stop(listed.action.span, "this action");
                };
                for param in &action.params {
                    values.push(Data::known(Value::Number(number_at(&value, param))));
                }
                (id, Some(listed))
            }
        };
        let Some(decl) = self.nodes.get(&id).copied() else { return Ok(None) };
        let DeclKind::Action { params, .. } = &*decl.kind else { return Ok(None) };
        let set = params.iter().filter(|param| param.direction == Direction::None);
        let args = set.zip(&values).map(|(param, data)| (param.name.text.to_string(), hex(data)));
        let args = args.collect();
        self.walk.tables.push(TableRun { table: path, hit, action: control_name(decl), args });
        let mut directed = Vec::new();
        if let Some(ActionRef { action, .. }) = listed
            && let (ExprKind::Call { args, .. }, Some(meaning)) =
                (&action.kind, self.checked.calls.get(&action.id))
        {
            directed.extend(meaning.args.iter().map(|at| at.map(|at| &args[at].value)));
        }
        self.action(id, &directed, values.into_iter())?;
        Ok(Some(id))
    }

    /// Returns the number of an action's parameters that have a direction.
    pub(super) fn directed(&self, id: DeclId) -> usize {
        match self.nodes.get(&id).map(|decl| &*decl.kind) {
            Some(DeclKind::Action { params, .. }) => {
                params.iter().filter(|param| param.direction != Direction::None).count()
            }
            _ => 0,
        }
    }

    fn action_id(&self, action: &Expr) -> Option<DeclId> {
        let function = match &action.kind {
            ExprKind::Call { function, .. } => function,
            _ => action,
        };
        self.checked.uses.get(&function.id).copied()
    }

    /// Returns the action of the constant entry that matches the keys (section 14.2.1.4 of the
    /// specification); `None` if no entry matches.
    fn entry(
        &mut self,
        table: &'a Table,
        entries: &'a [Entry],
        keys: &[(&str, Data)],
    ) -> Result<Option<&'a Expr>> {
        let values: Vec<Data> = keys.iter().map(|one| one.1.clone()).collect();
        let prefix = keys.iter().position(|one| one.0 == "lpm");
        let ordered = keys.iter().any(|one| matches!(one.0, "ternary" | "range" | "optional"));
        let annotated = |entry: &Entry| {
            let found = entry.annotations.iter().find(|one| &*one.name.text == "priority")?;
            found.body.first()?.text.parse::<i64>().ok()
        };
        let property = |name: &str| {
            table.properties.iter().find_map(|one| match &one.value {
                PropertyValue::Expr(value) if &*one.name.text == name => {
                    self.checked.constants.get(&value.id).cloned()
                }
                _ => None,
            })
        };
        let is_annotated = entries.iter().any(|entry| annotated(entry).is_some());
        let largest_first =
            !is_annotated && property("largest_priority_wins") != Some(Value::Bool(false));
        let delta = property("priority_delta").and_then(|one| one.number()?.to_i64()).unwrap_or(1);
        let step = if largest_first { -delta } else { delta };
        let first = if largest_first { (entries.len() as i64 - 1) * delta + 1 } else { 1 };
        let (mut next, mut best): (i64, Option<(i64, &'a Expr)>) = (first, None);
        for entry in entries {
            let given = entry.priority.as_ref().and_then(|one| {
                self.checked.constants.get(&one.id).and_then(|one| one.number()?.to_i64())
            });
            let priority = given.or_else(|| annotated(entry)).unwrap_or(next);
            next = priority + step;
            if !self.matches(&entry.sets, &values, entry.span)? {
                continue;
            }
            let rank = match prefix {
                Some(at) if !ordered => entry.sets.get(at).map_or(0, |set| self.ones(set)),
                _ if largest_first => priority,
                _ => -priority,
            };
            if best.is_none_or(|best| rank > best.0) {
                best = Some((rank, &entry.action));
            }
        }
        Ok(best.map(|one| one.1))
    }

    /// Returns the prefix length of a set of values: the number of ones of its mask, 0 for all
    /// values, or the maximum for a single value.
    fn ones(&self, set: &Expr) -> i64 {
        match &set.kind {
            ExprKind::Default | ExprKind::DontCare => 0,
            ExprKind::Mask { mask, .. } => {
                let mask = self.checked.constants.get(&mask.id).and_then(Value::number);
                mask.map_or(0, |mask| (0..mask.bits()).filter(|bit| mask.bit(*bit)).count() as i64)
            }
            _ => i64::MAX,
        }
    }

    /// Converts key values to integers. An enum member becomes its index. Negative numbers stay
    /// negative, and the caller masks them to the key's width.
    fn numbers(&self, keys: &[(&str, Data)], span: Span) -> Result<Vec<BigInt>> {
        let mut found = Vec::new();
        for (_, data) in keys {
            self.add_numbers(data, span, &mut found)?;
        }
        Ok(found)
    }

    fn add_numbers(&self, data: &Data, span: Span, found: &mut Vec<BigInt>) -> Result<()> {
        match data {
            Data::Fields(_, _, fields) => {
                fields.iter().try_for_each(|one| self.add_numbers(&one.1, span, found))
            }
            Data::Items(items, _) => {
                items.iter().try_for_each(|one| self.add_numbers(one, span, found))
            }
            Data::Leaf(value) => {
                let place = |at: Option<usize>| BigInt::from(at.unwrap_or(0));
                found.push(match value {
                    Some(Value::Number(number)) => number.clone(),
                    Some(Value::Bool(value)) => u8::from(*value).into(),
                    Some(Value::Error(name)) => {
                        place(self.checked.errors.iter().position(|one| one == name))
                    }
                    Some(Value::Member(id, name)) => {
                        let members = self.checked.enums.get(id).map(|one| &one.members[..]);
                        let members = members.unwrap_or_default();
                        place(members.iter().position(|one| one.0 == *name))
                    }
                    _ => return stop(span, "a key that the packet does not determine"),
                });
                Ok(())
            }
        }
    }

    /// Returns the value of the map element that matches the keys, starting with the number of its
    /// action; `None` if no element matches.
    fn look_up(&self, table: &TableLayout, numbers: &[BigInt]) -> Option<Vec<u8>> {
        let elements = self.content.get(&table.map)?;
        let keys: Vec<(&KeyLayout, BigInt)> = table
            .keys
            .iter()
            .zip(numbers)
            .map(|(key, number)| (key, number & mask(key.number.width)))
            .collect();
        let at = |key: &[u8], number: &Number| number_at(key, number);
        match table.maps {
            TableMaps::None => None,
            TableMaps::Hash => {
                let equal =
                    |key: &[u8]| keys.iter().all(|(one, value)| at(key, &one.number) == *value);
                elements.iter().find(|one| equal(&one.0))?.1.clone()
            }
            TableMaps::Trie => {
                let matching = elements.iter().filter(|(key, value)| {
                    value.is_some()
                        && keys.iter().all(|(one, value)| has_prefix(table, key, one, value))
                });
                matching.max_by_key(|one| word(&one.0, 0))?.1.clone()
            }
            TableMaps::TupleSpace { masks } => {
                let known = self.content.get(&format!("{}_masks", table.map))?;
                let mut best: Option<(u32, Vec<u8>)> = None;
                for tuple in 0..masks {
                    let mask = known.iter().find(|one| word(&one.0, 0) == tuple);
                    let Some(mask) = mask.and_then(|one| one.1.as_ref()) else { break };
                    if word(mask, 0) == 0 {
                        break;
                    }
                    let found = elements.iter().find(|(key, _)| {
                        let same = |one: &KeyLayout, value: &BigInt| {
                            at(key, &one.number) == value & at(mask, &one.number)
                        };
                        word(key, 0) == tuple && keys.iter().all(|(one, value)| same(one, value))
                    });
                    let Some(value) = found.and_then(|one| one.1.as_ref()) else { continue };
                    let priority = word(value, table.priority.unwrap_or(4) as usize);
                    if best.as_ref().is_none_or(|best| priority > best.0) {
                        best = Some((priority, value.clone()));
                    }
                }
                best.map(|one| one.1)
            }
            TableMaps::Scan { second, value: from, .. } => {
                for place in 0..table.size {
                    let element =
                        elements.iter().find(|one| word(&one.0, 0) == place)?.1.as_ref()?;
                    if word(element, 0) == 0 {
                        return None;
                    }
                    let same = |one: &KeyLayout, value: &BigInt| {
                        let later =
                            Number { offset: one.number.offset + second, ..one.number.clone() };
                        let (first, last) = (at(element, &one.number), at(element, &later));
                        match one.kind {
                            MatchKind::Exact => *value == first,
                            MatchKind::Range => *value >= first && *value <= last,
                            _ => value & last == first,
                        }
                    };
                    if keys.iter().all(|(one, value)| same(one, value)) {
                        return element.get(from as usize..).map(<[u8]>::to_vec);
                    }
                }
                None
            }
        }
    }
}

fn keys_of(property: &Property) -> Option<&[Key]> {
    match &property.value {
        PropertyValue::Keys(keys) => Some(keys),
        _ => None,
    }
}

fn mask(width: u32) -> BigInt {
    (BigInt::from(1) << width) - 1
}

/// Returns true if the key of an LPM trie element matches `value` in the key field `one` of the
/// table.
fn has_prefix(table: &TableLayout, key: &[u8], one: &KeyLayout, value: &BigInt) -> bool {
    let Number { width, offset, size, .. } = one.number;
    let bytes = key.get(offset as usize..(offset + size) as usize).unwrap_or_default();
    let found = BigInt::from_bytes_be(Sign::Plus, bytes) >> (8 * size - width);
    if one.kind != MatchKind::Lpm {
        return found == *value;
    }
    let others = table.keys.iter().filter(|other| other.kind != MatchKind::Lpm);
    let before: u32 = others.map(|other| 8 * other.number.size).sum();
    let rest = width.saturating_sub(word(key, 0).saturating_sub(before));
    found >> rest == value >> rest
}

/// Returns the 4 bytes at offset `at` as a little-endian number; 0 if they are missing.
fn word(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    part.map_or(0, u32::from_le_bytes)
}

fn number_at(bytes: &[u8], number: &Number) -> BigInt {
    let (from, to) = (number.offset as usize, (number.offset + number.size) as usize);
    let found = BigInt::from_bytes_le(Sign::Plus, bytes.get(from..to).unwrap_or_default());
    found & mask(number.width)
}

fn hex(data: &Data) -> String {
    match data {
        Data::Leaf(Some(Value::Number(number))) => format!("{number:#x}"),
        Data::Leaf(Some(Value::Bool(value))) => value.to_string(),
        Data::Leaf(Some(Value::Error(name) | Value::Member(_, name))) => name.to_string(),
        _ => "unknown".to_owned(),
    }
}
