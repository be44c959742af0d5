//! Translates expressions: numbers to C expressions, other values to C lvalues.

use num_traits::ToPrimitive;

use super::storage::{c_width, is_scalar, mask, plain, wide};
use super::*;

/// An lvalue that an expression can denote, with the condition under which it does. An expression
/// with an index that is not constant has several.
pub(super) struct Choice {
    /// C condition under which the expression denotes this lvalue; `None` if it is the only one.
    pub condition: Option<String>,
    /// C lvalue of the value.
    pub place: String,
    /// Lvalues of the other headers of the union, if `place` is a header in a header union.
    pub siblings: Vec<String>,
}

impl Choice {
    /// Creates the choice for an expression that can denote only the lvalue `place`.
    fn only(place: String) -> Choice {
        Choice { condition: None, place, siblings: Vec::new() }
    }
}

/// An operand of a binary operation.
pub(super) struct Operand {
    /// Value as a C expression.
    pub text: String,
    /// Type of the number.
    pub ty: Type,
    /// Compile-time value, if there is one.
    pub known: Option<num_bigint::BigInt>,
}

impl<'a> Generator<'a> {
    /// Returns the number that an expression evaluates to, as a C expression in the C type of its
    /// P4 type.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Result<String> {
        let ty = self.ty(expr);
        if let Some(value) = self.constant(expr)
            && (is_scalar(&ty) || ty == Type::Integer)
        {
            return self.literal(&value, &ty, expr.span);
        }
        if wide(&ty).is_some() {
            return self
                .unsupported(expr.span, format!("arithmetic of {ty}, wider than 128 bits,"));
        }
        match &expr.kind {
            ExprKind::Name { .. } | ExprKind::Index { .. } => self.read(expr, &ty),
            ExprKind::Member { base, name } => match self.ty(base) {
                Type::TableResult(_) => {
                    let applied = self.apply_table(base)?;
                    Ok(match &*name.text {
                        "hit" => self.hidden_hit(applied),
                        "miss" => format!("(u8)!{}", self.hidden_hit(applied)),
                        _ => applied.action,
                    })
                }
                Type::Stack(..) if &*name.text == "lastIndex" => {
                    let place = self.place(base)?;
                    let next = self.next.get(&place).copied().unwrap_or(0);
                    Ok(format!("(u32){}", next.wrapping_sub(1)))
                }
                _ => self.read(expr, &ty),
            },
            ExprKind::Call { function, args, .. } => {
                let (function, args) = (&**function, &args[..]);
                match self.call(expr, function, args)? {
                    Some(value) => Ok(value),
                    None => {
                        self.unsupported(expr.span, "a call without a result, in an expression,")
                    }
                }
            }
            ExprKind::Slice { base, high, low } => {
                let (high, low) = (self.bit_number(high)?, self.bit_number(low)?);
                if let Some(width) = wide(&self.ty(base)) {
                    return self.wide_slice(base, width, high, low);
                }
                let value = self.value(base)?;
                let shifted = self.shifted_right(&value, &self.ty(base), &low.to_string());
                Ok(self.fit(&shifted, &Type::Bit(high - low + 1)))
            }
            ExprKind::Unary { op, operand } => {
                let value = self.value(operand)?;
                Ok(match op {
                    UnaryOp::Not => format!("(u8)!{value}"),
                    UnaryOp::Plus => value,
                    UnaryOp::Negate => {
                        let negated = self.negated(&value, &ty);
                        self.fit(&negated, &ty)
                    }
                    UnaryOp::Complement => self.fit(&format!("~{}", unsigned(&value, &ty)), &ty),
                })
            }
            ExprKind::Binary { op, left, right } => self.binary(expr, *op, left, right),
            ExprKind::Conditional { condition, yes, no } => {
                let condition = self.value(condition)?;
                let (a, before_a) = self.aside(|this| this.value(yes))?;
                let (b, before_b) = self.aside(|this| this.value(no))?;
                if before_a.is_empty() && before_b.is_empty() {
                    return Ok(format!("({condition} ? {a} : {b})"));
                }
                let name = self.uninitialised("choice", &ty)?;
                self.put(format!("if ({condition}) {{"));
                self.body.extend(before_a);
                self.put(format!("{name} = {a};"));
                self.put("} else {");
                self.body.extend(before_b);
                self.put(format!("{name} = {b};"));
                self.put("}");
                Ok(name)
            }
            ExprKind::Cast { operand, .. } => {
                let from = self.ty(operand);
                if let (Some(width), Type::Bit(to @ 1..)) = (wide(&from), plain(&ty)) {
                    return self.wide_slice(operand, width, to - 1, 0);
                }
                let value = self.value(operand)?;
                match (plain(&from), &ty) {
                    (_, Type::Bool) => Ok(format!("(u8)({value} != 0)")),
                    _ => Ok(self.fit(&value, &ty)),
                }
            }
            _ => self.unsupported(expr.span, format!("this expression of type {ty}")),
        }
    }

    /// Returns bits `high` down to `low` of a number that C stores as an array of bytes.
    fn wide_slice(&mut self, base: &'a Expr, width: u32, high: u32, low: u32) -> Result<String> {
        let place = self.place(base)?;
        let kind = if high - low >= 64 { "u128" } else { "u64" };
        let parts: Vec<String> = (low / 8..=high / 8)
            .map(|byte| {
                let loaded = format!("({kind}){place}.bytes[{}]", width / 8 - 1 - byte);
                match (byte * 8).checked_sub(low) {
                    Some(up) => format!("({loaded} << {up})"),
                    None => format!("({loaded} >> {})", low - byte * 8),
                }
            })
            .collect();
        Ok(self.fit(&format!("({})", parts.join(" | ")), &Type::Bit(high - low + 1)))
    }

    /// Returns the number in the variable or element that an expression denotes. An index that is
    /// not constant selects among several lvalues.
    fn read(&mut self, expr: &'a Expr, ty: &Type) -> Result<String> {
        let mut choices = self.choices(expr)?;
        let Some(last) = choices.pop() else { return Ok("0U".to_owned()) };
        let mut value = match last.condition {
            None => last.place,
            Some(condition) => {
                let zero = self.literal(&Value::Number(0.into()), &plain(ty), expr.span)?;
                format!("({condition} ? {} : {zero})", last.place)
            }
        };
        for choice in choices.into_iter().rev() {
            let condition = choice.condition.unwrap_or_else(|| "1".to_owned());
            value = format!("({condition} ? {} : {value})", choice.place);
        }
        Ok(value)
    }

    fn bit_number(&self, expr: &Expr) -> Result<u32> {
        match self.constant(expr).and_then(|value| value.number().and_then(ToPrimitive::to_u32)) {
            Some(number) => Ok(number),
            None => self.unsupported(expr.span, "a bit number that is not constant"),
        }
    }

    /// Emits code that evaluates two operands, and returns their values as C expressions. A side
    /// effect of the second one does not change the first.
    fn two(&mut self, left: &'a Expr, right: &'a Expr) -> Result<(String, String)> {
        let mut a = self.value(left)?;
        let (b, before) = self.aside(|this| this.value(right))?;
        if !before.is_empty() {
            if self.constant(left).is_none() {
                let ty = self.ty(left);
                a = self.save("left", &ty, &a)?;
            }
            self.body.extend(before);
        }
        Ok((a, b))
    }

    fn binary(
        &mut self,
        expr: &'a Expr,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
    ) -> Result<String> {
        use BinaryOp as B;
        let ty = self.ty(expr);
        match op {
            B::LogicalAnd | B::LogicalOr => {
                let a = self.value(left)?;
                let (b, before) = self.aside(|this| this.value(right))?;
                let sign = if op == B::LogicalAnd { "&&" } else { "||" };
                if before.is_empty() {
                    return Ok(format!("(u8)({a} {sign} {b})"));
                }
                let name = self.save("both", &Type::Bool, &a)?;
                let negation = if op == B::LogicalAnd { "" } else { "!" };
                self.put(format!("if ({negation}{name}) {{"));
                self.body.extend(before);
                self.put(format!("{name} = {b};"));
                self.put("}");
                Ok(name)
            }
            B::Equal | B::NotEqual => {
                let compared = self.operand_type(left, right);
                let negation = if op == B::Equal { "" } else { "!" };
                if is_scalar(&compared) || compared == Type::Integer {
                    let (a, b) = self.two(left, right)?;
                    let sign = if op == B::Equal { "==" } else { "!=" };
                    return Ok(format!("(u8)({a} {sign} {b})"));
                }
                let mut a = self.place_as(left, &compared)?;
                let (b, before) = self.aside(|this| this.place_as(right, &compared))?;
                if !before.is_empty() {
                    a = self.save("left", &compared, &a)?;
                    self.body.extend(before);
                }
                let equal = self.equal(&a, &b, &compared);
                Ok(format!("(u8){negation}({equal})"))
            }
            B::Less | B::LessEqual | B::Greater | B::GreaterEqual => {
                let (a, b) = self.two(left, right)?;
                let sign = match op {
                    B::Less => "<",
                    B::LessEqual => "<=",
                    B::Greater => ">",
                    _ => ">=",
                };
                Ok(format!("(u8)({a} {sign} {b})"))
            }
            _ => {
                let (a, b) = self.two(left, right)?;
                let operand = |this: &Self, expr: &Expr, text| Operand {
                    text,
                    ty: this.ty(expr),
                    known: this.constant(expr).and_then(|value| value.number().cloned()),
                };
                let (a, b) = (operand(self, left, a), operand(self, right, b));
                self.compute_with(expr.span, op, &ty, a, b)
            }
        }
    }

    /// Returns the result of an operation on numbers, other than a comparison, as a C expression.
    pub(super) fn compute_with(
        &mut self,
        span: Span,
        op: BinaryOp,
        ty: &Type,
        a: Operand,
        b: Operand,
    ) -> Result<String> {
        use BinaryOp as B;
        match op {
            B::ShiftLeft | B::ShiftRight => self.shift(span, op, ty, a, b),
            B::Concat => {
                let width = plain(&b.ty).width().unwrap_or(0);
                let whole = plain(ty).width().unwrap_or(0);
                let Some(size) = c_width(whole) else {
                    return self.unsupported(span, format!("{ty}, wider than 128 bits,"));
                };
                let low = match plain(&b.ty) {
                    Type::Int(_) => format!("((u{size}){} & {})", b.text, mask(width)),
                    _ => format!("(u{size}){}", b.text),
                };
                if width == 0 {
                    return Ok(self.fit(&a.text, ty));
                }
                if width >= size {
                    return Ok(self.fit(&low, ty));
                }
                Ok(self.fit(&format!("((u{size}){} << {width}) | {low}", a.text), ty))
            }
            B::AddSaturating | B::SubtractSaturating => self.saturating(span, op, ty, a, b),
            _ => {
                let wide = plain(ty).width().is_some_and(|width| width > 64);
                if wide && matches!(op, B::Multiply | B::Divide | B::Modulo) {
                    return self.unsupported(
                        span,
                        format!("multiplication or division of {ty}, wider than 64 bits,"),
                    );
                }
                let sign = match op {
                    B::Add => "+",
                    B::Subtract => "-",
                    B::Multiply => "*",
                    B::Divide => "/",
                    B::Modulo => "%",
                    B::And => "&",
                    B::Or => "|",
                    _ => "^",
                };
                let is_zero = a.known.as_ref().is_some_and(|number| *number == 0.into());
                let text = match op {
                    B::Subtract if is_zero => self.negated(&b.text, ty),
                    _ => format!("{} {sign} {}", unsigned(&a.text, ty), unsigned(&b.text, ty)),
                };
                Ok(self.fit(&text, ty))
            }
        }
    }

    /// Returns the type in which two operands are compared. It is the type of the operand that is
    /// not a literal.
    fn operand_type(&self, left: &Expr, right: &Expr) -> Type {
        let (a, b) = (self.ty(left), self.ty(right));
        match a {
            Type::ListLiteral(..)
            | Type::RecordLiteral(..)
            | Type::InvalidLiteral
            | Type::Integer => b,
            _ => a,
        }
    }

    fn shift(
        &mut self,
        span: Span,
        op: BinaryOp,
        ty: &Type,
        a: Operand,
        b: Operand,
    ) -> Result<String> {
        let width = plain(ty).width().unwrap_or(32);
        let signed = matches!(plain(ty), Type::Int(_));
        let amount = b.known.as_ref().and_then(ToPrimitive::to_u32);
        let is_constant = b.known.is_some();
        let a = a.text;
        let right_shift = op == BinaryOp::ShiftRight;
        match amount {
            Some(by) if by < width => {
                let shifted = self.shifted(right_shift, &a, ty, &by.to_string());
                Ok(self.fit(&shifted, ty))
            }
            _ if is_constant && right_shift && signed => {
                let shifted = self.shifted(true, &a, ty, &(width - 1).to_string());
                Ok(self.fit(&shifted, ty))
            }
            _ if is_constant => self.literal(&Value::Number(0.into()), ty, span),
            _ => {
                let by = self.save("shift", &b.ty, &b.text)?;
                let a = self.save("shifted", ty, &a)?;
                let shifted = self.shifted(right_shift, &a, ty, &by);
                let value = self.fit(&shifted, ty);
                let rest = match right_shift && signed {
                    true => {
                        let most = (width.max(1) - 1).to_string();
                        let shifted = self.shifted(true, &a, ty, &most);
                        self.fit(&shifted, ty)
                    }
                    false => self.literal(&Value::Number(0.into()), ty, span)?,
                };
                Ok(format!("({by} < {width} ? {value} : {rest})"))
            }
        }
    }

    /// Returns a C expression that shifts a number, to the right or left, by less than its width.
    fn shifted(&mut self, right: bool, a: &str, ty: &Type, by: &str) -> String {
        match (right, plain(ty)) {
            (true, Type::Int(65..)) => {
                self.define_halves();
                format!("sar128({a}, {by})")
            }
            (true, Type::Int(_)) => format!("{a} >> {by}"),
            (true, _) => self.shifted_right(a, ty, by),
            (false, Type::Bit(65..) | Type::Int(65..)) => {
                self.define_halves();
                format!("shl128({a}, {by})")
            }
            (false, _) => format!("{} << {by}", unsigned(a, ty)),
        }
    }

    /// Returns a C expression for a logical right shift of a number.
    pub(super) fn shifted_right(&mut self, a: &str, ty: &Type, by: &str) -> String {
        match plain(ty).width() {
            Some(65..) => {
                self.define_halves();
                format!("shr128({a}, {by})")
            }
            _ => format!("{} >> {by}", unsigned(a, ty)),
        }
    }

    /// Returns a C expression for the negative of a number.
    fn negated(&mut self, a: &str, ty: &Type) -> String {
        match plain(ty).width() {
            Some(65..) => {
                self.define_halves();
                format!("neg128({a})")
            }
            _ => format!("-{}", unsigned(a, ty)),
        }
    }

    /// Adds the C functions for shifts and negation of 128 bits. BPF has no variable shifts and no
    /// products of 128 bits, but clang would form them: from conditionals with shifts, and from
    /// shifted negatives.
    fn define_halves(&mut self) {
        self.define("halves", HALVES);
    }

    fn saturating(
        &mut self,
        span: Span,
        op: BinaryOp,
        ty: &Type,
        a: Operand,
        b: Operand,
    ) -> Result<String> {
        let plain_type = plain(ty);
        let Some(width) = plain_type.width().filter(|width| *width <= 64 && *width > 0) else {
            return self.unsupported(span, format!("saturating arithmetic of {ty}"));
        };
        let a = self.save("left", ty, &a.text)?;
        let b = self.save("right", ty, &b.text)?;
        let add = op == BinaryOp::AddSaturating;
        if let Type::Bit(_) = plain_type {
            let sum = self.fit(
                &format!(
                    "{} {} {}",
                    unsigned(&a, ty),
                    if add { "+" } else { "-" },
                    unsigned(&b, ty)
                ),
                ty,
            );
            return Ok(match add {
                true => format!(
                    "({sum} < {a} ? (u{}){} : {sum})",
                    c_width(width).unwrap_or(64),
                    mask(width)
                ),
                false => format!("({b} > {a} ? (u{})0 : {sum})", c_width(width).unwrap_or(64)),
            });
        }
        // One bit more than the operands holds the exact result.
        if width == 64 {
            return self.unsupported(span, "saturating arithmetic of int<64>");
        }
        let exact = format!("((s64){a} {} (s64){b})", if add { "+" } else { "-" });
        let (low, high) = (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1);
        let size = c_width(width).unwrap_or(64);
        Ok(format!(
            "(s{size})({exact} < ({low}LL) ? ({low}LL) : {exact} > {high}LL ? {high}LL : {exact})"
        ))
    }

    /// Returns a C condition for the equality of two lvalues of type `ty`.
    pub(super) fn equal(&self, a: &str, b: &str, ty: &Type) -> String {
        if is_scalar(ty) {
            return format!("{a} == {b}");
        }
        if let Some(width) = wide(ty) {
            return format!("wide_{width}_equal(&{a}, &{b})");
        }
        if let Type::Varbit(width) = ty {
            return format!("varbit_{width}_equal(&{a}, &{b})");
        }
        let parts: Vec<String> = self
            .members(ty)
            .iter()
            .map(|(name, of)| self.equal(&format!("{a}.{name}"), &format!("{b}.{name}"), of))
            .collect();
        let parts = if parts.is_empty() { "1".to_owned() } else { parts.join(" && ") };
        match ty {
            Type::Fields(FieldsKind::Header, _) => {
                format!("({a}.valid_ == {b}.valid_ && (!{a}.valid_ || ({parts})))")
            }
            _ => format!("({parts})"),
        }
    }

    // --- places --------------------------------------------------------------------------------

    /// Returns the lvalue of an expression. If the expression is not an lvalue, emits code that
    /// stores its value in a new variable.
    pub(super) fn place(&mut self, expr: &'a Expr) -> Result<String> {
        let ty = self.ty(expr);
        self.place_as(expr, &ty)
    }

    /// Returns the lvalue of an expression of type `ty`. A literal is stored in a new variable.
    pub(super) fn place_as(&mut self, expr: &'a Expr, ty: &Type) -> Result<String> {
        // A part of a result, as in `f()[0]`, has an lvalue once the result is in a variable.
        let is_part = matches!(expr.kind, ExprKind::Member { .. } | ExprKind::Index { .. });
        if self.has_place(expr) || is_part && !is_scalar(ty) {
            let mut choices = self.choices(expr)?;
            if choices.len() == 1 && choices[0].condition.is_none() {
                return Ok(choices.remove(0).place);
            }
            let name = self.variable("chosen", ty)?;
            for choice in choices {
                let condition = choice.condition.unwrap_or_else(|| "1".to_owned());
                self.put(format!("if ({condition}) {name} = {};", choice.place));
            }
            return Ok(name);
        }
        let name = self.uninitialised("value", ty)?;
        self.assign(&name, ty, expr)?;
        Ok(name)
    }

    pub(super) fn has_place(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name { .. } => {
                matches!(
                    self.checked.uses.get(&expr.id).and_then(|id| self.bindings.get(id)),
                    Some(Binding::Place(_))
                )
            }
            ExprKind::Member { base, .. } => {
                !matches!(self.ty(base), Type::TableResult(_) | Type::Name(_))
                    && self.has_place(base)
            }
            ExprKind::Index { base, .. } => self.has_place(base),
            _ => false,
        }
    }

    /// Returns the lvalues that an expression can denote.
    pub(super) fn choices(&mut self, expr: &'a Expr) -> Result<Vec<Choice>> {
        match &expr.kind {
            ExprKind::Name { name, .. } => {
                let id = self.checked.uses.get(&expr.id);
                match id.and_then(|id| self.bindings.get(id)) {
                    Some(Binding::Place(place)) => Ok(vec![Choice::only(place.clone())]),
                    Some(Binding::Constant(value)) => {
                        let value = value.clone();
                        let ty = self.ty(expr);
                        if is_scalar(&ty) {
                            let place = self.literal(&value, &ty, expr.span)?;
                            return Ok(vec![Choice::only(place)]);
                        }
                        self.unsupported(expr.span, format!("'{}'", name.text))
                    }
                    _ if self.checked.constants.contains_key(&expr.id) => {
                        let ty = self.ty(expr);
                        let place = self.uninitialised("value", &ty)?;
                        let value = self.checked.constants[&expr.id].clone();
                        self.assign_value(&place, &ty, &value, expr.span)?;
                        Ok(vec![Choice::only(place)])
                    }
                    _ => self.unsupported(expr.span, format!("'{}'", name.text)),
                }
            }
            ExprKind::Member { base, name } => {
                if let Type::Stack(of, size) = self.ty(base) {
                    let _ = of;
                    return self.stack_member(expr, base, &name.text, size);
                }
                let field = field_name(&name.text);
                if !self.has_place(base) {
                    let place = self.place(base)?;
                    return Ok(vec![Choice::only(format!("{place}.{field}"))]);
                }
                let bases = self.choices(base)?;
                let others: Vec<String> = match self.ty(base) {
                    ty @ Type::Fields(FieldsKind::HeaderUnion, _) => {
                        self.members(&ty).into_iter().map(|one| one.0).collect()
                    }
                    _ => Vec::new(),
                };
                Ok(bases
                    .into_iter()
                    .map(|one| Choice {
                        siblings: others
                            .iter()
                            .filter(|other| **other != field)
                            .map(|other| format!("{}.{other}", one.place))
                            .collect(),
                        place: format!("{}.{field}", one.place),
                        condition: one.condition,
                    })
                    .collect())
            }
            ExprKind::Index { base, index } => {
                let constant = self
                    .constant(index)
                    .and_then(|value| value.number().and_then(ToPrimitive::to_u32));
                let base_type = self.ty(base);
                let bases = if self.has_place(base) {
                    self.choices(base)?
                } else {
                    let place = self.place(base)?;
                    vec![Choice::only(place)]
                };
                match (base_type, constant) {
                    (Type::Tuple(_), Some(at)) => Ok(bases
                        .into_iter()
                        .map(|one| Choice { place: format!("{}.f{at}", one.place), ..one })
                        .collect()),
                    (_, Some(at)) => Ok(bases
                        .into_iter()
                        .map(|one| Choice { place: format!("{}.e[{at}]", one.place), ..one })
                        .collect()),
                    (Type::Stack(_, size), None) => {
                        let value = self.value(index)?;
                        let index_type = self.ty(index);
                        let at = self.save("index", &index_type, &value)?;
                        let mut choices = Vec::new();
                        for one in bases {
                            for number in 0..size {
                                let this = format!("{at} == {number}");
                                let condition = match &one.condition {
                                    Some(outer) => format!("{outer} && {this}"),
                                    None => this,
                                };
                                choices.push(Choice {
                                    condition: Some(condition),
                                    place: format!("{}.e[{number}]", one.place),
                                    siblings: Vec::new(),
                                });
                            }
                        }
                        Ok(choices)
                    }
                    _ => self.unsupported(expr.span, "this index"),
                }
            }
            _ => {
                let place = self.place(expr)?;
                Ok(vec![Choice::only(place)])
            }
        }
    }

    /// Returns the lvalue of `next` or `last` of a header stack. The index is constant in each
    /// emitted parser state.
    fn stack_member(
        &mut self,
        expr: &'a Expr,
        base: &'a Expr,
        member: &str,
        size: u32,
    ) -> Result<Vec<Choice>> {
        let place = self.place(base)?;
        let next = self.next.get(&place).copied().unwrap_or(0);
        let at = if member == "next" { Some(next) } else { next.checked_sub(1) };
        match at.filter(|at| *at < size) {
            Some(at) => Ok(vec![Choice::only(format!("{place}.e[{at}]"))]),
            None => {
                self.reject("StackOutOfBounds", expr.span)?;
                // The code after the jump is never reached.
                Ok(vec![Choice::only(format!("{place}.e[0]"))])
            }
        }
    }
}

