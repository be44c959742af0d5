//! Translates tables: constant entries to branches, other entries to tables of the pipeline (see
//! [`layout`]).

use super::layout::{FieldOfKey, FieldOfParam, SwxAction, SwxTable};
use super::number::{Number, Piece};
use super::place::{Place, is_number, is_signed};
use super::*;
use crate::annotations::name_of;
use crate::check::Named;
use crate::tables::{self, DEFAULT_SIZE};
use crate::xdp::layout::{ActionLayout, KeyLayout, MatchKind, Number as Numbered};
use crate::xdp::layout::{TableLayout, TableMaps};
use slowpath_swx::spec::{
    ActionRef as SwxActionRef, DefaultAction, KeyField, Match, Table as SwxTableSpec, Use,
};

/// Property `implementation` of a table.
enum Implementation {
    /// A map of `ebpf_model`, with its largest number of entries.
    Size(u32),
    /// An action profile, whose members are actions.
    Profile,
}

/// Result of a table lookup.
pub(super) enum Applied {
    /// The result is that of the pipeline's last `table` instruction.
    Table,
    /// The result is in metadata fields, because the entries became branches.
    Inline {
        /// Field that is not 0 after a hit.
        hit: FieldRef,
        /// Field with the action that ran: its index in the list of the table, plus 1.
        action: FieldRef,
    },
}

/// Properties of a table that the translation uses.
pub(super) struct Properties<'a> {
    pub table: tables::Properties<'a>,
    counter: Option<Direct>,
    meter: Option<Direct>,
}

/// A direct counter or meter: an array with one element for each entry of a table.
struct Direct {
    path: String,
    /// True if every hit counts (v1model). Otherwise, the program calls a method to count (PSA).
    is_implicit: bool,
    span: Span,
}

/// SWX action for an action of a P4 table.
pub(super) struct Made {
    pub name: String,
    pub layout: ActionLayout,
    pub fields: Vec<FieldOfParam>,
}

impl<'a> Generator<'a> {
    /// Returns the declarations of a table's actions, in the order of its list.
    pub(super) fn table_actions(&self, table: DeclId) -> Vec<DeclId> {
        match self.nodes.get(&table).map(|decl| &*decl.kind) {
            Some(DeclKind::Table(table)) => tables::actions_of(self.checked, table),
            _ => Vec::new(),
        }
    }

    /// Returns the pipeline's name for the action at index `at` in the list of a table.
    pub(super) fn action_name(&self, table: DeclId, at: usize) -> Option<String> {
        let path = self.paths.get(&table)?;
        let table = self.layout.tables.iter().find(|one| one.table.name == *path)?;
        table.actions.get(at).map(|one| one.name.clone())
    }

    pub(super) fn action_of(&self, action: &Expr) -> Option<DeclId> {
        tables::action_of(self.checked, action)
    }

