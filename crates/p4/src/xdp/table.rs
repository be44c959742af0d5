//! Translates tables: constant entries to branches, other entries to lookups in maps (see
//! [`layout`]).

use super::layout::{ActionLayout, MatchKind, TableLayout, TableMaps};
use super::maps::{MOST_MASKS, ValueLayout, keys, most_masks};
use super::properties::Properties;
use super::storage::{is_scalar, plain};
use super::*;
use crate::annotations::name_of;

/// Largest number of entries of a table with range keys. Each lookup compares them one by one.
const MOST_SCANNED: u32 = 64;

/// C variables with the result of a table lookup.
pub(super) struct Applied {
    /// Variable that is true after a hit.
    pub hit: String,
    /// Variable with the action that ran: its index in the list of the table, plus 1.
    pub action: String,
    /// True if the hit is determined by comparing a pointer into a map with null.
    has_pointer: bool,
}

impl<'a> Generator<'a> {
    /// Emits `table.apply()`; `call` is an expression that the type checker resolved to such a
    /// call.
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
        let properties = self.properties(table, &path)?;
        let mut values = Vec::new();
        let mut selected = Vec::new();
        for key in &properties.table.keys {
            self.at(key.value.span);
            let value = self.key_value(&key.value)?;
            match &*key.kind.text {
                "selector" => selected.push(value),
                _ => values.push(value),
            }
        }
        self.at(call.span);
        let hit = self.variable("hit", &Type::Bool)?;
        let action = self.variable("action", &Type::Bit(32))?;
        let has_pointer = !matches!(properties.table.entries, Some((_, true)));
        let applied = Applied { hit, action, has_pointer };
        match properties.table.entries {
            Some((_, true)) if properties.counter.is_some() || properties.meter.is_some() => {
                return self
                    .unsupported(call.span, "a direct counter or meter of constant entries");
            }
            Some((entries, true)) => {
                self.constant_entries(&properties, entries, &values, &applied)?
            }
            _ => self.map_entries(&path, &properties, &values, &selected, &applied, call.span)?,
        }
        Ok(applied)
    }

    /// Returns the C variable that is true if the lookup was a hit, for use in conditions.
    ///
    /// For several conditions, clang compares pointers with null in one operation, `(a | b) == 0`,
    /// and the kernel's verifier rejects operations on pointers. The emitted assembly makes the hit
    /// a plain number.
    pub(super) fn hidden_hit(&mut self, applied: Applied) -> String {
        if applied.has_pointer {
            self.put(format!("asm(\"\" : \"+r\"({}));", applied.hit));
        }
        applied.hit
    }

    // --- constant entries ----------------------------------------------------------------------

    fn constant_entries(
        &mut self,
        properties: &Properties<'a>,
        entries: &'a [Entry],
        values: &[(String, Type)],
        applied: &Applied,
    ) -> Result<()> {
        let order = properties.table.in_order(entries, &|expr| self.constant(expr));
        let mut first = true;
        for entry in order {
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

    fn run_default(&mut self, properties: &Properties<'a>, applied: &Applied) -> Result<()> {
        match properties.table.default {
            Some(default) => self.run_listed(properties, default, None, applied),
            None => {
                // The default action is NoAction.
                let at = properties.table.actions.iter().position(|one| {
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

    /// Emits an action of a table. The arguments come from an entry of the program, or from the
    /// value of a map element.
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
            .table
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

    // --- maps ----------------------------------------------------------------------------------

    fn map_entries(
        &mut self,
        path: &str,
        properties: &Properties<'a>,
        values: &[(String, Type)],
        selected: &[(String, Type)],
        applied: &Applied,
        span: Span,
    ) -> Result<()> {
        let map = self.map_name(path);
        let mut numbers = Vec::new();
        let (mut kinds, mut names) = (Vec::new(), Vec::<Rc<str>>::new());
        let matched = properties.table.keys.iter().filter(|key| &*key.kind.text != "selector");
        for (key, (value, ty)) in matched.zip(values) {
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
            let masks = properties.table.size.min(most_masks(&kinds, &numbers));
            if masks > MOST_MASKS {
                self.condition(format!(
                    "the entries of table {path} have at most {MOST_MASKS} combinations of masks"
                ));
            }
            TableMaps::TupleSpace { masks: masks.min(MOST_MASKS) }
        } else if prefixes == 1 {
            TableMaps::Trie
        } else {
            TableMaps::Hash
        };
        let is_tuple_space = matches!(maps, TableMaps::TupleSpace { .. });
        let has_priority = is_tuple_space;
        let ValueLayout { size: value_size, actions, members, meter } =
            self.value_structs(&map, properties, has_priority)?;
        let entry = self.fresh("entry");
        self.locals.push(format!("struct {map}_value *{entry};"));
        self.put(format!("{entry} = 0;"));
        // Pointer to the value with the action: that of the entry, or of the member that it names.
        let (pointer, action_map) = match &properties.members {
            None => (entry.clone(), map.clone()),
            Some(members) => {
                let pointer = self.fresh("action");
                self.locals.push(format!("struct {}_value *{pointer};", members.map));
                self.put(format!("{pointer} = 0;"));
                (pointer, members.map.clone())
            }
        };
        let size =
            if ranged { properties.table.size.min(MOST_SCANNED) } else { properties.table.size };
        if size < properties.table.size {
            let most = properties.table.size;
            self.condition(format!("table {path} has at most {size} of its {most} entries"));
        }
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
            has_default_map: !properties.table.has_constant_default,
            members,
            meter,
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
                self.put(format!("{entry} = bpf_map_lookup_elem(&{map}, &{key});"));
            }
            TableMaps::Trie => self.trie(&map, &numbers, &kinds, &names, &mut layout, &entry)?,
            TableMaps::TupleSpace { masks } => {
                let (offsets, bytes) = self.key_struct(&map, &numbers, 4)?;
                layout.key_size = bytes;
                layout.keys = keys(offsets, &kinds, &names);
                self.tuple_space(&map, &numbers, masks, size, &entry)?;
            }
            TableMaps::Scan { .. } => {
                self.scan(&map, &numbers, &kinds, &names, &mut layout, &entry)?
            }
        }
        if matches!(maps, TableMaps::TupleSpace { .. } | TableMaps::Scan { .. }) {
            // clang would join comparisons of several pointers, and the verifier rejects the result.
            self.put(format!("asm(\"\" : \"+r\"({entry}));"));
        }
        if !matches!(maps, TableMaps::None) {
            self.put(format!("if ({entry}) {} = 1;", applied.hit));
            self.use_direct(properties, &entry)?;
        }
        if let Some(members) = &properties.members {
            self.put(format!("if ({entry}) {{"));
            self.find_member(members, &entry, &pointer, selected, span)?;
            self.put("}");
        }
        if layout.has_default_map {
            let default = format!("{map}_default");
            self.map(
                &default,
                "BPF_MAP_TYPE_ARRAY",
                1,
                "u32",
                &format!("struct {action_map}_value"),
            );
            let zero = self.save("zero", &Type::Bit(32), "0")?;
            self.put(format!("if (!{entry}) {{"));
            self.put(format!("{pointer} = bpf_map_lookup_elem(&{default}, &{zero});"));
            self.put(format!("if ({pointer} && !{pointer}->action) {pointer} = 0;"));
            self.put("}");
        }
        if layout.has_default_map || !matches!(maps, TableMaps::None) {
            self.put(format!("if ({pointer}) {{"));
            let mut first = true;
            for (at, one) in properties.table.actions.iter().enumerate() {
                let Some(action) = layout.actions.get(at).cloned() else { continue };
                // Control planes write permitted actions only, so the last one needs no comparison.
                let condition = match (action.in_entries, action.as_default) {
                    (true, true) => None,
                    (true, false) => Some(&applied.hit),
                    (false, _) => Some(&applied.hit).filter(|_| action.as_default),
                };
                let negation = if action.in_entries { "" } else { "!" };
                let last =
                    at + 1 == properties.table.actions.len() && condition.is_none() && !first;
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
            // A hit without an action means that the entry names a missing member.
            self.put(match properties.members {
                Some(_) => format!("}} else if (!{}) {{", applied.hit),
                None => "} else {".to_owned(),
            });
            self.run_default(properties, applied)?;
            self.put("}");
        } else {
            self.run_default(properties, applied)?;
        }
        if !self.layout.tables.iter().any(|one| one.map == map) {
            self.layout.tables.push(layout);
        }
        Ok(())
    }

    /// Emits code that updates the direct counter and meter of an entry. If method calls of the
    /// program do so, records the entry for these calls instead.
    fn use_direct(&mut self, properties: &Properties<'a>, entry: &str) -> Result<()> {
        if let Some(counter) = &properties.counter {
            self.direct.insert(counter.path.clone(), (entry.to_owned(), false));
            if counter.is_implicit {
                self.count_entry(entry, "packet_length");
            }
        }
        if let Some(meter) = &properties.meter {
            self.direct.insert(meter.path.clone(), (entry.to_owned(), meter.counts_bytes));
            if meter.is_implicit {
                self.measure_entry(&meter.path, entry, meter.counts_bytes)?;
            }
        }
        Ok(())
    }

    /// Adds a condition under which the C program does the same as the P4 program.
    fn condition(&mut self, condition: String) {
        if !self.conditions.contains(&condition) {
            self.conditions.push(condition);
        }
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
}
