//! Determines types and compile-time values of expressions (section 8 of the specification).

use std::collections::HashSet;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};

use super::*;

impl<'a> Checker<'a> {
    /// Returns the type of an expression, and records the type, and the value if it is known at
    /// compile time, for later passes.
    pub(super) fn expression(&mut self, expr: &'a Expr) -> Type {
        let ty = self.expression_type(expr);
        let ty = self.known(&ty);
        self.out.types[expr.id.0 as usize] = ty.clone();
        ty
    }

    fn value(&self, expr: &Expr) -> Option<Value> {
        self.out.constants.get(&expr.id).cloned()
    }

    fn set_value(&mut self, expr: &Expr, value: Option<Value>) {
        let Some(value) = value else { return };
        if value.has_more_parts(&mut MOST_PARTS.clone()) {
            self.type_fault(expr.span, format!("the value has more than {MOST_PARTS} parts"));
        } else if matches!(&value, Value::Number(number) if number.bits() > MOST_BITS) {
            self.type_fault(expr.span, format!("the number has more than {MOST_BITS} bits"));
        } else {
            self.out.constants.insert(expr.id, value);
        }
    }

    /// Checks an expression, and converts it to the type `wanted`.
    pub(super) fn expect(&mut self, expr: &'a Expr, wanted: &Type) -> Type {
        let found = self.expression(expr);
        if found == Type::Unknown {
            return Type::Unknown;
        }
        match self.convert(expr, wanted) {
            true => self.out.type_of(expr).clone(),
            false => Type::Unknown,
        }
    }

    /// Checks an expression whose value must be known at compile time. Returns the value, or
    /// reports that it is unknown.
    pub(super) fn expect_constant(&mut self, expr: &'a Expr, wanted: &Type) -> Option<Value> {
        let ty = self.expect(expr, wanted);
        let value = self.value(expr);
        if ty != Type::Unknown && value.is_none() && !self.is_compile_time(expr) {
            self.type_fault(expr.span, "the value must be known when the program is compiled");
        }
        value
    }

    /// Returns true if the value of the expression is fixed at compile time, even if the checker
    /// does not compute it. This includes constructor parameters, instances, and expressions of
    /// them.
    pub(super) fn is_compile_time(&self, expr: &Expr) -> bool {
        if self.out.constants.contains_key(&expr.id) || *self.out.type_of(expr) == Type::Unknown {
            return true;
        }
        match &expr.kind {
            ExprKind::Name { .. } => {
                match self.out.uses.get(&expr.id).and_then(|id| self.decls.get(id)) {
                    Some(decl) => {
                        matches!(*decl.kind, DeclKind::Const { .. } | DeclKind::Instance { .. })
                    }
                    // Parameters without direction.
                    None => {
                        self.out.uses.get(&expr.id).is_some_and(|id| self.is_constant_param(*id))
                    }
                }
            }
            ExprKind::Member { base, .. }
            | ExprKind::Slice { base, .. }
            | ExprKind::Index { base, .. } => self.is_compile_time(base),
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => {
                self.is_compile_time(operand)
            }
            ExprKind::Binary { left, right, .. } => {
                self.is_compile_time(left) && self.is_compile_time(right)
            }
            ExprKind::Conditional { condition, yes, no } => {
                [condition, yes, no].iter().all(|part| self.is_compile_time(part))
            }
            ExprKind::List { items, .. } => items.iter().all(|item| self.is_compile_time(item)),
            ExprKind::Record { fields, .. } => {
                fields.iter().all(|(_, value)| self.is_compile_time(value))
            }
            ExprKind::Call { args, .. } => {
                let is_pure = |id| {
                    self.decls.get(&id).is_some_and(|decl: &&Decl| {
                        decl.annotations.iter().any(|one| &*one.name.text == "pure")
                    })
                };
                let is_fixed = match self.out.calls.get(&expr.id).map(|call| call.callee) {
                    Some(Callee::Constructor(..)) => true,
                    Some(Callee::ExternFunction(id)) => {
                        is_pure(id) || matches!(self.out.type_of(expr), Type::Extern(_))
                    }
                    _ => false,
                };
                is_fixed && args.iter().all(|arg| self.is_compile_time(&arg.value))
            }
            ExprKind::Mask { value, mask } => {
                self.is_compile_time(value) && self.is_compile_time(mask)
            }
            ExprKind::Range { low, high } => {
                self.is_compile_time(low) && self.is_compile_time(high)
            }
            ExprKind::Default
            | ExprKind::DontCare
            | ExprKind::Invalid
            | ExprKind::Type(_)
            | ExprKind::Text(_) => true,
            _ => false,
        }
    }