    fn properties(&mut self, decl: &'a Decl, table: &'a Table) -> Result<Properties<'a>> {
        let mut of = tables::Properties::of(table, &|expr| self.constant(expr));
        if let Some(value) = of.implementation {
            match self.implementation(value) {
                Some(Implementation::Size(size)) => of.size = size.max(1),
                // Entries have the actions of their members.
                Some(Implementation::Profile) => {}
                None => {
                    return self.unsupported(
                        value.span,
                        format!("the implementation of table '{}'", decl.name.text),
                    );
                }
            }
        }
        let counter = of.counter.map(|value| self.direct(value, "direct_counter")).transpose()?;
        let meter = of.meter.map(|value| self.direct(value, "direct_meter")).transpose()?;
        Ok(Properties { table: of, counter, meter })
    }

    /// Returns the implementation of a table; `None` if SWX does not support it.
    fn implementation(&mut self, value: &'a Expr) -> Option<Implementation> {
        let Binding::Instance(instance) = self.object_of(value)? else { return None };
        let Type::Extern(Named { name, .. }) = &instance.ty else { return None };
        match (&**name, instance.args.first()) {
            ("action_profile" | "ActionProfile", _) => Some(Implementation::Profile),
            (
                "hash_table" | "array_table",
                Some(Some(Binding::Constant(Value::Number(number)))),
            ) => num_traits::ToPrimitive::to_u32(number).map(Implementation::Size),
            _ => None,
        }
    }

    /// Returns the direct counter or meter that a table property names.
    fn direct(&mut self, value: &'a Expr, kind: &str) -> Result<Direct> {
        let words = kind.replace('_', " ");
        let Some(Binding::Instance(instance)) = self.object_of(value) else {
            return self.unsupported(value.span, format!("this {words}"));
        };
        self.check_packets(&instance, &words, value.span)?;
        let is_implicit = matches!(&instance.ty, Type::Extern(named) if &*named.name == kind);
        Ok(Direct { path: instance.path, is_implicit, span: value.span })
    }

    fn match_kind(&self, key: &Key) -> Result<MatchKind> {
        match tables::match_kind(key) {
            Some(kind) => Ok(kind),
            None => self.unsupported(key.kind.span, format!("match kind {}", key.kind.text)),
        }
    }

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
        let properties = self.properties(decl, table)?;
        let mut values = Vec::new();
        for key in &properties.table.keys {
            values.push(self.key_value(&key.value)?);
        }
        self.here = call.span;
        let direct = properties.counter.as_ref().or(properties.meter.as_ref());
        match (properties.table.entries, direct) {
            (Some((_, true)), Some(direct)) => {
                self.unsupported(direct.span, "a direct counter or meter of constant entries")
            }
            (Some((entries, true)), None) => self.constant_entries(&properties, entries, &values),
            _ => {
                self.look_up(decl, &path, &properties, &values)?;
                Ok(Applied::Table)
            }
        }
    }

    // --- constant entries ----------------------------------------------------------------------

    fn constant_entries(
        &mut self,
        properties: &Properties<'a>,
        entries: &'a [Entry],
        values: &[(Place, Type)],
    ) -> Result<Applied> {
        let hit = self.saved(Operand::Immediate(0), 8);
        let action = self.saved(Operand::Immediate(0), 16);
        let applied = Applied::Inline { hit: hit.clone(), action };
        let order = properties.table.in_order(entries, &|expr| self.constant(expr));
        let end = self.label("end_table");
        let around = self.here;
        for entry in order {
            self.here = entry.span;
            let next = self.label("entry");
            self.scoped(|this| {
                this.jump_unless_in(&entry.sets, values, entry.span, &next)?;
                this.copy(hit.clone(), Operand::Immediate(1));
                this.run_listed(properties, &entry.action, &applied)
            })?;
            self.jump(&end);
            self.mark(&next);
        }
        self.here = around;
        match properties.table.default {
            Some(default) => {
                self.scoped(|this| this.run_listed(properties, default, &applied))?;
            }
            None => {
                if let Some(at) = self.no_action(properties)
                    && let Applied::Inline { action, .. } = &applied
                {
                    self.copy(action.clone(), Operand::Immediate(at as u64 + 1));
                }
            }
        }
        self.mark(&end);
        Ok(applied)
    }

    /// Returns the index of `NoAction` in the action list of a table.
    pub(super) fn no_action(&self, properties: &Properties<'a>) -> Option<usize> {
        properties.table.actions.iter().position(|one| {
            self.action_of(&one.action)
                .and_then(|id| self.nodes.get(&id))
                .is_some_and(|decl| &*decl.name.text == "NoAction")
        })
    }

    /// Emits an action of a table with the arguments that an entry of the program states.
    fn run_listed(
        &mut self,
        properties: &Properties<'a>,
        action: &'a Expr,
        applied: &Applied,
    ) -> Result<()> {
        let Some(decl) = self.action_of(action).and_then(|id| self.nodes.get(&id).copied()) else {
            return self.unsupported(action.span, "this action");
        };
        let DeclKind::Action { params, .. } = &*decl.kind else { return Ok(()) };
        let listed = self.listed(properties, decl.id);
        if let (Some((at, _)), Applied::Inline { action, .. }) = (listed, applied) {
            self.copy(action.clone(), Operand::Immediate(at as u64 + 1));
        }
        let mut given = Vec::new();
        let mut directed = 0;
        for (at, param) in params.iter().enumerate() {
            if param.direction != Direction::None {
                given.push(self.directed(listed.map(|one| one.1), directed));
                directed += 1;
                continue;
            }
            given.push(self.entry_argument(action, at).map_or(Given::Missing, Given::Expr));
        }
        self.run_action(decl, given)
    }

    pub(super) fn listed(
        &self,
        properties: &Properties<'a>,
        id: DeclId,
    ) -> Option<(usize, &'a ActionRef)> {
        let mut all = properties.table.actions.iter().enumerate();
        all.find(|(_, one)| self.action_of(&one.action) == Some(id))
    }

    /// Returns the argument that the table's action list states for the parameter at index `at`,
    /// which has a direction.
    pub(super) fn directed(&self, listed: Option<&'a ActionRef>, at: usize) -> Given<'a> {
        let found = listed.and_then(|one| {
            let call = self.checked.calls.get(&one.action.id)?;
            arguments(&one.action).get(call.args.get(at).copied().flatten()?)
        });
        found.map_or(Given::Missing, |arg| Given::Expr(&arg.value))
    }

    /// Returns the argument of an entry for the parameter at index `at`.
    pub(super) fn entry_argument(&self, action: &'a Expr, at: usize) -> Option<&'a Expr> {
        let call = self.checked.calls.get(&action.id)?;
        let at = call.args.get(at).copied().flatten()?;
        arguments(action).get(at).map(|arg| &arg.value)
    }

    // --- tables of the pipeline ----------------------------------------------------------------

    fn look_up(
        &mut self,
        decl: &'a Decl,
        path: &str,
        properties: &Properties<'a>,
        values: &[(Place, Type)],
    ) -> Result<()> {
        let known = self.layout.tables.iter().position(|one| one.table.name == *path);
        let name = match known {
            Some(at) => self.layout.tables[at].table.map.clone(),
            None => self.name(path),
        };
        let (numbers, keys) = self.key_parts(properties, values)?;
        let (of_keys, key) = self.key(&name, &numbers, known.is_some());
        let exits = std::mem::replace(&mut self.exits, false);
        for direct in properties.counter.iter().chain(&properties.meter) {
            self.direct.insert(direct.path.clone(), properties.table.size);
            if keys.iter().any(|key| key.kind != MatchKind::Exact) {
                self.conditions.insert(format!(
                    "the control plane leaves the entries of table '{path}' as they are, because \
                     DPDK numbers them again, and '{}' counts by number",
                    direct.path
                ));
            }
        }
        let mut made = Vec::new();
        for one in properties.table.actions {
            made.push(self.action(one)?);
        }
        let mut references: Vec<SwxActionRef> = made
            .iter()
            .map(|one| SwxActionRef {
                line: Line::default(),
                name: one.name.clone(),
                used: match (one.layout.in_entries, one.layout.as_default) {
                    (true, false) => Use::TableOnly,
                    (false, true) => Use::DefaultOnly,
                    _ => Use::Any,
                },
            })
            .collect();
        let default_action = self.default_action(properties, &made, &mut references)?;
        let line = Line::default();
        let spec = SwxTableSpec {
            line,
            name: name.clone(),
            key,
            actions: references,
            default_action,
            hash: None,
            kind: None,
            pragma: None,
            size: properties.table.size,
        };
        self.add_table(spec, &decl.name.text)?;
        if known.is_none() {
            let initial = self.initial_entries(path, properties, values)?;
            if !initial.is_empty() {
                self.conditions.insert(format!(
                    "the control plane adds the entries of the program to table '{path}'"
                ));
            }
            let mut actions = Vec::new();
            let mut layouts = Vec::new();
            for one in made {
                actions.push(SwxAction { name: one.name, fields: one.fields });
                layouts.push(one.layout);
            }
            let mut table = table_layout(path, &name, keys, properties.table.size);
            table.actions = layouts;
            table.has_default_map = !properties.table.has_constant_default;
            table.initial = initial;
            let (keys, room) = (of_keys, properties.table.size);
            self.layout.tables.push(SwxTable { table, keys, actions, room, is_set: false });
        }
        self.put(Op::Table { table: name });
        if let Some(Direct { path, is_implicit: true, span }) = &properties.counter {
            let missed = self.label("missed");
            self.jump_on(Condition::Miss, &missed);
            self.count_entry(path, *span)?;
            self.mark(&missed);
        }
        for direct in properties.counter.iter().chain(&properties.meter) {
            self.direct.remove(&direct.path);
        }
        if self.exits {
            let on = self.label("goes_on");
            let exited = Operand::Field(FieldRef::Meta(pipeline::EXITED.to_owned()));
            self.jump_compared(Relation::Eq, &exited, &Operand::Immediate(0), &on);
            self.exit(Span::default())?;
            self.mark(&on);
        }
        self.exits = exits;
        Ok(())
    }

    fn initial_entries(
        &self,
        path: &str,
        properties: &Properties<'a>,
        values: &[(Place, Type)],
    ) -> Result<Vec<crate::xdp::entries::Entry>> {
        let types: Vec<Type> = values.iter().map(|one| one.1.clone()).collect();
        let program = crate::initial::Program {
            checked: self.checked,
            constant: &|expr| self.constant(expr),
            action: &|expr| self.action_of(expr).and_then(|id| self.nodes.get(&id).copied()),
            members: &|ty| match is_number(ty) {
                true => None,
                false => Some(self.members(ty).into_iter().map(|one| one.1).collect()),
            },
            refusal: &|span, what| {
                P4Error::unsupported(span, format!("{what} cannot be compiled for SWX yet"))
            },
        };
        properties.table.initial(path, &program, &types)
    }

    /// Emits code that looks up values in a value set, and jumps to `target` if they are not in it.
    pub(super) fn look_up_set(
        &mut self,
        set: &'a Expr,
        values: &[(Place, Type)],
        target: &str,
    ) -> Result<()> {
        let decl = self.checked.uses.get(&set.id).and_then(|id| self.nodes.get(id).copied());
        let Some((decl, DeclKind::ValueSet { size, .. })) = decl.map(|decl| (decl, &*decl.kind))
        else {
            return self.unsupported(set.span, "this value set");
        };
        if let Type::Set(of) = self.ty(set)
            && let Type::Fields(_, named) = &*of
            && let Some(DeclKind::Fields(fields)) = self.nodes.get(&named.id).map(|one| &*one.kind)
            && fields.fields.iter().flat_map(|one| &one.annotations).any(|one| {
                &*one.name.text == "match" && one.body.first().is_some_and(|one| !one.is("exact"))
            })
        {
            return self.unsupported(set.span, "a value set with match kinds");
        }
        let path = match self.paths.get(&decl.id) {
            Some(path) => path.clone(),
            None => decl.name.text.to_string(),
        };
        let known = self.layout.tables.iter().find(|one| one.table.name == path);
        let is_known = known.is_some();
        let name = match known {
            Some(known) => known.table.map.clone(),
            None => self.name(&path),
        };
        let (mut numbers, mut keys) = (Vec::new(), Vec::new());
        for (at, (place, ty)) in values.iter().enumerate() {
            if !place.headers().is_empty() {
                return self.unsupported(set.span, format!("a value set of {ty}"));
            }
            let text = if values.len() == 1 { "value".to_owned() } else { format!("value{at}") };
            add_parts(place, (&text, MatchKind::Exact), &mut numbers, &mut keys);
        }
        let (of_keys, key) = self.key(&name, &numbers, is_known);
        let line = Line::default();
        let instructions =
            vec![Instruction { origin: self.origin(), ..Instruction::new(Op::Return) }];
        let action = self.define_action("NoAction", &[], instructions)?;
        let size = self.known_number(size).unwrap_or(DEFAULT_SIZE).max(1);
        let default_action =
            DefaultAction { line, name: action.clone(), arguments: Vec::new(), constant: true };
        let spec = SwxTableSpec {
            line,
            name: name.clone(),
            key,
            actions: vec![SwxActionRef { line, name: action.clone(), used: Use::Any }],
            default_action,
            hash: None,
            kind: None,
            pragma: None,
            size,
        };
        self.add_table(spec, &decl.name.text)?;
        if !is_known {
            let layout = ActionLayout {
                name: Rc::from("NoAction"),
                id: 0,
                params: Vec::new(),
                in_entries: true,
                as_default: false,
            };
            let mut table = table_layout(&path, &name, keys, size);
            table.actions.push(layout);
            let actions = vec![SwxAction { name: action, fields: Vec::new() }];
            let (keys, room) = (of_keys, size);
            self.layout.tables.push(SwxTable { table, keys, actions, room, is_set: true });
        }
        self.put(Op::Table { table: name });
        self.jump_on(Condition::Miss, target);
        Ok(())
    }

    /// Adds a table to the pipeline. Returns an error if the pipeline already has a different table
    /// of this name.
    fn add_table(&mut self, spec: SwxTableSpec, name: &str) -> Result<()> {
        match self.spec.tables.iter().find(|one| one.name == spec.name) {
            None => self.spec.tables.push(spec),
            Some(before) if *before == spec => {}
            Some(_) => {
                return self.unsupported(
                    Span::default(),
                    format!("table '{name}' that is applied to different places"),
                );
            }
        }
        Ok(())
    }

    /// Returns the numbers of a table's key with their match kinds, and the keys for the layout.
    #[allow(clippy::type_complexity, reason = "one caller takes both lists apart")]
    fn key_parts(
        &mut self,
        properties: &Properties<'a>,
        values: &[(Place, Type)],
    ) -> Result<(Vec<(Number, MatchKind)>, Vec<KeyLayout>)> {
        let (mut numbers, mut keys) = (Vec::new(), Vec::new());
        for (key, (place, ty)) in properties.table.keys.iter().zip(values) {
            let kind = self.match_kind(key)?;
            let text = name_of(&key.annotations).unwrap_or_else(|| self.key_text(&key.value));
            if kind == MatchKind::Range && is_signed(ty) {
                return self.unsupported(key.kind.span, "a range of a signed number");
            }
            if !place.headers().is_empty() {
                return self.unsupported(key.value.span, format!("a key of type {ty}"));
            }
            add_parts(place, (&text, kind), &mut numbers, &mut keys);
        }
        Ok((numbers, keys))
    }

    /// Returns two lists for the pipeline's key: the bits of the P4 key that each field holds, and
    /// the fields themselves. The key is copied to metadata unless it consists of adjacent fields
    /// in one header.
    fn key(
        &mut self,
        table: &str,
        numbers: &[(Number, MatchKind)],
        is_known: bool,
    ) -> (Vec<FieldOfKey>, Vec<KeyField>) {
        let prefixes = numbers.iter().filter(|one| one.1 == MatchKind::Lpm).count();
        let others = numbers.iter().any(|one| !matches!(one.1, MatchKind::Exact | MatchKind::Lpm));
        let pieces: Vec<Piece> =
            numbers.iter().flat_map(|one| one.0.pieces.iter().rev().cloned()).collect();
        let in_place = self.stand_together(&pieces);
        let (mut of_keys, mut key) = (Vec::new(), Vec::new());
        for (at, (number, kind)) in numbers.iter().enumerate() {
            let place = match in_place {
                true => {
                    self.touch(number.header.as_ref());
                    number.clone()
                }
                false => {
                    let copy = self.key_copy(table, at, number, is_known);
                    let value = self.load(number);
                    self.put_number(&copy, &value);
                    copy
                }
            };
            let kind = match kind {
                MatchKind::Exact => Match::Exact,
                MatchKind::Lpm if prefixes == 1 && !others && place.pieces.len() == 1 => Match::Lpm,
                _ => Match::Wildcard,
            };
            let mut top = place.width();
            for piece in place.pieces.iter().rev() {
                top -= piece.width;
                // Temporary fields have 8, 16, 32 or 64 bits.
                let whole = match &piece.field {
                    FieldRef::Meta(name) => self.fields.iter().find(|one| one.0 == *name),
                    _ => None,
                };
                let (bits, whole) = (piece.width, whole.map_or(piece.bits, |one| one.1));
                of_keys.push(FieldOfKey { key: at, low: top, bits, whole });
                let field = piece.field.clone();
                key.push(KeyField { line: Line::default(), field, kind });
            }
        }
        (of_keys, key)
    }

    /// Returns true if the pieces of a key need no copy: they are a single field, or whole adjacent
    /// fields of one header.
    fn stand_together(&self, pieces: &[Piece]) -> bool {
        if pieces.iter().any(|piece| !piece.whole) {
            return false;
        }
        if let [only] = pieces {
            return !matches!(only.field, FieldRef::Data(_));
        }
        let mut at = None;
        for piece in pieces {
            let FieldRef::Header { header, field } = &piece.field else { return false };
            let kind = self.spec.headers.iter().find(|one| one.name == *header);
            let kind =
                kind.and_then(|kind| self.spec.structs.iter().find(|one| one.name == kind.kind));
            let Some((_, offset)) = kind.and_then(|kind| kind.field(field)) else { return false };
            if at.is_some_and(|(of, end)| of != header || end != offset) {
                return false;
            }
            at = Some((header, offset + piece.bits));
        }
        !pieces.is_empty()
    }

    /// Creates metadata fields for a copy of a number in the key.
    fn key_copy(&mut self, table: &str, at: usize, number: &Number, is_known: bool) -> Number {
        let table: String = table.chars().take(LONGEST_NAME - 20).collect();
        let width = number.width();
        let mut pieces = Vec::new();
        for part in (0..width.div_ceil(64).max(1)).rev() {
            let bits = (width - part * 64).min(64);
            let name = format!("{table}_key_{at}_{part}");
            let whole = bits.next_multiple_of(8).max(8);
            let name = if is_known { name } else { self.field(&name, whole) };
            self.groups.insert(name.clone());
            let field = FieldRef::Meta(name);
            pieces.push(Piece { field, bits: whole, low: 0, width: bits, whole: true });
        }
        pieces.reverse();
        Number { pieces, header: None }
    }

    fn key_text(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Name { name, .. } => name.text.to_string(),
            ExprKind::Member { base, name } => format!("{}.{}", self.key_text(base), name.text),
            ExprKind::Index { base, index } => match self.known_number(index) {
                Some(at) => format!("{}[{at}]", self.key_text(base)),
                None => format!("{}[…]", self.key_text(base)),
            },
            ExprKind::Call { function, .. } => format!("{}()", self.key_text(function)),
            ExprKind::Slice { base, high, low } => format!(
                "{}[{}:{}]",
                self.key_text(base),
                self.known_number(high).unwrap_or(0),
                self.known_number(low).unwrap_or(0)
            ),
            ExprKind::Cast { operand, .. } => self.key_text(operand),
            _ => "key".to_owned(),
        }
    }
}

