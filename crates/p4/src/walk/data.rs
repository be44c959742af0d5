//! Contents of variables, and locations of their parts.

use super::*;

/// The content of a variable in a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    /// A number, truth value or enum member; `None` if the value is unknown.
    Leaf(Option<Value>),
    /// Kind, validity (of a header) and fields of a struct, header or header union.
    Fields(FieldsKind, bool, Vec<(Rc<str>, Data)>),
    /// Elements of a stack or tuple, and the next index of a stack.
    Items(Vec<Data>, usize),
}

impl Data {
    pub(super) fn known(value: Value) -> Data {
        Data::Leaf(Some(value))
    }

    /// Returns true for a valid header, or a header union with a valid member.
    pub(super) fn is_valid(&self) -> bool {
        match self {
            Data::Fields(FieldsKind::HeaderUnion, _, members) => {
                members.iter().any(|one| one.1.is_valid())
            }
            Data::Fields(_, valid, _) => *valid,
            _ => false,
        }
    }

    pub(super) fn forget(&mut self) {
        match self {
            Data::Leaf(value) => *value = None,
            Data::Fields(_, _, fields) => fields.iter_mut().for_each(|one| one.1.forget()),
            Data::Items(items, _) => items.iter_mut().for_each(Data::forget),
        }
    }
}

/// A step on the path from a variable to a part of it: a field access or an index.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Field(Rc<str>),
    Item(usize),
}

/// Location of a variable, or of a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub root: DeclId,
    pub steps: Vec<Step>,
}

impl<'a> Walker<'a> {
    pub(super) fn resolved(&self, ty: &Type) -> Type {
        ty.replace(&|id| self.subst.iter().rev().find(|one| one.0 == id).map(|one| one.1.clone()))
    }

    pub(super) fn ty(&self, expr: &Expr) -> Type {
        self.resolved(self.checked.type_of(expr))
    }

    pub(super) fn declared(&self, id: DeclId) -> Type {
        self.resolved(self.checked.declared.get(&id).unwrap_or(&Type::Unknown))
    }