    fn is_constant_param(&self, id: DeclId) -> bool {
        self.scopes.iter().flat_map(HashMap::values).flatten().any(|entity| {
            matches!(entity, Entity::Param(param) if param.id == id && param.direction == Direction::None)
        })
    }

    fn expression_type(&mut self, expr: &'a Expr) -> Type {
        match &expr.kind {
            ExprKind::Bool(value) => {
                self.set_value(expr, Some(Value::Bool(*value)));
                Type::Bool
            }
            ExprKind::Number { value, ty } => {
                let ty = match ty {
                    None => Type::Integer,
                    Some(LiteralType { width, is_signed: true }) => Type::Int(*width),
                    Some(LiteralType { width, is_signed: false }) => Type::Bit(*width),
                };
                if ty == Type::Int(0) {
                    return self.type_fault(expr.span, "int needs a width of at least 1");
                }
                self.warn_overflow(expr.span, value, &ty);
                self.set_value(expr, Some(Value::Number(constant::wrap(value, &ty))));
                ty
            }
            ExprKind::Text(text) => {
                self.set_value(expr, Some(Value::Text(text.clone())));
                Type::Text
            }
            ExprKind::Default | ExprKind::DontCare => Type::Default,
            ExprKind::This => match self.this.clone() {
                Some(ty) => ty,
                None => self.name_fault(expr.span, "this stands outside of a method"),
            },
            ExprKind::Name { name, absolute } => self.name_type(expr, name, *absolute),
            ExprKind::Type(written) => {
                let ty = self.resolve_type(written, true);
                if ty == Type::Unknown { ty } else { Type::Name(Rc::new(ty)) }
            }
            ExprKind::Member { base, name } => self.member(expr, base, name),
            ExprKind::Index { base, index } => self.index(expr, base, index),
            ExprKind::Slice { base, high, low } => self.slice(expr, base, high, low),
            ExprKind::PlusSlice { base, low, width } => {
                let base_type = self.bits_of(base);
                let low_type = self.expression(low);
                let Some(width) = self.width(width, 1) else { return Type::Unknown };
                if let Some(number) = self
                    .value(low)
                    .and_then(|value| value.number().cloned())
                    .filter(Signed::is_negative)
                {
                    return self
                        .type_fault(expr.span, format!("the lowest bit, {number}, is negative"));
                }
                if !low_type.is_number() {
                    return self.type_fault(low.span, format!("{low_type} is not a number"));
                }
                match base_type {
                    Some(ty) if ty.width().is_some_and(|whole| width > whole) => {
                        self.type_fault(expr.span, format!("{ty} does not have {width} bits"))
                    }
                    Some(_) => Type::Bit(width),
                    None => Type::Unknown,
                }
            }
            ExprKind::Call { function, type_args, args } => {
                self.call(expr, function, type_args, args)
            }
            ExprKind::Unary { op, operand } => self.unary(expr, *op, operand),
            ExprKind::Binary { op, left, right } => self.binary(expr, *op, left, right),
            ExprKind::Conditional { condition, yes, no } => {
                self.conditional(expr, condition, yes, no)
            }
            ExprKind::Cast { ty, operand } => self.cast(expr, ty, operand),
            ExprKind::List { items, defaults } => {
                let types: Rc<[Type]> = items.iter().map(|item| self.part(item)).collect();
                let values: Option<Rc<[Value]>> =
                    items.iter().map(|item| self.value(item)).collect();
                if !defaults {
                    self.set_value(expr, values.map(Value::List));
                }
                Type::ListLiteral(types, *defaults)
            }
            ExprKind::Record { fields, defaults } => {
                let mut names = HashSet::new();
                let (mut types, mut values) = (Vec::new(), Some(Vec::new()));
                for (name, value) in fields {
                    if !names.insert(&name.text) {
                        self.name_fault(name.span, format!("field '{}' is given twice", name.text));
                    }
                    types.push((name.text.clone(), self.part(value)));
                    match (self.value(value), &mut values) {
                        (Some(value), Some(values)) => values.push((name.text.clone(), value)),
                        _ => values = None,
                    }
                }
                if !defaults {
                    self.set_value(expr, values.map(|values| Value::Record(values.into())));
                }
                Type::RecordLiteral(types.into(), *defaults)
            }
            ExprKind::Invalid => {
                self.set_value(expr, Some(Value::Invalid));
                Type::InvalidLiteral
            }
            ExprKind::Mask { value, mask } => self.set_of(value, mask, "&&&"),
            ExprKind::Range { low, high } => self.set_of(low, high, ".."),
        }
    }

