//! Propagates the restriction of a value to the values from which it was computed, and to the
//! values computed from it.

use slowpath_domain::{Domain, mask, sign_extend, transfer};
use slowpath_ir::BinaryOp;

use crate::evaluate::{evaluate, value_of};
use crate::value::Value;
use crate::value_number::{Arg, Def, NumberedValue, ValueNumber};

/// Maximum number of rounds over the table of values. A round visits all values downwards, then
/// upwards.
const ROUNDS: usize = 3;

/// The error for known facts that contradict each other, which means that no run reaches the
/// program point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Impossible;

/// Restricts a numbered value to `domain` and refines related values.
pub(crate) fn assume(
    values: &mut [NumberedValue],
    number: ValueNumber,
    domain: Domain,
) -> Result<(), Impossible> {
    let touched = vec![false; values.len()];
    let mut table = Table { values, touched, changed: false };
    table.restrict(Arg::Number(number), Value::scalar(domain))?;
    for _ in 0..ROUNDS {
        table.changed = false;
        // Go down the table first, because users have larger numbers than their operands; then up
        // again with the new facts. Each pass is sound by itself, and a few passes find nearly all
        // facts.
        for id in (0..table.values.len()).rev() {
            if table.touched[id] || table.operand_touched(id) {
                table.backward(id)?;
            }
        }
        for id in 0..table.values.len() {
            if table.operand_touched(id) {
                table.forward(id)?;
            }
        }
        if !table.changed {
            break;
        }
    }
    Ok(())
}

struct Table<'a> {
    values: &'a mut [NumberedValue],
    /// For each numbered value, true if it was narrowed since the start.
    touched: Vec<bool>,
    /// True if a value was narrowed in the current round.
    changed: bool,
}

