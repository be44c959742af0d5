//! Generates random P4 expressions, and computes their values with integers of any size (P4_16
//! specification 1.2.4, sections 8.5 to 8.11).

use std::fmt::Write;

use num_bigint::BigInt;
use rand::RngExt;
use rand::rngs::StdRng;

/// Maximum width in bits for which products and saturating sums are generated. The translation does
/// not support them for wider numbers.
const WIDE: u32 = 64;

/// A P4 integer type: signedness, and width in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    pub signed: bool,
    pub width: u32,
}

impl Type {
    /// Returns the type as P4 source, such as `bit<8>`.
    pub fn text(self) -> String {
        format!("{}<{}>", if self.signed { "int" } else { "bit" }, self.width)
    }

    /// Wraps an integer around to the range of this type.
    pub fn wrap(self, value: &BigInt) -> BigInt {
        let whole = BigInt::from(1) << self.width;
        let rest = ((value % &whole) + &whole) % &whole;
        if self.signed && rest >= BigInt::from(1) << (self.width - 1) { rest - whole } else { rest }
    }

    fn limits(self) -> (BigInt, BigInt) {
        match self.signed {
            true => {
                let half = BigInt::from(1) << (self.width - 1);
                (-half.clone(), half - 1)
            }
            false => (BigInt::ZERO, (BigInt::from(1) << self.width) - 1),
        }
    }
}