    /// Checks an element of a list or record literal, and reports an error if it is not a value.
    /// Returns its type.
    fn part(&mut self, expr: &'a Expr) -> Type {
        let ty = self.expression(expr);
        self.must_be_value(expr, ty)
    }

    /// Returns the type `ty` of an expression. Reports an error if an expression of this type is
    /// not a value.
    pub(super) fn must_be_value(&mut self, expr: &Expr, ty: Type) -> Type {
        match ty {
            Type::Void
            | Type::Action(_)
            | Type::Function
            | Type::Table(_)
            | Type::State
            | Type::Name(_) => self.type_fault(expr.span, format!("{ty} is not a value")),
            ty => ty,
        }
    }

    /// Returns the underlying type of a serializable enum, or else the type itself.
    pub(super) fn number_of(&self, ty: &Type) -> Type {
        match ty {
            Type::Enum(_, Some(of)) => (**of).clone(),
            _ => ty.clone(),
        }
    }

    fn name_type(&mut self, expr: &'a Expr, name: &'a Ident, absolute: bool) -> Type {
        if self.find(&name.text, absolute).is_empty()
            && let Some(id) = self.match_kinds.get(&name.text)
        {
            self.out.constants.insert(expr.id, Value::Member(*id, name.text.clone()));
            return Type::MatchKind;
        }
        let Some(entity) = self.find_one(name, absolute) else { return Type::Unknown };
        self.out.uses.insert(expr.id, entity.id());
        let declared =
            |this: &Self| this.out.declared.get(&entity.id()).cloned().unwrap_or(Type::Unknown);
        match entity {
            Entity::Param(_) => declared(self),
            Entity::State(_) => Type::State,
            Entity::TypeParam(param) => {
                Type::Name(Rc::new(Type::Param(param.id, param.name.text.clone())))
            }
            Entity::Decl(decl) => match &*decl.kind {
                DeclKind::Const { value, .. } => {
                    let value =
                        self.value(value).map(|value| self.value_as(value, &declared(self)));
                    self.set_value(expr, value);
                    declared(self)
                }
                DeclKind::Variable { .. } | DeclKind::Instance { .. } => declared(self),
                DeclKind::ValueSet { .. } => Type::Set(Rc::new(declared(self))),
                DeclKind::Action { .. } => Type::Action(decl.id),
                DeclKind::Table(_) => Type::Table(decl.id),
                DeclKind::Function(_) | DeclKind::ExternFunction(_) => Type::Function,
                _ => Type::Name(Rc::new(declared(self))),
            },
        }
    }

