//! Inference of type arguments, and implicit conversions (section 8.11.2 of the specification).

use std::rc::Rc;

use super::*;

impl<'a> Checker<'a> {
    /// Creates a type variable.
    pub(super) fn fresh(&mut self) -> Type {
        self.vars.push(None);
        Type::Var(self.vars.len() as u32 - 1)
    }

    /// Returns the type with each type variable replaced by its inferred type, if it is known.
    pub(super) fn known(&self, ty: &Type) -> Type {
        let all =
            |types: &Rc<[Type]>| -> Rc<[Type]> { types.iter().map(|ty| self.known(ty)).collect() };
        let named = |named: &Named| Named { args: all(&named.args), ..named.clone() };
        match ty {
            Type::Var(at) => match &self.vars[*at as usize] {
                Some(ty) => self.known(ty),
                None => ty.clone(),
            },
            Type::Fields(kind, name) => Type::Fields(*kind, named(name)),
            Type::Stack(element, size) => Type::Stack(Rc::new(self.known(element)), *size),
            Type::Tuple(types) => Type::Tuple(all(types)),
            Type::List(of) => Type::List(Rc::new(self.known(of))),
            Type::Set(of) => Type::Set(Rc::new(self.known(of))),
            Type::Extern(name) => Type::Extern(named(name)),
            Type::Parser(name) => Type::Parser(named(name)),
            Type::Control(name) => Type::Control(named(name)),
            Type::Package(name) => Type::Package(named(name)),
            _ => ty.clone(),
        }
    }

    fn occurs(&self, var: u32, ty: &Type) -> bool {
        self.known(ty).contains(&|part| *part == Type::Var(var))
    }

    /// Makes two types equal by choosing types for type variables. Returns false if they differ.
    pub(super) fn unify(&mut self, wanted: &Type, found: &Type) -> bool {
        match (wanted, found) {
            (Type::Var(a), Type::Var(b)) if a == b => true,
            (Type::Default, _) => true,
            (Type::Var(at), _) => match self.vars[*at as usize].clone() {
                // A number without a width takes the width of another argument.
                Some(Type::Integer) if found.width().is_some() => {
                    self.vars[*at as usize] = Some(found.clone());
                    true
                }
                Some(known) => self.unify(&known, found),
                None if *found == Type::Default => true,
                None if self.occurs(*at, found) => false,
                None => {
                    self.vars[*at as usize] = Some(found.clone());
                    true
                }
            },
            (_, Type::Var(_)) => self.unify(found, wanted),
            (Type::Fields(a, x), Type::Fields(b, y)) => a == b && self.unify_named(x, y),
            (Type::Extern(x), Type::Extern(y)) | (Type::Package(x), Type::Package(y)) => {
                self.unify_named(x, y)
            }
            (Type::Parser(x), Type::Parser(y)) | (Type::Control(x), Type::Control(y)) => {
                x.id == y.id && x.args.len() == y.args.len() && self.unify_all(&x.args, &y.args)
                    || self.unify_apply(x, y)
            }
            (Type::Stack(x, n), Type::Stack(y, m)) => n == m && self.unify(x, y),
            (Type::Tuple(x), Type::Tuple(y) | Type::ListLiteral(y, false)) => {
                x.len() == y.len() && self.unify_all(x, y)
            }
            (Type::Tuple(x), Type::ListLiteral(y, true)) => {
                y.len() <= x.len() && self.unify_all(x, y)
            }
            (Type::List(x), Type::List(y)) | (Type::Set(x), Type::Set(y)) => self.unify(x, y),
            (Type::List(x), Type::ListLiteral(types, _)) => {
                let types = types.clone();
                types.iter().all(|ty| self.unify(x, ty))
            }
            (Type::Fields(_, x), Type::ListLiteral(types, defaults)) => {
                let fields = self.out.fields_of(x);
                (fields.len() == types.len() || (*defaults && types.len() <= fields.len()))
                    && fields.iter().zip(types.iter()).all(|((_, field), ty)| self.unify(field, ty))
            }
            (Type::Fields(_, x), Type::RecordLiteral(given, defaults)) => {
                let fields = self.out.fields_of(x);
                (given.len() == fields.len() || *defaults)
                    && given.iter().all(|(name, ty)| {
                        fields
                            .iter()
                            .find(|field| field.0 == *name)
                            .is_some_and(|field| self.unify(&field.1, ty))
                    })
            }
            (wanted, found) => self.fits(wanted, found),
        }
    }

    fn unify_all(&mut self, wanted: &Rc<[Type]>, found: &Rc<[Type]>) -> bool {
        let (wanted, found) = (wanted.clone(), found.clone());
        wanted.iter().zip(found.iter()).all(|(a, b)| self.unify(a, b))
    }

    fn unify_named(&mut self, wanted: &Named, found: &Named) -> bool {
        wanted.id == found.id && self.unify_all(&wanted.args, &found.args)
    }

