//! Evaluates expressions.

use super::*;

impl<'a> Walker<'a> {
    pub(super) fn number(&mut self, expr: &'a Expr) -> Result<BigInt> {
        match self.value(expr)? {
            Data::Leaf(Some(Value::Number(number))) => Ok(number),
            _ => stop(expr.span, "a number that the packet does not determine"),
        }
    }

    pub(super) fn truth(&mut self, expr: &'a Expr) -> Result<bool> {
        match self.value(expr)? {
            Data::Leaf(Some(Value::Bool(value))) => Ok(value),
            _ => stop(expr.span, "a condition that the packet does not determine"),
        }
    }

    pub(super) fn leaf(&mut self, expr: &'a Expr) -> Result<Option<Value>> {
        match self.value(expr)? {
            Data::Leaf(value) => Ok(value),
            _ => Ok(None),
        }
    }

    pub(super) fn value(&mut self, expr: &'a Expr) -> Result<Data> {
        let ty = self.ty(expr);
        if let Some(value) = self.checked.constants.get(&expr.id) {
            return Ok(self.of_value(Some(value), &ty));
        }
        Ok(match &expr.kind {
            ExprKind::Number { value, .. } => Data::known(Value::Number(wrap(value, &ty))),
            ExprKind::Bool(value) => Data::known(Value::Bool(*value)),
            ExprKind::Member { base, name } if matches!(self.ty(base), Type::Stack(..)) => {
                match (&*name.text, self.place(base)?) {
                    ("lastIndex", Some(place)) => match self.slot(&place) {
                        Some(Data::Items(_, next)) => {
                            let last = BigInt::from(*next) - 1;
                            Data::known(Value::Number(wrap(&last, &Type::Bit(32))))
                        }
                        _ => Data::Leaf(None),
                    },
                    _ => self.read(expr)?,
                }
            }
            ExprKind::Name { .. } | ExprKind::Index { .. } => self.read(expr)?,
            ExprKind::Member { base, name } => match self.value(base)? {
                Data::Fields(_, _, fields) => fields
                    .into_iter()
                    .find(|one| one.0 == name.text)
                    .map_or(Data::Leaf(None), |one| one.1),
                _ => Data::Leaf(None),
            },
            ExprKind::Slice { base, high, low } => {
                let (high, low) = (self.number(high)?.to_u32(), self.number(low)?.to_u32());
                self.slice(base, high, low)?
            }
            ExprKind::PlusSlice { base, low, width } => {
                let (low, width) = (self.number(low)?.to_u32(), self.number(width)?.to_u32());
                let high = low.zip(width).and_then(|(low, width)| (low + width).checked_sub(1));
                self.slice(base, high, low)?
            }
            ExprKind::Unary { op, operand } => {
                let value = self.leaf(operand)?;
                Data::Leaf(value.and_then(|value| constant::unary(*op, &value, &plain(&ty))))
            }
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right)?,
            ExprKind::Conditional { condition, yes, no } => {
                let chosen = if self.truth(condition)? { yes } else { no };
                self.value(chosen)?
            }
            ExprKind::Cast { operand, .. } => {
                let data = self.value(operand)?;
                self.converted(data, &ty)
            }
            ExprKind::List { items, .. } => {
                let items = items.iter().map(|item| self.value(item)).collect::<Result<_>>()?;
                self.converted(Data::Items(items, 0), &ty)
            }
            ExprKind::Record { fields, .. } => {
                let mut given = Vec::new();
                for (name, value) in fields {
                    given.push((name.text.clone(), self.value(value)?));
                }
                self.converted(Data::Fields(FieldsKind::Header, true, given), &ty)
            }
            ExprKind::Call { function, args, .. } => self.call(expr, function, args)?,
            _ => Data::Leaf(None),
        })
    }

    pub(super) fn read(&mut self, expr: &'a Expr) -> Result<Data> {
        let place = self.place(expr)?;
        Ok(place.and_then(|place| self.slot(&place).cloned()).unwrap_or(Data::Leaf(None)))
    }

    pub(super) fn slice(
        &mut self,
        base: &'a Expr,
        high: Option<u32>,
        low: Option<u32>,
    ) -> Result<Data> {
        let value = self.leaf(base)?;
        let value = value.zip(high.zip(low));
        Ok(Data::Leaf(value.and_then(|(value, (high, low))| constant::slice(&value, high, low))))
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: &'a Expr, right: &'a Expr) -> Result<Data> {
        let (left_type, right_type) = (plain(&self.ty(left)), plain(&self.ty(right)));
        match (op, self.value(left)?) {
            (BinaryOp::LogicalAnd, Data::Leaf(Some(Value::Bool(false)))) => {
                Ok(Data::known(Value::Bool(false)))
            }
            (BinaryOp::LogicalOr, Data::Leaf(Some(Value::Bool(true)))) => {
                Ok(Data::known(Value::Bool(true)))
            }
            (_, Data::Leaf(a)) => {
                let b = self.leaf(right)?;
                let value = a.zip(b);
                Ok(Data::Leaf(
                    value.and_then(|(a, b)| constant::binary(op, &a, &b, &left_type, &right_type)),
                ))
            }
            (BinaryOp::Equal | BinaryOp::NotEqual, a) => {
                let b = self.value(right)?;
                let b = self.converted(b, &self.ty(left));
                let equal = equal(&a, &b).map(|equal| equal == (op == BinaryOp::Equal));
                Ok(Data::Leaf(equal.map(Value::Bool)))
            }
            _ => Ok(Data::Leaf(None)),
        }
    }
}