    fn member(&mut self, expr: &'a Expr, base: &'a Expr, name: &'a Ident) -> Type {
        let base_type = self.expression(base);
        let text = &*name.text;
        match &base_type {
            Type::Unknown => Type::Unknown,
            Type::Name(ty) => match &**ty {
                Type::Error if self.out.errors.contains(&name.text) => {
                    self.set_value(expr, Some(Value::Error(name.text.clone())));
                    Type::Error
                }
                Type::Enum(named, underlying) => {
                    let known = self
                        .out
                        .enums
                        .get(&named.id)
                        .map(|one| one.members.clone())
                        .unwrap_or_default();
                    let Some((member, number)) =
                        known.into_iter().find(|member| *member.0 == *text)
                    else {
                        return self
                            .name_fault(name.span, format!("enum {named} has no member '{text}'"));
                    };
                    let value = match (underlying, number) {
                        (Some(_), number) => number.map(Value::Number),
                        (None, _) => Some(Value::Member(named.id, member)),
                    };
                    self.set_value(expr, value);
                    (**ty).clone()
                }
                other => self.name_fault(name.span, format!("{other} has no member '{text}'")),
            },
            Type::Fields(_, named) => {
                let fields = self.out.fields_of(named);
                match fields.iter().position(|field| field.0 == name.text) {
                    Some(at) => {
                        if let Some(Value::List(values)) = self.value(base) {
                            self.set_value(expr, values.get(at).cloned());
                        }
                        fields[at].1.clone()
                    }
                    None => self.name_fault(name.span, format!("{named} has no field '{text}'")),
                }
            }
            Type::Stack(element, size) => match text {
                "next" | "last" if !matches!(**element, Type::Fields(..) | Type::Param(..)) => self
                    .type_fault(
                        name.span,
                        format!("'{text}' is defined for stacks of headers only"),
                    ),
                "next" | "last" if self.place != Place::Parser => self.type_fault(
                    name.span,
                    format!("'{text}' is defined in parsers only; use an index"),
                ),
                "next" | "last" => (**element).clone(),
                "lastIndex" if self.place != Place::Parser => {
                    self.type_fault(name.span, "'lastIndex' is defined in parsers only")
                }
                "lastIndex" => Type::Bit(32),
                "size" => {
                    self.set_value(expr, Some(Value::Number(BigInt::from(*size))));
                    Type::Bit(32)
                }
                _ => self.name_fault(name.span, format!("a stack has no member '{text}'")),
            },
            Type::TableResult(table) => match text {
                "hit" | "miss" => Type::Bool,
                "action_run" => Type::ActionRun(*table),
                _ => self.name_fault(
                    name.span,
                    format!("the result of a table has hit, miss and action_run, not '{text}'"),
                ),
            },
            Type::RecordLiteral(fields, _) => {
                match fields.iter().find(|field| field.0 == name.text) {
                    Some((_, ty)) => ty.clone(),
                    None => self.name_fault(name.span, format!("the value has no field '{text}'")),
                }
            }
            other => self.name_fault(name.span, format!("{other} has no member '{text}'")),
        }
    }

    fn index(&mut self, expr: &'a Expr, base: &'a Expr, index: &'a Expr) -> Type {
        let base_type = self.expression(base);
        let index_type = self.expression(index);
        let index_type = self.number_of(&index_type);
        let at = self.value(index).and_then(|value| value.number().cloned());
        if !index_type.is_number() {
            return self
                .type_fault(index.span, format!("{index_type} cannot be an index; use a number"));
        }
        match base_type {
            Type::Unknown => Type::Unknown,
            Type::Stack(element, size) => {
                if at.as_ref().is_some_and(|at| at.is_negative() || *at >= BigInt::from(size)) {
                    return self.type_fault(index.span, format!("the stack has {size} elements, numbered from 0"));
                }
                if index_type == Type::Integer && at.is_none() && !self.is_compile_time(index) {
                    return self.type_fault(index.span, "an index needs a width, or a known value");
                }
                if index_type == Type::Integer {
                    self.set_type(index, &Type::Bit(32));
                }
                (*element).clone()
            }
            Type::Tuple(types) | Type::ListLiteral(types, _) => match at.and_then(|at| at.to_usize()) {
                Some(at) if at < types.len() => {
                    if let Some(Value::List(values)) = self.value(base) {
                        self.set_value(expr, values.get(at).cloned());
                    }
                    types[at].clone()
                }
                Some(_) => self.type_fault(index.span, format!("the tuple has {} elements, numbered from 0", types.len())),
                None => self.type_fault(index.span, "the index of a tuple must be a number that is known when the program is compiled"),
            },
            other => self.type_fault(base.span, format!("{other} has no elements; only stacks and tuples have")),
        }
    }