/// Creates the layout of a table, without its actions.
fn table_layout(path: &str, name: &str, keys: Vec<KeyLayout>, size: u32) -> TableLayout {
    TableLayout {
        name: path.to_owned(),
        map: name.to_owned(),
        maps: if keys.is_empty() { TableMaps::None } else { TableMaps::Hash },
        key_size: 0,
        value_size: 0,
        priority: None,
        members: None,
        meter: None,
        size,
        keys,
        actions: Vec::new(),
        has_default_map: false,
        initial: Vec::new(),
    }
}

/// Appends the numbers in a key field to `numbers` and `keys`. The name of a number consists of
/// `text` and its path in the key field.
fn add_parts(
    place: &Place,
    (text, kind): (&str, MatchKind),
    numbers: &mut Vec<(Number, MatchKind)>,
    keys: &mut Vec<KeyLayout>,
) {
    let mut parts = Vec::new();
    leaves(place, "", &mut parts);
    for (part, number) in parts {
        let name = Rc::from(format!("{text}{part}"));
        let layout = Numbered { name, width: number.width(), offset: 0, size: 0 };
        keys.push(KeyLayout { number: layout, kind });
        numbers.push((number, kind));
    }
}

/// Appends the numbers inside a location to `found`, each with its path.
fn leaves(place: &Place, path: &str, found: &mut Vec<(String, Number)>) {
    match place {
        Place::Number(number) => found.push((path.to_owned(), number.clone())),
        Place::Parts(parts) => {
            for (name, part) in &parts.members {
                leaves(part, &format!("{path}.{name}"), found);
            }
        }
        _ => {}
    }
}

fn arguments(action: &Expr) -> &[Arg] {
    match &action.kind {
        ExprKind::Call { args, .. } => args,
        _ => &[],
    }
}