#[derive(Debug)]
pub enum Expr {
    /// Field of a header: its index in the list of fields, and its name in P4.
    Field(usize, String),
    Literal(Type, BigInt),
    /// Integer literal without a width. It has the type of the expression around it.
    Plain(BigInt),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Shift(&'static str, Box<Expr>, Box<Expr>),
    /// Concatenation of two operands. The last field is the type of the second operand: its width
    /// and signedness determine the result.
    Concat(Box<Expr>, Box<Expr>, Type),
    Slice(Box<Expr>, u32, u32),
    Cast(Type, Box<Expr>),
    Choice(Box<Condition>, Box<Expr>, Box<Expr>),
    OfBool(Box<Condition>),
}

#[derive(Debug)]
pub enum Condition {
    Compare(&'static str, Box<Expr>, Box<Expr>),
    Not(Box<Condition>),
    Both(&'static str, Box<Condition>, Box<Condition>),
    OfBit(Box<Expr>),
}

impl Expr {
    /// Appends the expression as P4 source.
    pub fn text(&self, to: &mut String) {
        let _ = match self {
            Expr::Field(_, name) => write!(to, "{name}"),
            Expr::Literal(ty, value) => {
                let sign = if ty.signed { 's' } else { 'w' };
                match value < &BigInt::ZERO {
                    true => write!(to, "(-{}{sign}{})", ty.width, -value),
                    false => write!(to, "{}{sign}{value}", ty.width),
                }
            }
            Expr::Plain(value) => write!(to, "{value}"),
            Expr::Unary(op, a) => {
                to.push_str(op);
                to.push('(');
                a.text(to);
                write!(to, ")")
            }
            Expr::Binary(op, a, b) | Expr::Shift(op, a, b) => {
                to.push('(');
                a.text(to);
                let _ = write!(to, " {op} ");
                b.text(to);
                write!(to, ")")
            }
            Expr::Concat(a, b, _) => {
                to.push('(');
                a.text(to);
                to.push_str(" ++ ");
                b.text(to);
                write!(to, ")")
            }
            Expr::Slice(a, high, low) => {
                to.push('(');
                a.text(to);
                write!(to, ")[{high}:{low}]")
            }
            Expr::Cast(ty, a) => {
                let _ = write!(to, "({})(", ty.text());
                a.text(to);
                write!(to, ")")
            }
            Expr::Choice(condition, a, b) => {
                to.push('(');
                condition.text(to);
                to.push_str(" ? ");
                a.text(to);
                to.push_str(" : ");
                b.text(to);
                write!(to, ")")
            }
            Expr::OfBool(condition) => {
                to.push_str("(bit<1>)(");
                condition.text(to);
                write!(to, ")")
            }
        };
    }

    /// Returns the value of the expression, with the given values of the fields. `ty` is the type
    /// of the expression.
    pub fn value(&self, ty: Type, fields: &[(Type, BigInt)]) -> BigInt {
        let inner = |expr: &Expr| expr.value(expr.ty(fields).unwrap_or(ty), fields);
        let value = match self {
            Expr::Field(at, _) => fields[*at].1.clone(),
            Expr::Literal(_, value) | Expr::Plain(value) => value.clone(),
            Expr::Unary("-", a) => -a.value(ty, fields),
            Expr::Unary("~", a) => -a.value(ty, fields) - 1,
            Expr::Unary(_, a) => a.value(ty, fields),
            Expr::Binary(op, a, b) => {
                let (a, b) = (a.value(ty, fields), b.value(ty, fields));
                let (low, high) = ty.limits();
                match *op {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "|+|" => (a + b).clamp(low, high),
                    "|-|" => (a - b).clamp(low, high),
                    "&" => a & b,
                    "|" => a | b,
                    _ => a ^ b,
                }
            }
            Expr::Shift(op, a, b) => {
                let by = match &**b {
                    Expr::Plain(by) => by.clone(),
                    by => inner(by),
                };
                let by = u32::try_from(by).unwrap_or(u32::MAX).min(200);
                let a = a.value(ty, fields);
                // Shifting right rounds down, so it keeps the sign.
                if *op == "<<" { a << by } else { a >> by }
            }
            Expr::Concat(a, b, of) => {
                let low = Type { signed: false, ..*of };
                (inner(a) << of.width) | low.wrap(&inner(b))
            }
            Expr::Slice(a, _, low) => inner(a) >> *low,
            Expr::Cast(_, a) => inner(a),
            Expr::Choice(condition, a, b) => match condition.value(fields) {
                true => a.value(ty, fields),
                false => b.value(ty, fields),
            },
            Expr::OfBool(condition) => u8::from(condition.value(fields)).into(),
        };
        ty.wrap(&value)
    }

    /// Returns the type of the expression, or `None` for an integer literal without a width.
    fn ty(&self, fields: &[(Type, BigInt)]) -> Option<Type> {
        match self {
            Expr::Field(at, _) => Some(fields[*at].0),
            Expr::Literal(ty, _) | Expr::Cast(ty, _) => Some(*ty),
            Expr::Plain(_) => None,
            Expr::Unary(_, a) | Expr::Shift(_, a, _) => a.ty(fields),
            Expr::Binary(_, a, b) | Expr::Choice(_, a, b) => a.ty(fields).or_else(|| b.ty(fields)),
            Expr::Concat(a, _, of) => {
                a.ty(fields).map(|ty| Type { width: ty.width + of.width, ..ty })
            }
            Expr::Slice(_, high, low) => Some(Type { signed: false, width: high - low + 1 }),
            Expr::OfBool(_) => Some(Type { signed: false, width: 1 }),
        }
    }
}

impl Condition {
    /// Appends the condition as P4 source.
    pub fn text(&self, to: &mut String) {
        match self {
            Condition::Compare(op, a, b) => {
                to.push('(');
                a.text(to);
                let _ = write!(to, " {op} ");
                b.text(to);
                to.push(')');
            }
            Condition::Not(a) => {
                to.push_str("!(");
                a.text(to);
                to.push(')');
            }
            Condition::Both(op, a, b) => {
                to.push('(');
                a.text(to);
                let _ = write!(to, " {op} ");
                b.text(to);
                to.push(')');
            }
            Condition::OfBit(a) => {
                to.push_str("(bool)(");
                a.text(to);
                to.push(')');
            }
        }
    }

    /// Returns true if the condition holds for the given values of the fields.
    pub fn value(&self, fields: &[(Type, BigInt)]) -> bool {
        match self {
            Condition::Compare(op, a, b) => {
                let ty = a.ty(fields).or_else(|| b.ty(fields));
                let ty = ty.expect("one operand has a width");
                let (a, b) = (a.value(ty, fields), b.value(ty, fields));
                match *op {
                    "==" => a == b,
                    "!=" => a != b,
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    _ => a >= b,
                }
            }
            Condition::Not(a) => !a.value(fields),
            Condition::Both("&&", a, b) => a.value(fields) && b.value(fields),
            Condition::Both(_, a, b) => a.value(fields) || b.value(fields),
            Condition::OfBit(a) => {
                a.value(Type { signed: false, width: 1 }, fields) == BigInt::from(1)
            }
        }
    }
}

/// A field or variable that expressions can read: its name in P4 and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub ty: Type,
}

/// Generator of random expressions over fields.
pub struct Source<'a> {
    pub rng: &'a mut StdRng,
    pub fields: &'a [Field],
    /// True if numbers of more than 64 bits may be shifted by variable distances, not only by
    /// constants.
    pub shifts_wide: bool,
}

impl Source<'_> {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.random_range(0..from.len())]
    }

    /// Returns a random value of a type. The limits of the type, small numbers and powers of two
    /// are likely.
    pub fn number(&mut self, ty: Type) -> BigInt {
        let (low, high) = ty.limits();
        match self.rng.random_range(0..6) {
            0 => low,
            1 => high,
            2 => ty.wrap(&self.rng.random_range(0u32..4).into()),
            3 => ty.wrap(&(BigInt::from(1) << self.rng.random_range(0..ty.width))),
            _ => ty.wrap(&self.rng.random::<u128>().into()),
        }
    }

    /// Returns a random expression of a type. `depth` is the maximum depth of nesting.
    pub fn expr(&mut self, ty: Type, depth: u32) -> Box<Expr> {
        if depth == 0 || self.rng.random_bool(0.1) {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        let narrow = ty.width <= WIDE;
        Box::new(match self.rng.random_range(0..11) {
            0 => {
                let op = self.pick(&["-", "~", "+"]);
                Expr::Unary(op, self.expr(ty, depth))
            }
            1..=3 => {
                let all = ["+", "-", "&", "|", "^", "*", "|+|", "|-|"];
                // The exact sum of two such numbers has one bit more.
                let saturates = narrow && !(ty.signed && ty.width == 64);
                let count = if saturates {
                    8
                } else if narrow {
                    6
                } else {
                    5
                };
                let op = self.pick(&all[..count]);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                match self.rng.random_range(0..6) {
                    0 => Expr::Binary(op, self.plain(ty), b),
                    1 => Expr::Binary(op, a, self.plain(ty)),
                    _ => Expr::Binary(op, a, b),
                }
            }
            4 => {
                let op = self.pick(&["<<", ">>"]);
                let a = self.expr(ty, depth);
                let width = self.rng.random_range(1..=8);
                let varies = self.rng.random_bool(0.6) && (self.shifts_wide || narrow);
                let by = match varies {
                    true => self.expr(Type { signed: false, width }, depth),
                    false => Box::new(Expr::Plain(self.rng.random_range(0..140u32).into())),
                };
                Expr::Shift(op, a, by)
            }
            5 if ty.width > 1 => {
                let width = self.rng.random_range(1..ty.width);
                let of = Type { signed: self.rng.random(), width };
                let rest = Type { width: ty.width - width, ..ty };
                Expr::Concat(self.expr(rest, depth), self.expr(of, depth), of)
            }
            6 if !ty.signed => {
                let low = self.rng.random_range(0..8);
                let width = (ty.width + low + self.rng.random_range(0..8)).min(128);
                let low = low.min(width - ty.width);
                let of = Type { signed: self.rng.random(), width };
                Expr::Slice(self.expr(of, depth), low + ty.width - 1, low)
            }
            7 if !ty.signed && ty.width == 1 => Expr::OfBool(self.condition(depth)),
            7 | 8 => {
                let of = match self.rng.random_bool(0.5) {
                    true => Type { signed: !ty.signed, ..ty },
                    false => Type { width: self.rng.random_range(1..=WIDE), ..ty },
                };
                Expr::Cast(ty, self.expr(of, depth))
            }
            _ => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                let condition = self.condition(depth);
                match self.rng.random_range(0..6) {
                    0 => Expr::Choice(condition, self.plain(ty), b),
                    1 => Expr::Choice(condition, a, self.plain(ty)),
                    _ => Expr::Choice(condition, a, b),
                }
            }
        })
    }

    /// Returns a random literal without a width or sign that fits into the type.
    fn plain(&mut self, ty: Type) -> Box<Expr> {
        let (_, high) = ty.limits();
        let number = self.number(Type { signed: false, ..ty });
        Box::new(Expr::Plain(number.min(high)))
    }

    fn leaf(&mut self, ty: Type) -> Box<Expr> {
        let same: Vec<usize> =
            (0..self.fields.len()).filter(|at| self.fields[*at].ty == ty).collect();
        let wider: Vec<usize> =
            (0..self.fields.len()).filter(|at| self.fields[*at].ty.width >= ty.width).collect();
        if !same.is_empty() && self.rng.random_bool(0.8) {
            let at = self.pick(&same);
            return self.field(at);
        }
        if wider.is_empty() || self.rng.random_bool(0.2) {
            return Box::new(Expr::Literal(ty, self.number(ty)));
        }
        let at = self.pick(&wider);
        let low = self.rng.random_range(0..=self.fields[at].ty.width - ty.width);
        let slice = Expr::Slice(self.field(at), low + ty.width - 1, low);
        Box::new(if ty.signed { Expr::Cast(ty, Box::new(slice)) } else { slice })
    }

    fn field(&self, at: usize) -> Box<Expr> {
        Box::new(Expr::Field(at, self.fields[at].name.clone()))
    }

    /// Returns a random condition. `depth` limits the nesting of its operands.
    pub fn condition(&mut self, depth: u32) -> Box<Condition> {
        let depth = depth.saturating_sub(1);
        Box::new(match self.rng.random_range(0..8) {
            0 if depth > 0 => Condition::Not(self.condition(depth)),
            1 | 2 if depth > 0 => {
                let op = self.pick(&["&&", "||"]);
                Condition::Both(op, self.condition(depth), self.condition(depth))
            }
            3 => Condition::OfBit(self.expr(Type { signed: false, width: 1 }, depth)),
            _ => {
                let op = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
                let ty = self.ty();
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                match self.rng.random_range(0..5) {
                    0 => Condition::Compare(op, self.plain(ty), b),
                    _ => Condition::Compare(op, a, b),
                }
            }
        })
    }

    fn ty(&mut self) -> Type {
        random_type(self.rng)
    }
}