/// C functions for 128 bits that operate on two halves. The compiler cannot look through the empty
/// assembly, so it does not join the halves again. Joined, a shift and an addition would become a
/// product of 128 bits, which BPF does not have.
const HALVES: &str = "static inline __attribute__((always_inline)) u128 shl128(u128 a, u32 by)
{
    u64 low = a, high = a >> 64;
    asm(\"\" : \"+r\"(low), \"+r\"(high));
    if (by >= 64) return (u128)(low << (by & 63)) << 64;
    if (by) { high = high << by | low >> (64 - by); low <<= by; }
    asm(\"\" : \"+r\"(low), \"+r\"(high));
    return (u128)high << 64 | low;
}
static inline __attribute__((always_inline)) u128 shr128(u128 a, u32 by)
{
    u64 low = a, high = a >> 64;
    asm(\"\" : \"+r\"(low), \"+r\"(high));
    if (by >= 64) return high >> (by & 63);
    if (by) { low = low >> by | high << (64 - by); high >>= by; }
    asm(\"\" : \"+r\"(low), \"+r\"(high));
    return (u128)high << 64 | low;
}
static inline __attribute__((always_inline)) s128 sar128(s128 a, u32 by)
{
    u64 low = a;
    s64 high = a >> 64;
    asm(\"\" : \"+r\"(low), \"+r\"(high));
    if (by >= 64) return high >> (by & 63);
    if (by) { low = low >> by | (u64)high << (64 - by); high >>= by; }
    asm(\"\" : \"+r\"(low), \"+r\"(high));
    return (s128)((u128)(u64)high << 64 | low);
}
static inline __attribute__((always_inline)) u128 neg128(u128 a)
{
    u64 low = a, high = a >> 64;
    asm(\"\" : \"+r\"(low), \"+r\"(high));
    return (u128)(~high + !low) << 64 | (0 - low);
}
";

/// Returns a C expression for a value as an unsigned number of at least 32 bits. Unsigned
/// arithmetic of C does not overflow.
fn unsigned(value: &str, ty: &Type) -> String {
    match plain(ty).width() {
        Some(width) if width > 64 => format!("(u128){value}"),
        Some(width) if width > 32 => format!("(u64){value}"),
        _ => format!("(u32){value}"),
    }
}
