//! Translates parsers: a parser state becomes one label for each combination of indices that `next`
//! can have in the header stacks.

use super::storage::is_scalar;
use super::*;

/// Largest number of emitted states. A state is emitted once for each index that `next` of a header
/// stack can have.
const MOST_STATES: usize = 2000;

/// A state to emit: its name, and the index that `next` has in each header stack.
type Entry = (Rc<str>, BTreeMap<String, u32>);

impl<'a> Generator<'a> {
    /// Emits a parser whose parameters are already bound. Statements after it run if the parser
    /// accepts the packet.
    pub(super) fn run_parser(&mut self, parser: &'a Parser, span: Span) -> Result<()> {
        for local in &parser.locals {
            self.local(local)?;
        }
        let accept = self.fresh("accept");
        let mut labels: HashMap<Entry, String> = HashMap::new();
        let mut waiting: Vec<Entry> = Vec::new();
        let mut accepted: Option<BTreeMap<String, u32>> = None;
        let before = self.next.clone();
        let start = self.state_label(
            "start".into(),
            &accept,
            &mut labels,
            &mut waiting,
            &mut accepted,
            span,
        )?;
        self.put(format!("goto {start};"));
        while let Some(entry) = waiting.pop() {
            let label = labels[&entry].clone();
            let (name, next) = entry;
            self.next = next;
            let Some(state) = parser.states.iter().find(|state| state.name.text == name) else {
                continue;
            };
            self.at(state.name.span);
            self.put(format!("{label}:;"));
            self.statements(&state.body)?;
            match &state.transition {
                None => self.reject("NoError", state.name.span)?,
                Some(Transition::Direct(to)) => {
                    self.at(to.span);
                    self.go(to, &accept, &mut labels, &mut waiting, &mut accepted)?;
                }
                Some(Transition::Select { keys, cases, span }) => {
                    self.at(*span);
                    let mut values = Vec::new();
                    for key in keys {
                        values.push(self.key_value(key)?);
                    }
                    let mut has_default = false;
                    for case in cases {
                        self.at(case.span);
                        let condition = self.sets_condition(&case.sets, &values, case.span)?;
                        if condition.is_empty() {
                            self.go(
                                &case.state,
                                &accept,
                                &mut labels,
                                &mut waiting,
                                &mut accepted,
                            )?;
                            has_default = true;
                            break;
                        }
                        self.put(format!("if ({}) {{", condition.join(" && ")));
                        self.go(&case.state, &accept, &mut labels, &mut waiting, &mut accepted)?;
                        self.put("}");
                    }
                    if !has_default {
                        self.reject("NoMatch", *span)?;
                    }
                }
            }
            if labels.len() > MOST_STATES {
                return self.unsupported(
                    span,
                    format!(
                        "a parser with more than {MOST_STATES} states after its stacks are expanded"
                    ),
                );
            }
        }
        self.put(format!("{accept}:;"));
        self.next = accepted.unwrap_or(before);
        Ok(())
    }

    fn go(
        &mut self,
        to: &'a Ident,
        accept: &str,
        labels: &mut HashMap<Entry, String>,
        waiting: &mut Vec<Entry>,
        accepted: &mut Option<BTreeMap<String, u32>>,
    ) -> Result<()> {
        if &*to.text == "reject" {
            return self.reject("", to.span);
        }
        let label =
            self.state_label(to.text.clone(), accept, labels, waiting, accepted, to.span)?;
        self.put(format!("goto {label};"));
        Ok(())
    }

