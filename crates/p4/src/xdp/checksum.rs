//! Translates checksums and hashes over lists of fields: the Internet checksum (RFC 1071), XOR,
//! identity, CRC-16 and CRC-32.

use super::storage::{is_scalar, plain};
use super::*;

/// Largest payload in bytes that a checksum covers. XDP programs without support for fragments do
/// not get longer packets from the kernel.
const MOST_PAYLOAD: u32 = 4096;
/// Number of payload bytes that each iteration of the summing loop adds. The larger this number,
/// the fewer iterations the kernel's verifier must follow.
const CHUNK: u32 = 64;

impl<'a> Generator<'a> {
    /// Emits `verify_checksum`, `update_checksum` or `hash`.
    pub(super) fn checksum_call(
        &mut self,
        expr: &'a Expr,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<String>> {
        let span = expr.span;
        let (data_at, algorithm_at) = if name == "hash" { (3, 1) } else { (1, 3) };
        let (Some(Given::Expr(data)), Some(Given::Expr(algorithm))) =
            (given.get(data_at), given.get(algorithm_at))
        else {
            return self.unsupported(span, name);
        };
        let Some(Value::Member(_, algorithm)) = self.constant(algorithm) else {
            return self.unsupported(span, "a hash algorithm that is not constant");
        };
        if name == "hash" {
            let Some(Given::Expr(target)) = given.first() else {
                return self.unsupported(span, name);
            };
            let ty = self.ty(target);
            let base = self.argument(given, 2, &ty)?;
            let most = self.argument(given, 4, &Type::Bit(64))?;
            let computed = self.compute(&algorithm, data, span)?;
            let most = self.save("most", &Type::Bit(64), &format!("(u64){most}"))?;
            let value =
                self.fit(&format!("(u64){base} + ({most} ? (u64){computed} % {most} : 0)"), &ty);
            self.store(target, &value)?;
            return Ok(None);
        }
        let condition = self.argument(given, 0, &Type::Bool)?;
        let Some(Given::Expr(checksum)) = given.get(2) else { return self.unsupported(span, name) };
        let ty = self.ty(checksum);
        self.put(format!("if ({condition}) {{"));
        let computed = match name.ends_with("_with_payload") {
            true => self.compute_with_payload(&algorithm, data, span)?,
            false => self.compute(&algorithm, data, span)?,
        };
        let value = self.fit(&computed, &ty);
        if name.starts_with("update_checksum") {
            self.store(checksum, &value)?;
        } else {
            let found = self.value(checksum)?;
            let Some(metadata) = &self.standard_metadata else {
                return self.unsupported(span, name);
            };
            let error = format!("{metadata}.checksum_error");
            self.put(format!("if ({found} != {value}) {error} = 1;"));
        }
        self.put("}");
        Ok(None)
    }

    /// Divides values into numbers, and returns a C expression and a width in bits for each.
    /// Numbers wider than 128 bits are divided into bytes.
    fn fields_of_data(
        &self,
        numbers: Vec<(String, Type)>,
        is_sum: bool,
        span: Span,
    ) -> Result<Vec<(String, u32)>> {
        let mut fields = Vec::new();
        let count = numbers.len();
        for (at, (place, ty)) in numbers.into_iter().enumerate() {
            match plain(&ty) {
                // The bytes beyond the current width are zero, so they do not change a sum.
                Type::Varbit(width) if is_sum && at + 1 == count && width.is_multiple_of(8) => {
                    fields.extend((0..width / 8).map(|at| (format!("{place}.bytes[{at}]"), 8)));
                }
                Type::Bit(width) | Type::Int(width) if width > 128 => {
                    fields.extend((0..width / 8).map(|at| (format!("{place}.bytes[{at}]"), 8)));
                }
                Type::Bit(width) | Type::Int(width) => fields.push((place, width)),
                other => {
                    return self.unsupported(
                        span,
                        format!("{other} in a hash, or before other fields of a checksum,"),
                    );
                }
            }
        }
        Ok(fields)
    }