    /// Returns the type of an expression whose bits a slice selects. Reports an error, and returns
    /// `None`, if values of this type have no bits to select.
    fn bits_of(&mut self, base: &'a Expr) -> Option<Type> {
        let ty = self.expression(base);
        match self.number_of(&ty) {
            Type::Unknown => None,
            ty @ (Type::Bit(_) | Type::Int(_)) => Some(ty),
            Type::Integer if self.value(base).is_some() => Some(Type::Integer),
            other => {
                self.type_fault(
                    base.span,
                    format!("{other} has no bits that can be selected; only bit and int have"),
                );
                None
            }
        }
    }

    fn slice(&mut self, expr: &'a Expr, base: &'a Expr, high: &'a Expr, low: &'a Expr) -> Type {
        let base_type = self.bits_of(base);
        let high_bit = self.width(high, 0);
        let low_bit = self.width(low, 0);
        let (Some(ty), Some(high_bit), Some(low_bit)) = (base_type, high_bit, low_bit) else {
            return Type::Unknown;
        };
        if low_bit > high_bit {
            return self.type_fault(
                expr.span,
                format!(
                    "the lowest bit, {low_bit}, is above the highest, {high_bit}; write [high:low]"
                ),
            );
        }
        if ty.width().is_some_and(|width| high_bit >= width) {
            return self.type_fault(expr.span, format!("{ty} has no bit {high_bit}"));
        }
        let value = self.value(base).and_then(|value| constant::slice(&value, high_bit, low_bit));
        self.set_value(expr, value);
        Type::Bit(high_bit - low_bit + 1)
    }

    fn unary(&mut self, expr: &'a Expr, op: UnaryOp, operand: &'a Expr) -> Type {
        let ty = self.expression(operand);
        let ty = self.number_of(&ty);
        let fits = match op {
            UnaryOp::Not => matches!(ty, Type::Bool | Type::Unknown),
            UnaryOp::Complement => matches!(ty, Type::Bit(_) | Type::Int(_) | Type::Unknown),
            UnaryOp::Negate | UnaryOp::Plus => ty.is_number(),
        };
        if !fits {
            let sign = match op {
                UnaryOp::Not => "!",
                UnaryOp::Complement => "~",
                UnaryOp::Negate => "-",
                UnaryOp::Plus => "+",
            };
            return self.type_fault(expr.span, format!("operator {sign} is not defined for {ty}"));
        }
        let value = self.value(operand).and_then(|value| constant::unary(op, &value, &ty));
        self.set_value(expr, value);
        ty
    }

    /// Checks the two operands of an operator, and returns their types. If only one operand has a
    /// width, the other operand takes its type.
    fn balance(&mut self, left: &'a Expr, right: &'a Expr) -> (Type, Type) {
        let a = self.expression(left);
        let b = self.expression(right);
        let (mut a, mut b) = (self.number_of(&a), self.number_of(&b));
        if a == Type::Integer && b.width().is_some() {
            self.set_type(left, &b);
            a = b.clone();
        } else if b == Type::Integer && a.width().is_some() {
            self.set_type(right, &a);
            b = a.clone();
        }
        (a, b)
    }