    fn state_label(
        &mut self,
        name: Rc<str>,
        accept: &str,
        labels: &mut HashMap<Entry, String>,
        waiting: &mut Vec<Entry>,
        accepted: &mut Option<BTreeMap<String, u32>>,
        span: Span,
    ) -> Result<String> {
        if &*name == "accept" {
            match accepted {
                Some(known) if *known != self.next && self.frames.len() > 1 => {
                    return self.unsupported(
                        span,
                        "a parser in a parser that leaves stacks at different indices",
                    );
                }
                _ => *accepted = Some(self.next.clone()),
            }
            return Ok(accept.to_owned());
        }
        let entry = (name, self.next.clone());
        if let Some(label) = labels.get(&entry) {
            return Ok(label.clone());
        }
        let label = self.fresh(&entry.0);
        labels.insert(entry.clone(), label.clone());
        waiting.push(entry);
        Ok(label)
    }

    /// Emits code that rejects the packet with a parser error. An empty name keeps the current
    /// error.
    pub(super) fn reject(&mut self, error: &str, span: Span) -> Result<()> {
        let Some(label) = self.in_parser.clone() else {
            return self.unsupported(span, "this construct outside of a parser");
        };
        if !error.is_empty() {
            let at = self.checked.errors.iter().position(|one| &**one == error).unwrap_or(0);
            if let Some(variable) = self.parser_error.clone() {
                self.put(format!("{variable} = {at}U;"));
            }
        }
        self.put(format!("goto {label};"));
        Ok(())
    }

    // --- sets ----------------------------------------------------------------------------------

    /// Emits code that evaluates a key of `select` or of constant entries, and stores it in a
    /// variable. Returns the C name and the type of the variable.
    pub(super) fn key_value(&mut self, key: &'a Expr) -> Result<(String, Type)> {
        let ty = match self.ty(key) {
            Type::ListLiteral(types, _) => Type::Tuple(types),
            Type::Integer => Type::Bit(32),
            ty => ty,
        };
        if is_scalar(&ty) {
            let value = self.value_as(key, &ty)?;
            return Ok((self.save("key", &ty, &value)?, ty));
        }
        Ok((self.place_as(key, &ty)?, ty))
    }

    /// Returns C conditions that together mean that each value is in its set; empty if the sets
    /// contain all values.
    pub(super) fn sets_condition(
        &mut self,
        sets: &'a [Expr],
        values: &[(String, Type)],
        span: Span,
    ) -> Result<Vec<String>> {
        let sets = match sets {
            [Expr { kind: ExprKind::List { items, .. }, .. }]
                if items.len() == values.len() && values.len() != 1 =>
            {
                items
            }
            _ => sets,
        };
        if let [set] = sets
            && values.len() != 1
        {
            return match set.kind {
                ExprKind::Default => Ok(Vec::new()),
                _ => self.value_set(set, values),
            };
        }
        if sets.len() != values.len() {
            return self.unsupported(span, "this number of sets");
        }
        let mut conditions = Vec::new();
        for (set, (value, ty)) in sets.iter().zip(values) {
            self.set_condition(set, value, ty, &mut conditions)?;
        }
        Ok(conditions)
    }

    fn set_condition(
        &mut self,
        set: &'a Expr,
        value: &str,
        ty: &Type,
        conditions: &mut Vec<String>,
    ) -> Result<()> {
        match &set.kind {
            ExprKind::Default | ExprKind::DontCare => {}
            ExprKind::Mask { .. } | ExprKind::Range { .. } if !is_scalar(ty) => {
                return self.unsupported(set.span, format!("a mask or range of {ty}"));
            }
            ExprKind::Mask { value: wanted, mask } => {
                let (wanted, mask) = (self.value_as(wanted, ty)?, self.value_as(mask, ty)?);
                conditions.push(format!("({value} & {mask}) == ({wanted} & {mask})"));
            }
            ExprKind::Range { low, high } => {
                let (low, high) = (self.value_as(low, ty)?, self.value_as(high, ty)?);
                conditions.push(format!("{value} >= {low} && {value} <= {high}"));
            }
            ExprKind::List { items, .. } if !is_scalar(ty) => {
                for (item, (name, of)) in items.iter().zip(self.members(ty)) {
                    self.set_condition(item, &format!("{value}.{name}"), &of, conditions)?;
                }
            }
            _ if matches!(self.ty(set), Type::Set(_)) => {
                let found = self.value_set(set, &[(value.to_owned(), ty.clone())])?;
                conditions.extend(found);
            }
            ExprKind::List { items, .. } if items.len() == 1 => {
                self.set_condition(&items[0], value, ty, conditions)?
            }
            _ if is_scalar(ty) => {
                let wanted = self.value_as(set, ty)?;
                conditions.push(format!("{value} == {wanted}"));
            }
            _ => {
                let wanted = self.place_as(set, ty)?;
                let equal = self.equal(value, &wanted, ty);
                conditions.push(equal);
            }
        }
        Ok(())
    }