    fn data_fields(&mut self, data: &'a Expr, numbers: &mut Vec<(String, Type)>) -> Result<()> {
        let ty = self.ty(data);
        match &data.kind {
            ExprKind::List { items, .. } => {
                items.iter().try_for_each(|item| self.data_fields(item, numbers))
            }
            ExprKind::Record { fields, .. } => {
                fields.iter().try_for_each(|(_, item)| self.data_fields(item, numbers))
            }
            _ if is_scalar(&ty) => {
                let value = self.value(data)?;
                let value = match plain(&ty) {
                    Type::Int(width) => format!(
                        "((u{}){value} & {})",
                        storage::c_width(width).unwrap_or(64),
                        storage::mask(width)
                    ),
                    _ => value,
                };
                numbers.push((value, ty));
                Ok(())
            }
            _ if ty == Type::Integer => {
                self.unsupported(data.span, "a number without a width in a checksum")
            }
            _ => {
                let place = self.place(data)?;
                self.leaves(&place, &ty, numbers);
                Ok(())
            }
        }
    }

    /// Returns the data as units of `unit` bits, in big-endian order and padded with zeros: one C
    /// expression for each unit.
    fn units(&self, numbers: Vec<(String, Type)>, unit: u32, span: Span) -> Result<Vec<String>> {
        let fields = self.fields_of_data(numbers, unit == 16, span)?;
        let mut units = Vec::new();
        let (mut parts, mut filled) = (Vec::<(String, u32)>::new(), 0);
        for (value, width) in fields {
            let kind = if width > 64 { "u128" } else { "u64" };
            let mut left = width;
            while left > 0 {
                let take = left.min(unit - filled);
                left -= take;
                let bits = format!("((u32)(({kind}){value} >> {left}) & {})", storage::mask(take));
                filled += take;
                parts.push((bits, unit - filled));
                if filled == unit {
                    units.push(joined(&parts));
                    parts.clear();
                    filled = 0;
                }
            }
        }
        if filled > 0 {
            units.push(joined(&parts));
        }
        Ok(units)
    }

    /// Emits a hash or checksum of an expression, and returns the result as a C expression.
    pub(super) fn compute(
        &mut self,
        algorithm: &str,
        data: &'a Expr,
        span: Span,
    ) -> Result<String> {
        let mut numbers = Vec::new();
        self.data_fields(data, &mut numbers)?;
        self.compute_numbers(algorithm, numbers, span)
    }

    /// Emits a hash or checksum of numbers, and returns the result as a C expression.
    pub(super) fn compute_numbers(
        &mut self,
        algorithm: &str,
        numbers: Vec<(String, Type)>,
        span: Span,
    ) -> Result<String> {
        if algorithm == "random" {
            return self.save("drawn", &Type::Bit(32), "bpf_get_prandom_u32()");
        }
        let Some(kind) = Algorithm::named(algorithm) else {
            return self.unsupported(span, format!("the hash algorithm {algorithm}"));
        };
        let sum = self.save("sum", &Type::Bit(kind.bits()), kind.start())?;
        self.feed(kind, &sum, numbers, span)?;
        Ok(kind.result(&sum))
    }

    /// Emits code that adds data to the state `sum` of a hash or checksum.
    pub(super) fn feed_data(
        &mut self,
        kind: Algorithm,
        sum: &str,
        data: &'a Expr,
        span: Span,
    ) -> Result<()> {
        let mut numbers = Vec::new();
        self.data_fields(data, &mut numbers)?;
        self.feed(kind, sum, numbers, span)
    }

    fn feed(
        &mut self,
        kind: Algorithm,
        sum: &str,
        numbers: Vec<(String, Type)>,
        span: Span,
    ) -> Result<()> {
        let unit = if matches!(kind, Algorithm::Sum | Algorithm::Removed | Algorithm::Xor) {
            16
        } else {
            8
        };
        let table = kind.table_name();
        if let Some(name) = table {
            self.define(&format!("{name}_table"), &crc_table(name));
        }
        for unit in self.units(numbers, unit, span)? {
            self.put(match kind {
                Algorithm::Sum => format!("{sum} += {unit};"),
                Algorithm::Removed => format!("{sum} += 0xffff - {unit};"),
                Algorithm::Xor => format!("{sum} ^= {unit};"),
                Algorithm::Identity => format!("{sum} = ({sum} << 8) | {unit};"),
                Algorithm::Crc16 | Algorithm::Crc32 => format!(
                    "{sum} = {}_table[({sum} ^ {unit}) & 0xff] ^ ({sum} >> 8);",
                    table.unwrap_or_default()
                ),
            });
        }
        if matches!(kind, Algorithm::Sum | Algorithm::Removed) {
            self.fold(sum);
        }
        Ok(())
    }