    fn binary(&mut self, expr: &'a Expr, op: BinaryOp, left: &'a Expr, right: &'a Expr) -> Type {
        use BinaryOp as B;
        for operand in [left, right] {
            if matches!(operand.kind, ExprKind::Default) {
                return self.type_fault(operand.span, "'...' cannot be an operand");
            }
        }
        let result = match op {
            B::LogicalAnd | B::LogicalOr => {
                let (a, b) = (self.expect(left, &Type::Bool), self.expect(right, &Type::Bool));
                match (self.value(left), op) {
                    (Some(Value::Bool(false)), B::LogicalAnd) => {
                        self.set_value(expr, Some(Value::Bool(false)))
                    }
                    (Some(Value::Bool(true)), B::LogicalOr) => {
                        self.set_value(expr, Some(Value::Bool(true)))
                    }
                    _ => {}
                }
                if a == Type::Unknown || b == Type::Unknown {
                    return Type::Unknown;
                }
                Type::Bool
            }
            B::Equal | B::NotEqual => return self.comparison(expr, op, left, right),
            B::ShiftLeft | B::ShiftRight => return self.shift(expr, op, left, right),
            B::Concat => {
                let (a, b) = (self.expression(left), self.expression(right));
                match (self.number_of(&a), self.number_of(&b)) {
                    (Type::Unknown, _) | (_, Type::Unknown) => return Type::Unknown,
                    (Type::Bit(a), Type::Bit(b) | Type::Int(b)) => Type::Bit(a.saturating_add(b)),
                    (Type::Int(a), Type::Bit(b) | Type::Int(b)) => Type::Int(a.saturating_add(b)),
                    (Type::Text, Type::Text) => {
                        if let (Some(Value::Text(a)), Some(Value::Text(b))) =
                            (self.value(left), self.value(right))
                        {
                            self.set_value(expr, Some(Value::Text(format!("{a}{b}").into())));
                        }
                        return Type::Text;
                    }
                    (a, b) => {
                        let (span, ty) =
                            if a.width().is_some() { (right.span, b) } else { (left.span, a) };
                        return self.type_fault(
                            span,
                            format!("operator ++ needs numbers with a width, not {ty}"),
                        );
                    }
                }
            }
            _ => {
                let (a, b) = self.balance(left, right);
                if a == Type::Unknown || b == Type::Unknown {
                    return Type::Unknown;
                }
                let compares = matches!(op, B::Less | B::LessEqual | B::Greater | B::GreaterEqual);
                if !a.is_number() || !b.is_number() {
                    let (span, ty) = if a.is_number() { (right.span, &b) } else { (left.span, &a) };
                    return self.type_fault(
                        span,
                        format!("operator {} is not defined for {ty}", sign(op)),
                    );
                }
                if a != b {
                    return self.type_fault(
                        expr.span,
                        format!(
                            "operands of {} have the types {a} and {b}; write a cast",
                            sign(op)
                        ),
                    );
                }
                if matches!(op, B::Divide | B::Modulo)
                    && !self.division(expr.span, op, &a, Some(left), right)
                {
                    return Type::Unknown;
                }
                let needs_width = matches!(op, B::AddSaturating | B::SubtractSaturating);
                if needs_width && a == Type::Integer {
                    return self.type_fault(
                        expr.span,
                        format!("operator {} needs numbers with a width", sign(op)),
                    );
                }
                if compares { Type::Bool } else { a }
            }
        };
        if let (Some(a), Some(b)) = (self.value(left), self.value(right)) {
            let left_type = self.number_of(&self.out.type_of(left).clone());
            let right_type = self.number_of(&self.out.type_of(right).clone());
            let value = constant::binary(op, &a, &b, &left_type, &right_type);
            self.set_value(expr, value);
        }
        result
    }

    /// Checks the operands of a division or modulo with result type `ty` (sections 8.6 to 8.8).
    /// `left` is `None` for `/=` and `%=`, which divide the assigned variable.
    pub(super) fn division(
        &mut self,
        span: Span,
        op: BinaryOp,
        ty: &Type,
        left: Option<&Expr>,
        right: &Expr,
    ) -> bool {
        let known = |expr: &Expr| self.value(expr).and_then(|value| value.number().cloned());
        let (x, y) = (left.and_then(known), known(right));
        let is_negative = matches!(right.kind, ExprKind::Unary { op: UnaryOp::Negate, .. })
            || x.is_some_and(|x| x.is_negative())
            || y.as_ref().is_some_and(Signed::is_negative);
        let fault = if is_negative {
            format!("operator {} is not defined for negative numbers", sign(op))
        } else if matches!(ty, Type::Int(_)) {
            format!("operator {} is not defined for {ty}, which can be negative", sign(op))
        } else if y.is_some_and(|y| y == BigInt::ZERO) {
            "division by zero".to_owned()
        } else {
            return true;
        };
        self.type_fault(span, fault);
        false
    }