    /// Emits code that looks up values in a value set, which is a hash map. Returns the C condition
    /// for a hit.
    fn value_set(&mut self, set: &'a Expr, values: &[(String, Type)]) -> Result<Vec<String>> {
        let id = self.checked.uses.get(&set.id).copied();
        let Some((id, DeclKind::ValueSet { size, .. })) =
            id.and_then(|id| self.nodes.get(&id).map(|decl| (id, &*decl.kind)))
        else {
            return self.unsupported(set.span, "this set");
        };
        if let Type::Fields(_, named) = self.declared(id)
            && let Some(DeclKind::Fields(fields)) =
                self.nodes.get(&named.id).map(|decl| &*decl.kind)
            && let Some(one) =
                fields.fields.iter().flat_map(|field| &field.annotations).find(|one| {
                    &*one.name.text == "match"
                        && one.body.first().is_none_or(|word| !word.is("exact"))
                })
        {
            return self
                .unsupported(one.name.span, "a value set with a match kind other than exact");
        }
        let path = self.paths.get(&id).cloned().unwrap_or_default();
        let name = self.map_name(&path);
        let size = self
            .constant(size)
            .and_then(|value| value.number().and_then(num_traits::ToPrimitive::to_u32))
            .unwrap_or(1)
            .max(1);
        let mut numbers = Vec::new();
        for (value, ty) in values {
            self.leaves(value, ty, &mut numbers);
        }
        if numbers.iter().any(|one| !is_scalar(&one.1)) {
            return self.unsupported(set.span, "a value set of such values");
        }
        let key = self.key_struct(&name, &numbers, 0)?;
        let variable = self.fresh("member");
        self.locals.push(format!("struct {name}_key {variable};"));
        self.put(format!("__builtin_memset(&{variable}, 0, sizeof({variable}));"));
        for (at, (value, _)) in numbers.iter().enumerate() {
            self.put(format!("{variable}.k{at} = {value};"));
        }
        self.map(&name, "BPF_MAP_TYPE_HASH", size, &format!("struct {name}_key"), "u32");
        if self.layout.objects.iter().all(|one| one.map != name) {
            self.layout.objects.push(layout::ObjectLayout {
                name: path,
                map: name.clone(),
                kind: "value_set",
                element: key.1,
                size,
                numbers: key
                    .0
                    .into_iter()
                    .map(|number| {
                        let part = number.name.split_once('.').map_or("value", |part| part.1);
                        layout::Number { name: part.into(), ..number }
                    })
                    .collect(),
            });
        }
        let found = self.save(
            "found",
            &Type::Bool,
            &format!("bpf_map_lookup_elem(&{name}, &{variable}) != 0"),
        )?;
        Ok(vec![found])
    }

    /// Appends the lvalue and type of each number and `varbit` inside a value to `numbers`.
    pub(super) fn leaves(&self, place: &str, ty: &Type, numbers: &mut Vec<(String, Type)>) {
        if is_scalar(ty) || matches!(ty, Type::Varbit(_)) || storage::wide(ty).is_some() {
            numbers.push((place.to_owned(), ty.clone()));
            return;
        }
        for (name, of) in self.members(ty) {
            self.leaves(&format!("{place}.{name}"), &of, numbers);
        }
    }
}