    /// Emits code that reduces a sum to 16 bits by adding its carries to the lowest 16 bits.
    fn fold(&mut self, sum: &str) {
        self.put(format!("{sum} = ({sum} & 0xffff) + ({sum} >> 16);"));
        self.put(format!("{sum} = ({sum} & 0xffff) + ({sum} >> 16);"));
    }

    /// Emits the checksum of data and of the packet's bytes after the parsed headers, and returns
    /// it as a C expression.
    fn compute_with_payload(
        &mut self,
        algorithm: &str,
        data: &'a Expr,
        span: Span,
    ) -> Result<String> {
        if algorithm != "csum16" {
            return self.unsupported(span, format!("the hash algorithm {algorithm} of a payload"));
        }
        let mut numbers = Vec::new();
        self.data_fields(data, &mut numbers)?;
        // After an odd number of data bytes, the bytes of the payload swap places within their
        // units.
        let (mut bits, mut variable) = (0, String::new());
        for (place, ty) in &numbers {
            match plain(ty) {
                Type::Varbit(_) => variable = format!(" + {place}.bits"),
                ty => bits += ty.width().unwrap_or(0),
            }
        }
        if !bits.is_multiple_of(8) {
            return self.unsupported(
                span,
                format!("a checksum of {bits} bits, not whole bytes, before a payload"),
            );
        }
        let is_odd = format!("({bits}U{variable}) & 8");
        let sum = self.save("sum", &Type::Bit(32), "0")?;
        self.feed(Algorithm::Sum, &sum, numbers, span)?;
        self.add_payload(&sum, &is_odd)?;
        Ok(Algorithm::Sum.result(&sum))
    }

    /// Emits code that adds the packet's bytes after the parsed headers to a sum. `is_odd` is a C
    /// condition, true if the sum has an odd number of bytes so far.
    fn add_payload(&mut self, sum: &str, is_odd: &str) -> Result<()> {
        let (at, limit) = (self.fresh("at"), self.fresh("limit"));
        self.locals.push(format!("u8 *{at};"));
        self.locals.push(format!("u8 *{limit};"));
        let total = self.save("total", &Type::Bit(64), "0")?;
        let count = self.fresh("count");
        self.locals.push(format!("u64 {count};"));
        let rest = self.save("rest", &Type::Bit(32), "packet_length - parsed")?;
        self.bound("parsed", 16383);
        self.bound(&rest, MOST_PAYLOAD);
        // The kernel's verifier tracks the range of each pointer. With reloaded pointers, it need
        // not explore the code after the loop for each number of iterations.
        let fresh = |of: &str| format!("(u8 *)(u64)*(volatile u32 *)&ctx->{of}");
        self.put(format!("{at} = {} + parsed;", fresh("data")));
        self.put(format!("{limit} = {};", fresh("data_end")));
        // Without the assembly, the compiler keeps offsets instead of pointers, which the kernel's
        // verifier does not follow.
        let hide = format!("asm volatile(\"\" : \"+r\"({at}));");
        self.put(format!("for ({count} = 0; {count} < {}; {count}++) {{", MOST_PAYLOAD / CHUNK));
        self.put(&hide);
        self.put(format!("if ({at} + {CHUNK} > {limit}) break;"));
        for word in 0..CHUNK / 4 {
            self.put(format!("{total} += *(u32 *)({at} + {});", 4 * word));
        }
        self.put(format!("{at} += {CHUNK};"));
        self.put("}");
        let before = !(CHUNK - 1) & 0xffff;
        self.put(format!("{at} = {} + parsed + ({rest} & {before:#x});", fresh("data")));
        self.put(format!("{limit} = {};", fresh("data_end")));
        self.put(format!("for ({count} = 0; {count} < {}; {count}++) {{", CHUNK / 4 - 1));
        self.put(hide);
        self.put(format!("if ({at} + 4 > {limit}) break;"));
        self.put(format!("{total} += *(u32 *){at};"));
        self.put(format!("{at} += 4;"));
        self.put("}");
        self.put(format!("if ({at} + 2 <= {limit}) {{"));
        self.put(format!("{total} += *(u16 *){at};"));
        self.put(format!("{at} += 2;"));
        self.put("}");
        self.put(format!("if ({at} + 1 <= {limit}) {total} += *{at};"));
        for shift in [32, 16, 16] {
            let mask = (1u64 << shift) - 1;
            self.put(format!("{total} = ({total} & {mask:#x}) + ({total} >> {shift});"));
        }
        self.put(format!("{total} = ({total} & 0xffff) + ({total} >> 16);"));
        // The sum of swapped units is the swapped sum (RFC 1071, section 2).
        self.put(format!("if (!({is_odd})) {total} = __builtin_bswap16((u16){total});"));
        self.put(format!("{sum} += {total};"));
        self.fold(sum);
        Ok(())
    }
}