    fn shift(&mut self, expr: &'a Expr, op: BinaryOp, left: &'a Expr, right: &'a Expr) -> Type {
        let a = self.expression(left);
        let b = self.expression(right);
        let (a, b) = (self.number_of(&a), self.number_of(&b));
        if a == Type::Unknown || b == Type::Unknown {
            return Type::Unknown;
        }
        if !a.is_number() {
            return self
                .type_fault(left.span, format!("operator {} is not defined for {a}", sign(op)));
        }
        let amount = self.value(right).and_then(|value| value.number().cloned());
        match b {
            Type::Bit(_) => {}
            Type::Integer if amount.is_some() || self.is_compile_time(right) => {}
            Type::Int(_) if amount.is_some() => {}
            other => {
                return self
                    .type_fault(right.span, format!("a shift cannot be of type {other}; use bit"));
            }
        }
        if amount.as_ref().is_some_and(Signed::is_negative) {
            return self.type_fault(right.span, "a shift cannot be negative");
        }
        if a == Type::Integer && amount.is_none() && !self.is_compile_time(right) {
            return self.type_fault(
                left.span,
                "a number without a width can be shifted by a known amount only",
            );
        }
        if let (Some(x), Some(y)) = (self.value(left), self.value(right)) {
            let value = constant::binary(op, &x, &y, &a, &b);
            self.set_value(expr, value);
        }
        a
    }

    fn comparison(
        &mut self,
        expr: &'a Expr,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
    ) -> Type {
        let a = self.expression(left);
        let b = self.expression(right);
        if a == Type::Unknown || b == Type::Unknown {
            return Type::Unknown;
        }
        let (a, b) = (self.must_be_value(left, a), self.must_be_value(right, b));
        if a == Type::Unknown || b == Type::Unknown {
            return Type::Unknown;
        }
        let literal = |ty: &Type| {
            matches!(
                ty,
                Type::ListLiteral(..)
                    | Type::RecordLiteral(..)
                    | Type::InvalidLiteral
                    | Type::Default
            )
        };
        let fits = if matches!((&a, &b), (Type::RecordLiteral(..), Type::RecordLiteral(..))) {
            false
        } else if a == b
            || self.number_of(&a).is_number() && self.number_of(&a) == self.number_of(&b)
        {
            true
        } else if a == Type::Integer || b == Type::Integer {
            self.number_of(&a).is_number() && self.number_of(&b).is_number()
        } else if literal(&a) && literal(&b) {
            matches!((&a, &b), (Type::ListLiteral(x, _), Type::ListLiteral(y, _)) if x.len() == y.len())
        } else if literal(&a) || a == Type::Integer || (b.width().is_some() && a.width().is_none())
        {
            self.fits(&b, &a)
        } else {
            self.fits(&a, &b)
        };
        if !fits {
            return self.type_fault(
                expr.span,
                format!("{a} and {b} cannot be compared with {}", sign(op)),
            );
        }
        let comparable = |ty: &Type| {
            !ty.contains(&|part| {
                matches!(
                    part,
                    Type::Extern(_)
                        | Type::Parser(_)
                        | Type::Control(_)
                        | Type::Package(_)
                        | Type::TableResult(_)
                        | Type::ActionRun(_)
                        | Type::Set(_)
                )
            })
        };
        if !comparable(&a) || !comparable(&b) {
            return self.type_fault(expr.span, format!("values of type {a} cannot be compared"));
        }
        if matches!(a, Type::Param(..)) {
            return self.type_fault(
                expr.span,
                format!("values of the type parameter {a} cannot be compared"),
            );
        }
        if literal(&a) || (a == Type::Integer && b != Type::Integer) {
            let ty = self.number_of(&b);
            self.set_type(left, &ty);
        } else if literal(&b) || (b == Type::Integer && a != Type::Integer) {
            let ty = self.number_of(&a);
            self.set_type(right, &ty);
        }
        if let (Some(x), Some(y)) = (self.value(left), self.value(right)) {
            let value = constant::binary(op, &x, &y, &a, &b);
            self.set_value(expr, value);
        }
        Type::Bool
    }

    fn conditional(
        &mut self,
        expr: &'a Expr,
        condition: &'a Expr,
        yes: &'a Expr,
        no: &'a Expr,
    ) -> Type {
        self.expect(condition, &Type::Bool);
        let a = self.expression(yes);
        let b = self.expression(no);
        let (a, b) = (self.must_be_value(yes, a), self.must_be_value(no, b));
        if a == Type::Unknown || b == Type::Unknown {
            return Type::Unknown;
        }
        let ty = if a == b {
            a
        } else if a != Type::Integer && self.fits(&a, &b) {
            self.set_type(no, &a);
            a
        } else if self.fits(&b, &a) {
            // A number without a width takes the width of the other one.
            self.set_type(yes, &b);
            b
        } else {
            return self.type_fault(
                expr.span,
                format!("the two values have the types {a} and {b}; write a cast"),
            );
        };
        let chosen = match self.value(condition) {
            Some(Value::Bool(true)) => self.value(yes),
            Some(Value::Bool(false)) => self.value(no),
            _ => None,
        };
        self.set_value(expr, chosen);
        ty
    }