    pub(super) fn fields(&self, ty: &Type) -> Vec<(Rc<str>, Type)> {
        match ty {
            Type::Fields(_, named) => {
                let fields = self.checked.fields_of(named);
                fields.into_iter().map(|(name, ty)| (name, self.resolved(&ty))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the initial value of a type: zeros and invalid headers.
    pub(super) fn initial(&self, ty: &Type) -> Data {
        match ty {
            Type::Bool => Data::known(Value::Bool(false)),
            Type::Error => Data::Leaf(self.checked.errors.first().cloned().map(Value::Error)),
            Type::Enum(named, None) => {
                let first = self.checked.enums.get(&named.id).and_then(|one| one.members.first());
                Data::Leaf(first.map(|one| Value::Member(named.id, one.0.clone())))
            }
            Type::Bit(_) | Type::Int(_) | Type::Integer | Type::Enum(..) => {
                Data::known(Value::Number(BigInt::ZERO))
            }
            Type::New(_, of) => self.initial(of),
            Type::Fields(kind, _) => {
                let fields = self.fields(ty).into_iter();
                let fields = fields.map(|(name, of)| (name, self.initial(&of))).collect();
                Data::Fields(*kind, false, fields)
            }
            Type::Stack(of, size) => Data::Items((0..*size).map(|_| self.initial(of)).collect(), 0),
            Type::Tuple(types) => Data::Items(types.iter().map(|of| self.initial(of)).collect(), 0),
            _ => Data::Leaf(None),
        }
    }

    pub(super) fn of_value(&self, value: Option<&Value>, ty: &Type) -> Data {
        match (value, self.initial(ty)) {
            (None, mut data) => {
                data.forget();
                data
            }
            (Some(Value::List(values)), Data::Fields(kind, _, fields)) => {
                let types = self.fields(ty);
                let fields = fields
                    .into_iter()
                    .zip(types)
                    .enumerate()
                    .map(|(at, (field, of))| (field.0, self.of_value(values.get(at), &of.1)));
                Data::Fields(kind, kind == FieldsKind::Header, fields.collect())
            }
            (Some(Value::List(values)), Data::Items(items, _)) => {
                let of = |at: usize| match ty {
                    Type::Stack(of, _) => (**of).clone(),
                    Type::Tuple(types) => types.get(at).cloned().unwrap_or(Type::Unknown),
                    _ => Type::Unknown,
                };
                let items = (0..items.len()).map(|at| self.of_value(values.get(at), &of(at)));
                Data::Items(items.collect(), 0)
            }
            (Some(Value::Record(given)), Data::Fields(kind, _, fields)) => {
                let types = self.fields(ty);
                let fields = fields.into_iter().zip(types).map(|(field, of)| {
                    let value = given.iter().find(|one| one.0 == field.0).map(|one| &one.1);
                    (field.0, self.of_value(value, &of.1))
                });
                Data::Fields(kind, kind == FieldsKind::Header, fields.collect())
            }
            (Some(Value::Invalid), data) => data,
            (Some(value), _) => Data::Leaf(constant::cast(value, ty)),
        }
    }

    /// Converts a list or record literal to a struct or header.
    pub(super) fn converted(&self, data: Data, ty: &Type) -> Data {
        match (data, ty) {
            (Data::Items(items, _), Type::Fields(kind, _)) => {
                let fields = self.fields(ty).into_iter().zip(items);
                let fields =
                    fields.map(|((name, of), item)| (name, self.converted(item, &of))).collect();
                Data::Fields(*kind, *kind == FieldsKind::Header, fields)
            }
            (Data::Fields(_, valid, mut given), Type::Fields(kind, _)) => {
                let fields = self.fields(ty).into_iter().map(|(name, of)| {
                    let at = given.iter().position(|one| one.0 == name);
                    let value = at.map(|at| given.swap_remove(at).1);
                    (name, value.map_or_else(|| self.initial(&of), |one| self.converted(one, &of)))
                });
                Data::Fields(*kind, valid, fields.collect())
            }
            (Data::Leaf(Some(value)), ty) if matches!(value, Value::Number(_) | Value::Bool(_)) => {
                Data::Leaf(constant::cast(&value, ty))
            }
            (data, _) => data,
        }
    }

    pub(super) fn slot(&mut self, place: &Place) -> Option<&mut Data> {
        let mut data = self.variables.get_mut(&place.root)?;
        for step in &place.steps {
            data = match (data, step) {
                (Data::Fields(_, _, fields), Step::Field(name)) => {
                    &mut fields.iter_mut().find(|one| one.0 == *name)?.1
                }
                (Data::Items(items, _), Step::Item(at)) => items.get_mut(*at)?,
                _ => return None,
            };
        }
        Some(data)
    }

    /// Returns the location that an expression names; `None` for other expressions.
    pub(super) fn place(&mut self, expr: &'a Expr) -> Result<Option<Place>> {
        match &expr.kind {
            ExprKind::Name { .. } => {
                let Some(id) = self.checked.uses.get(&expr.id).copied() else { return Ok(None) };
                if let Some(place) = self.aliases.get(&id) {
                    return Ok(Some(place.clone()));
                }
                let known = self.variables.contains_key(&id);
                Ok(known.then(|| Place { root: id, steps: Vec::new() }))
            }
            ExprKind::Member { base, name } => {
                let Some(mut place) = self.place(base)? else { return Ok(None) };
                let step = match (self.ty(base), &*name.text) {
                    (Type::Stack(_, size), "next" | "last") => {
                        let next = match self.slot(&place) {
                            Some(Data::Items(_, next)) => *next,
                            _ => return Ok(None),
                        };
                        let at =
                            if &*name.text == "next" { Some(next) } else { next.checked_sub(1) };
                        match at.filter(|at| *at < size as usize) {
                            Some(at) => Step::Item(at),
                            None => return reject("StackOutOfBounds"),
                        }
                    }
                    (Type::Fields(..), _) => Step::Field(name.text.clone()),
                    _ => return Ok(None),
                };
                place.steps.push(step);
                Ok(Some(place))
            }
            ExprKind::Index { base, index } => {
                let Some(mut place) = self.place(base)? else { return Ok(None) };
                let at = self.number(index)?.to_usize().unwrap_or(usize::MAX);
                let size = match self.slot(&place) {
                    Some(Data::Items(items, _)) => items.len(),
                    _ => return Ok(None),
                };
                if at >= size {
                    return stop(index.span, format!("index {at} of a stack of {size} elements"));
                }
                place.steps.push(Step::Item(at));
                Ok(Some(place))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn shown(&self, place: &Place) -> String {
        let mut text = self.names.get(&place.root).map_or("", |name| name).to_owned();
        for step in &place.steps {
            match step {
                Step::Field(name) => text = format!("{text}.{name}"),
                Step::Item(at) => text = format!("{text}[{at}]"),
            }
        }
        text
    }
}

/// Compares two values. Returns `None` if the result depends on an unknown value.
pub(super) fn equal(a: &Data, b: &Data) -> Option<bool> {
    let all = |pairs: Vec<(&Data, &Data)>| {
        pairs.into_iter().try_fold(true, |so_far, (a, b)| Some(so_far && equal(a, b)?))
    };
    match (a, b) {
        (Data::Leaf(a), Data::Leaf(b)) => {
            let number = |value: &Value| match value {
                Value::Bool(value) => Value::Number(u8::from(*value).into()),
                value => value.clone(),
            };
            Some(number(a.as_ref()?) == number(b.as_ref()?))
        }
        (Data::Fields(kind, a_valid, a), Data::Fields(_, b_valid, b)) => {
            if *kind == FieldsKind::Header && (!a_valid || !b_valid) {
                return Some(a_valid == b_valid);
            }
            all(a.iter().zip(b).map(|(a, b)| (&a.1, &b.1)).collect())
        }
        (Data::Items(a, _), Data::Items(b, _)) => all(a.iter().zip(b).collect()),
        _ => None,
    }
}

/// Returns the underlying type of an enum or new type, `bit<1>` for `bool`, or else the type
/// itself.
pub(super) fn plain(ty: &Type) -> Type {
    match ty {
        Type::New(_, of) | Type::Enum(_, Some(of)) => plain(of),
        Type::Bool => Type::Bit(1),
        other => other.clone(),
    }
}