/// A hash or checksum algorithm that updates a state with each piece of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// The Internet checksum (RFC 1071).
    Sum,
    /// An Internet checksum from which data is removed (RFC 1624).
    Removed,
    Xor,
    Identity,
    Crc16,
    Crc32,
}

impl Algorithm {
    /// Returns the algorithm with this name in v1model or PSA; `None` for an unknown name. PSA's
    /// default is CRC-32.
    pub(super) fn named(name: &str) -> Option<Algorithm> {
        Some(match name {
            "csum16" | "ONES_COMPLEMENT16" => Algorithm::Sum,
            "xor16" => Algorithm::Xor,
            "identity" | "IDENTITY" => Algorithm::Identity,
            "crc16" | "CRC16" => Algorithm::Crc16,
            "crc32" | "CRC32" | "TARGET_DEFAULT" => Algorithm::Crc32,
            _ => return None,
        })
    }

    /// Returns the width of the state in bits.
    pub(super) fn bits(self) -> u32 {
        match self {
            Algorithm::Sum | Algorithm::Removed | Algorithm::Crc32 => 32,
            Algorithm::Xor | Algorithm::Crc16 => 16,
            Algorithm::Identity => 64,
        }
    }

    /// Returns the initial state as a C expression.
    pub(super) fn start(self) -> &'static str {
        if self == Algorithm::Crc32 { "0xffffffffU" } else { "0" }
    }

    /// Returns the final hash or checksum for a state, as a C expression.
    pub(super) fn result(self, sum: &str) -> String {
        match self {
            Algorithm::Sum | Algorithm::Removed => format!("(u16)~{sum}"),
            Algorithm::Crc32 => format!("~{sum}"),
            _ => sum.to_owned(),
        }
    }

    fn table_name(self) -> Option<&'static str> {
        match self {
            Algorithm::Crc16 => Some("crc16"),
            Algorithm::Crc32 => Some("crc32"),
            _ => None,
        }
    }
}

fn joined(parts: &[(String, u32)]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|(bits, shift)| if *shift > 0 { format!("({bits} << {shift})") } else { bits.clone() })
        .collect();
    format!("({})", parts.join(" | "))
}

/// Returns the C definition of the lookup table of a reflected CRC: CRC-16/ARC (polynomial 0x8005),
/// or CRC-32 of Ethernet.
fn crc_table(name: &str) -> String {
    let (kind, polynomial) =
        if name == "crc32" { ("u32", 0xedb8_8320u32) } else { ("u16", 0xa001) };
    let mut text = format!("static const {kind} {name}_table[256] = {{");
    for byte in 0..256u32 {
        let mut crc = byte;
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ polynomial } else { crc >> 1 };
        }
        let _ = write!(text, "{}0x{crc:x},", if byte % 8 == 0 { "\n    " } else { " " });
    }
    text.push_str("\n};\n");
    text
}