    fn cast(&mut self, expr: &'a Expr, written: &'a TypeRef, operand: &'a Expr) -> Type {
        let to = self.resolve_type(written, false);
        let from = self.expression(operand);
        if to == Type::Unknown || from == Type::Unknown {
            return to;
        }
        let from = self.must_be_value(operand, from);
        if matches!(
            to,
            Type::Void | Type::Extern(_) | Type::Parser(_) | Type::Control(_) | Type::Package(_)
        ) {
            return self.type_fault(written.span, format!("no value can be cast to {to}"));
        }
        if self.unify(&to, &from) {
            // An explicit cast shows that the truncation is intended.
            let warnings = self.out.warnings.len();
            self.set_type(operand, &to);
            self.out.warnings.truncate(warnings);
        } else if !self.can_cast(&to, &from, operand) {
            return self.type_fault(expr.span, format!("{from} cannot be cast to {to}"));
        }
        let value = self.value(operand).and_then(|value| constant::cast(&value, &to));
        let value = value.map(|value| self.value_as(value, &to));
        self.set_value(expr, value);
        to
    }

    fn can_cast(&mut self, to: &Type, from: &Type, operand: &'a Expr) -> bool {
        match (to, from) {
            (_, Type::Unknown) => true,
            (Type::Bit(a), Type::Int(b)) | (Type::Int(a), Type::Bit(b)) => a == b,
            (Type::Bit(_), Type::Bit(_)) | (Type::Int(_), Type::Int(_)) => true,
            (Type::Bit(1), Type::Bool) | (Type::Bool, Type::Bit(1)) => true,
            (Type::Bool, Type::Integer) => self.value(operand).is_some_and(|value| {
                value
                    .number()
                    .is_some_and(|number| *number == BigInt::ZERO || *number == BigInt::from(1))
            }),
            (Type::Integer, Type::Bit(_) | Type::Int(_)) => true,
            (Type::New(a, x), Type::New(b, y)) => {
                a == b || self.can_cast(x, from, operand) || self.can_cast(to, y, operand)
            }
            (Type::New(_, of), _) => {
                self.fits(of, from)
                    || matches!(**of, Type::New(..)) && self.can_cast(of, from, operand)
            }
            (_, Type::New(_, of)) => {
                self.fits(to, of) || matches!(**of, Type::New(..)) && self.can_cast(to, of, operand)
            }
            (Type::Enum(_, Some(of)), Type::Enum(_, Some(other))) => of == other,
            (Type::Enum(_, Some(of)), _) => self.fits(of, from) || self.can_cast(of, from, operand),
            (_, Type::Enum(_, Some(of))) => self.fits(to, of) || self.can_cast(to, of, operand),
            // A value in another form: a list as a struct, elements of a tuple.
            (Type::Fields(..) | Type::Tuple(_) | Type::List(_) | Type::Stack(..), _) => {
                self.fits(to, from)
            }
            _ => false,
        }
    }

    fn set_of(&mut self, first: &'a Expr, second: &'a Expr, operator: &str) -> Type {
        let (a, b) = self.balance(first, second);
        if a == Type::Unknown || b == Type::Unknown {
            return Type::Unknown;
        }
        if !a.is_number() || a != b {
            let ty = if a.is_number() { &b } else { &a };
            return self.type_fault(
                first.span.to(second.span),
                format!("operands of {operator} must be numbers of one type, not {ty}"),
            );
        }
        Type::Set(Rc::new(a))
    }
}

/// Returns the source text of a binary operator.
fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::AddSaturating => "|+|",
        BinaryOp::SubtractSaturating => "|-|",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::Concat => "++",
    }
}