    /// Returns the parameters of the `apply` method of a parser or control, with its type
    /// arguments.
    pub(super) fn apply_params(&mut self, named: &Named) -> Vec<ParamType> {
        let Some(signature) = self.out.signatures.get(&named.id).cloned() else {
            return Vec::new();
        };
        let fresh: Vec<Type> = match named.args.is_empty() {
            true => signature.type_params.iter().map(|_| self.fresh()).collect(),
            false => named.args.to_vec(),
        };
        let by = |id: DeclId| {
            let at = signature.type_params.iter().position(|param| param.0 == id)?;
            fresh.get(at).cloned()
        };
        signature
            .params
            .iter()
            .map(|param| ParamType { ty: param.ty.replace(&by), ..param.clone() })
            .collect()
    }

    /// Unifies the `apply` parameters of a parser or control with those of the wanted type. Returns
    /// false if they differ.
    fn unify_apply(&mut self, wanted: &Named, found: &Named) -> bool {
        let declared = |this: &Self, named: &Named, types: bool| {
            this.decls.get(&named.id).is_some_and(|decl| {
                types == matches!(*decl.kind, DeclKind::ParserType(_) | DeclKind::ControlType(_))
            })
        };
        if !declared(self, wanted, true) || declared(self, found, true) {
            return false;
        }
        let (wanted, found) = (self.apply_params(wanted), self.apply_params(found));
        // Parameters that the architecture marks as optional may be missing.
        let mut given = found.into_iter().peekable();
        for param in wanted {
            match given.peek() {
                Some(one)
                    if one.direction == param.direction
                        && self.unify(&param.ty, &one.ty.clone()) =>
                {
                    given.next();
                }
                _ if param.is_optional => {}
                _ => return false,
            }
        }
        given.next().is_none()
    }

    /// Returns advice on the first parameter of a parser or control whose direction differs from
    /// that in the wanted type; `None` if all directions agree.
    pub(super) fn other_direction(&mut self, wanted: &Type, found: &Type) -> Option<String> {
        let ((Type::Parser(wanted), Type::Parser(found))
        | (Type::Control(wanted), Type::Control(found))) = (wanted, found)
        else {
            return None;
        };
        let (wanted, found) = (self.apply_params(wanted), self.apply_params(found));
        let word = |direction| match direction {
            Direction::None => "no direction",
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        };
        let (wanted, found) =
            wanted.iter().zip(&found).find(|(a, b)| a.direction != b.direction)?;
        let (name, has) = (&found.name, word(found.direction));
        Some(format!("its parameter '{name}' has {has}, write {}", word(wanted.direction)))
    }