/// Returns a random type of 1 to 128 bits.
pub fn random_type(rng: &mut StdRng) -> Type {
    let width = match rng.random_range(0..10) {
        0 => [8, 16, 32, 64][rng.random_range(0..4)],
        1 => rng.random_range(65..=128),
        2 => rng.random_range(1..4),
        _ => rng.random_range(1..=64),
    };
    Type { signed: rng.random(), width }
}

/// Returns the P4 declaration of a header with fields of these types, and with padding up to a
/// whole byte.
pub fn header(name: &str, prefix: &str, types: &[Type]) -> String {
    let mut text = format!("header {name} {{");
    for (at, ty) in types.iter().enumerate() {
        let _ = write!(text, " {} {prefix}{at};", ty.text());
    }
    let rest = padding(types);
    if rest > 0 {
        let _ = write!(text, " bit<{rest}> rest;");
    }
    text + " }"
}

/// Returns the number of padding bits that fields of these types need up to a whole byte.
pub fn padding(types: &[Type]) -> u32 {
    let bits: u32 = types.iter().map(|ty| ty.width).sum();
    bits.next_multiple_of(8) - bits
}

/// Encodes the bytes of a header with these fields. The padding bits are zeros.
pub fn bytes(fields: &[(Type, BigInt)]) -> Vec<u8> {
    let mut whole = BigInt::from(0);
    let mut bits = 0;
    for (ty, value) in fields {
        whole = (whole << ty.width) | Type { signed: false, ..*ty }.wrap(value);
        bits += ty.width;
    }
    let types: Vec<Type> = fields.iter().map(|field| field.0).collect();
    whole <<= padding(&types);
    let digits = whole.to_bytes_be().1;
    let size = bits.div_ceil(8) as usize;
    let mut bytes = vec![0; size.saturating_sub(digits.len())];
    bytes.extend(digits);
    bytes[bytes.len() - size..].to_vec()
}