impl Table<'_> {
    fn operand_touched(&self, id: usize) -> bool {
        self.values[id].def.args().any(|arg| match arg {
            Arg::Number(operand) => self.touched[operand as usize],
            Arg::Const(..) => false,
        })
    }

    fn domain(&self, arg: Arg) -> Domain {
        value_of(self.values, arg).domain
    }

    /// Restricts an operand to the values in `to`. Fails if none of its values remains.
    fn restrict(&mut self, arg: Arg, to: Value) -> Result<(), Impossible> {
        match arg {
            Arg::Const(value, _) => {
                if to.domain.contains(value) {
                    Ok(())
                } else {
                    Err(Impossible)
                }
            }
            Arg::Number(id) => {
                let value = &mut self.values[id as usize].value;
                let met = value.meet(&to).ok_or(Impossible)?;
                if met != *value {
                    *value = met;
                    self.touched[id as usize] = true;
                    self.changed = true;
                }
                Ok(())
            }
        }
    }

    fn narrow(&mut self, arg: Arg, to: Domain) -> Result<(), Impossible> {
        self.restrict(arg, Value::scalar(to))
    }

    fn bits(&mut self, arg: Arg, zeros: u64, ones: u64) -> Result<(), Impossible> {
        if zeros & ones != 0 {
            return Err(Impossible);
        }
        let width = self.domain(arg).width();
        self.narrow(arg, Domain::from_bits(width, zeros, ones))
    }

    /// Restricts a value to the results that its definition can have for the current values of its
    /// operands.
    fn forward(&mut self, id: usize) -> Result<(), Impossible> {
        let NumberedValue { value, def } = self.values[id];
        if def == Def::Unknown {
            return Ok(());
        }
        let new = evaluate(self.values, &def, value.domain.width());
        self.restrict(Arg::Number(id as ValueNumber), new)
    }

    /// Restricts the operands in a value's definition to numbers for which the result can be a
    /// possible number of the value.
    fn backward(&mut self, id: usize) -> Result<(), Impossible> {
        let NumberedValue { value, def } = self.values[id];
        let result = value.domain;
        match def {
            Def::Unknown => Ok(()),
            Def::Not(a) => self.narrow(a, transfer::not(result)),
            Def::Extract(a, lo) => self.extracted(a, lo, result),
            Def::ZeroExtend(a) => {
                let width = self.domain(a).width();
                if result.lo() > mask(width) {
                    return Err(Impossible);
                }
                // Keep only the results that an extension can yield; truncated to the operand's
                // width, they are the operand.
                let fitting = Domain::range(result.width(), 0, mask(width)).meet(&result);
                self.narrow(a, transfer::extract(fitting.ok_or(Impossible)?, 0, width))
            }
            Def::SignExtend(a) => {
                let width = self.domain(a).width();
                let (least, greatest) = Domain::full(width).signed_range();
                let fitting = Domain::signed(result.width(), least, greatest).meet(&result);
                self.narrow(a, transfer::extract(fitting.ok_or(Impossible)?, 0, width))
            }
            Def::Select(c, a, b) => self.selected(c, a, b, value),
            Def::Binary(op, a, b) => self.operands(op, a, b, result),
        }
    }

    fn extracted(&mut self, a: Arg, lo: u8, result: Domain) -> Result<(), Impossible> {
        self.bits(a, result.zeros() << lo, result.ones() << lo)?;
        let whole = self.domain(a);
        let end = lo + result.width();
        // If the bits above the slice are known, bounds of the slice are bounds of the whole value.
        let above = mask(whole.width()) & !mask(end);
        if above & whole.unknown_bits() != 0 {
            return Ok(());
        }
        let base = whole.ones() & above;
        let (least, greatest) = (base | result.lo() << lo, base | result.hi() << lo | mask(lo));
        self.narrow(a, Domain::range(whole.width(), least, greatest))?;
        // If the slice is the whole value, its signed bounds are bounds of the value.
        if lo == 0 && result.sign().is_none() && above == 0 {
            let (least, greatest) = result.signed_range();
            self.narrow(a, Domain::signed(whole.width(), least, greatest))?;
        }
        Ok(())
    }

    fn selected(&mut self, c: Arg, a: Arg, b: Arg, value: Value) -> Result<(), Impossible> {
        match self.domain(c).as_constant() {
            Some(0) => self.restrict(b, value),
            Some(_) => self.restrict(a, value),
            None => {
                let possible = |arg| value_of(self.values, arg).meet(&value).is_some();
                match (possible(a), possible(b)) {
                    (false, false) => Err(Impossible),
                    (true, false) => self.narrow(c, Domain::constant(1, 1)),
                    (false, true) => self.narrow(c, Domain::constant(1, 0)),
                    (true, true) => Ok(()),
                }
            }
        }
    }

    fn operands(&mut self, op: BinaryOp, a: Arg, b: Arg, result: Domain) -> Result<(), Impossible> {
        let (x, y) = (self.domain(a), self.domain(b));
        let m = mask(x.width());
        match op {
            BinaryOp::Add => {
                // Refine the second operand with the narrowed first one.
                self.narrow(a, transfer::sub(result, y))?;
                self.narrow(b, transfer::sub(result, self.domain(a)))
            }
            BinaryOp::Sub => {
                self.narrow(a, transfer::add(result, y))?;
                self.narrow(b, transfer::sub(self.domain(a), result))
            }
            BinaryOp::Xor => {
                self.narrow(a, transfer::xor(result, y))?;
                self.narrow(b, transfer::xor(result, self.domain(a)))
            }
            BinaryOp::And => {
                // A one in the result requires ones in both operands. A zero in the result requires
                // a zero in one operand if the other has a one. The result is at most as large as
                // each operand.
                self.bits(a, result.zeros() & y.ones(), result.ones())?;
                self.bits(b, result.zeros() & x.ones(), result.ones())?;
                self.narrow(a, Domain::range(x.width(), result.lo(), m))?;
                self.narrow(b, Domain::range(x.width(), result.lo(), m))
            }
            BinaryOp::Or => {
                // The rules are dual to those of the conjunction; the result is at least as large
                // as each operand.
                self.bits(a, result.zeros(), result.ones() & y.zeros())?;
                self.bits(b, result.zeros(), result.ones() & x.zeros())?;
                self.narrow(a, Domain::range(x.width(), 0, result.hi()))?;
                self.narrow(b, Domain::range(x.width(), 0, result.hi()))
            }
            BinaryOp::Concat => {
                let (high, low) = (x.width(), y.width());
                self.narrow(a, transfer::extract(result, low, high))?;
                self.narrow(b, transfer::extract(result, 0, low))
            }
            BinaryOp::Shl => match y.as_constant() {
                Some(by) if by < u64::from(x.width()) => {
                    self.bits(a, result.zeros() >> by, result.ones() >> by)?;
                    // Shifted-out bits can be anything. If no bits are shifted out, the order of
                    // values is preserved.
                    if x.hi() <= m >> by {
                        let (least, greatest) = (result.lo() >> by, result.hi() >> by);
                        self.narrow(a, Domain::range(x.width(), least, greatest))?;
                    }
                    Ok(())
                }
                _ => Ok(()),
            },
            BinaryOp::Lshr => match y.as_constant() {
                Some(by) if by < u64::from(x.width()) => {
                    let bits = (result.zeros() << by, result.ones() << by);
                    self.bits(a, bits.0 & m, bits.1 & m)?;
                    // Bits that were shifted out at the bottom may have been ones.
                    let greatest = (result.hi() << by | mask(by as u8)) & m;
                    self.narrow(a, Domain::range(x.width(), (result.lo() << by) & m, greatest))
                }
                _ => Ok(()),
            },
            BinaryOp::Udiv => match y.as_constant() {
                Some(by) if by > 0 => {
                    let least = result.lo().checked_mul(by).filter(|&v| v <= m);
                    let least = least.ok_or(Impossible)?;
                    let greatest = result.hi().saturating_mul(by).saturating_add(by - 1).min(m);
                    self.narrow(a, Domain::range(x.width(), least, greatest))
                }
                _ => Ok(()),
            },
            BinaryOp::Eq => self.equality(a, b, result),
            BinaryOp::Ult => self.unsigned_order(a, b, result),
            BinaryOp::Slt => self.signed_order(a, b, result),
            BinaryOp::Mul
            | BinaryOp::Urem
            | BinaryOp::Sdiv
            | BinaryOp::Srem
            | BinaryOp::Ashr
            | BinaryOp::Intern => Ok(()),
        }
    }

    fn equality(&mut self, a: Arg, b: Arg, result: Domain) -> Result<(), Impossible> {
        match result.as_constant() {
            Some(1) => {
                let (x, y) = (value_of(self.values, a), value_of(self.values, b));
                self.narrow(a, y.domain)?;
                self.narrow(b, x.domain)
            }
            Some(_) => {
                self.excluded(a, b)?;
                self.excluded(b, a)
            }
            None => Ok(()),
        }
    }

    /// Restricts `a` to the values that differ from `b`. Removes at most one value, and only if `b`
    /// is constant.
    fn excluded(&mut self, a: Arg, b: Arg) -> Result<(), Impossible> {
        let (x, Some(value)) = (self.domain(a), self.domain(b).as_constant()) else {
            return Ok(());
        };
        let rest = x.without(value).ok_or(Impossible)?;
        self.narrow(a, rest)
    }

    fn unsigned_order(&mut self, a: Arg, b: Arg, result: Domain) -> Result<(), Impossible> {
        let (x, y) = (self.domain(a), self.domain(b));
        let (width, m) = (x.width(), mask(x.width()));
        match result.as_constant() {
            Some(1) => {
                if y.hi() == 0 || x.lo() == m {
                    return Err(Impossible);
                }
                self.narrow(a, Domain::range(width, 0, y.hi() - 1))?;
                self.narrow(b, Domain::range(width, x.lo() + 1, m))
            }
            Some(_) => {
                self.narrow(a, Domain::range(width, y.lo(), m))?;
                self.narrow(b, Domain::range(width, 0, x.hi()))
            }
            None => Ok(()),
        }
    }

    fn signed_order(&mut self, a: Arg, b: Arg, result: Domain) -> Result<(), Impossible> {
        let (x, y) = (self.domain(a).signed_range(), self.domain(b).signed_range());
        let width = self.domain(a).width();
        let least = sign_extend(1 << (width - 1), width);
        let greatest = (mask(width) >> 1) as i64;
        match result.as_constant() {
            Some(1) => {
                if y.1 == least || x.0 == greatest {
                    return Err(Impossible);
                }
                self.narrow(a, Domain::signed(width, least, y.1 - 1))?;
                self.narrow(b, Domain::signed(width, x.0 + 1, greatest))
            }
            Some(_) => {
                self.narrow(a, Domain::signed(width, y.0, greatest))?;
                self.narrow(b, Domain::signed(width, least, x.1))
            }
            None => Ok(()),
        }
    }
}