    /// Returns true if a value of type `found` is allowed where type `wanted` is expected.
    pub(super) fn fits(&self, wanted: &Type, found: &Type) -> bool {
        match (wanted, found) {
            (Type::Unknown, _) | (_, Type::Unknown | Type::Default) => true,
            (a, b) if a == b => true,
            (Type::Bit(_) | Type::Int(_), Type::Integer)
            | (Type::Integer, Type::Bit(_) | Type::Int(_)) => true,
            (Type::New(_, of), Type::Integer) => self.fits(of, found),
            (Type::Bit(_) | Type::Int(_), Type::Enum(_, Some(of))) => **of == *wanted,
            (
                Type::Fields(FieldsKind::Header | FieldsKind::HeaderUnion, _),
                Type::InvalidLiteral,
            ) => true,
            (Type::Stack(of, size), Type::ListLiteral(types, defaults)) => {
                (types.len() as u64 == u64::from(*size)
                    || (*defaults && types.len() as u64 <= u64::from(*size)))
                    && types.iter().all(|ty| self.fits(of, ty))
            }
            (Type::Tuple(of), Type::ListLiteral(types, defaults)) => {
                (of.len() == types.len() || (*defaults && types.len() <= of.len()))
                    && of.iter().zip(types.iter()).all(|(of, ty)| self.fits(of, ty))
            }
            (Type::List(of), Type::ListLiteral(types, _)) => {
                types.iter().all(|ty| self.fits(of, ty))
            }
            (Type::Fields(kind, named), Type::ListLiteral(types, defaults)) => {
                let fields = self.out.fields_of(named);
                *kind != FieldsKind::HeaderUnion
                    && (fields.len() == types.len() || (*defaults && types.len() <= fields.len()))
                    && fields.iter().zip(types.iter()).all(|((_, field), ty)| self.fits(field, ty))
            }
            (Type::Fields(kind, named), Type::RecordLiteral(given, defaults)) => {
                let fields = self.out.fields_of(named);
                *kind != FieldsKind::HeaderUnion
                    && (fields.len() == given.len() || *defaults)
                    && given.iter().all(|(name, ty)| {
                        fields
                            .iter()
                            .find(|field| field.0 == *name)
                            .is_some_and(|field| self.fits(&field.1, ty))
                    })
            }
            (Type::Tuple(a), Type::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.fits(a, b))
            }
            (Type::List(a), Type::List(b)) => self.fits(a, b),
            _ => false,
        }
    }

    /// Converts an expression to the wanted type. Returns false, after a report, if its type does
    /// not fit.
    pub(super) fn convert(&mut self, expr: &'a Expr, wanted: &Type) -> bool {
        let found = self.out.type_of(expr).clone();
        let wanted = &self.known(wanted);
        if !self.unify(wanted, &found) {
            let advice =
                self.other_direction(wanted, &found).unwrap_or_else(|| advice(wanted, &found));
            self.type_fault(expr.span, format!("{found} does not fit {wanted}; {advice}"));
            return false;
        }
        self.set_type(expr, &self.known(wanted));
        true
    }

    /// Sets the type of a literal and of the literals inside it, and reduces integers to the width
    /// of the type.
    pub(super) fn set_type(&mut self, expr: &'a Expr, ty: &Type) {
        let found = self.out.type_of(expr).clone();
        let literal = matches!(
            found,
            Type::Integer
                | Type::ListLiteral(..)
                | Type::RecordLiteral(..)
                | Type::InvalidLiteral
                | Type::Default
                | Type::Tuple(_)
        );
        if found == *ty || !literal {
            return;
        }
        if matches!(ty, Type::Unknown | Type::Var(_)) {
            return;
        }
        self.out.types[expr.id.0 as usize] = ty.clone();
        match (&expr.kind, ty) {
            (ExprKind::List { items, .. }, Type::Tuple(types)) => {
                for (item, ty) in items.iter().zip(types.iter()) {
                    self.set_type(item, ty);
                }
            }
            (ExprKind::List { items, .. }, Type::List(of) | Type::Stack(of, _)) => {
                for item in items {
                    self.set_type(item, of);
                }
            }
            (ExprKind::List { items, .. }, Type::Fields(_, named)) => {
                for (item, (_, ty)) in items.iter().zip(self.out.fields_of(named)) {
                    self.set_type(item, &ty);
                }
            }
            (ExprKind::Record { fields, .. }, Type::Fields(_, named)) => {
                let types = self.out.fields_of(named);
                for (name, value) in fields {
                    if let Some((_, ty)) = types.iter().find(|field| field.0 == name.text) {
                        self.set_type(value, ty);
                    }
                }
            }
            (ExprKind::Conditional { yes, no, .. }, _) => {
                self.set_type(yes, ty);
                self.set_type(no, ty);
            }
            (ExprKind::Unary { operand, .. }, Type::Bit(_) | Type::Int(_)) => {
                self.set_type(operand, ty)
            }
            (ExprKind::Mask { value, mask }, _) => {
                self.set_type(value, ty);
                self.set_type(mask, ty);
            }
            _ => {}
        }
        if let Some(value) = self.out.constants.get(&expr.id).cloned() {
            if let (Value::Number(number), Type::Integer) = (&value, &found) {
                self.warn_overflow(expr.span, number, ty);
            }
            let value = self.value_as(value, ty);
            self.out.constants.insert(expr.id, value);
        }
    }

    /// Converts a compile-time value to a type: reduces integers to the width, and orders the
    /// fields of records.
    pub(super) fn value_as(&self, value: Value, ty: &Type) -> Value {
        match (value, ty) {
            (Value::Number(number), _) => Value::Number(constant::wrap(&number, ty)),
            (Value::List(values), Type::Tuple(types)) if types.len() == values.len() => {
                Value::List(
                    values
                        .iter()
                        .zip(types.iter())
                        .map(|(value, ty)| self.value_as(value.clone(), ty))
                        .collect(),
                )
            }
            (Value::List(values), Type::List(of) | Type::Stack(of, _)) => {
                Value::List(values.iter().map(|value| self.value_as(value.clone(), of)).collect())
            }
            (Value::List(values), Type::Fields(_, named)) => {
                let fields = self.out.fields_of(named);
                Value::List(
                    values
                        .iter()
                        .zip(fields)
                        .map(|(value, (_, ty))| self.value_as(value.clone(), &ty))
                        .collect(),
                )
            }
            (Value::Record(given), Type::Fields(_, named)) => {
                let fields = self.out.fields_of(named);
                let ordered = fields.iter().map(|(name, ty)| {
                    given
                        .iter()
                        .find(|field| field.0 == *name)
                        .map(|field| self.value_as(field.1.clone(), ty))
                });
                match ordered.collect::<Option<Rc<[Value]>>>() {
                    Some(values) => Value::List(values),
                    None => Value::Record(given),
                }
            }
            (value, _) => value,
        }
    }
}

fn advice(wanted: &Type, found: &Type) -> String {
    let casts = wanted.is_number() && (found.is_number() || *found == Type::Bool)
        || matches!(wanted, Type::New(..))
        || matches!(found, Type::New(..));
    if casts {
        format!("write a cast, ({wanted})")
    } else {
        "use a value of the other type".to_owned()
    }
}
