//! Checksums and hashes over lists of fields: the Internet checksum (RFC 1071), CRC-16 and CRC-32.

use super::storage::{is_scalar, plain};
use super::*;

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
        let computed = self.compute(&algorithm, data, span)?;
        let value = self.fit(&computed, &ty);
        if name == "update_checksum" {
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

    /// Returns the numbers of a value with their widths.
    fn fields_of_data(&mut self, data: &'a Expr, is_sum: bool) -> Result<Vec<(String, u32)>> {
        let mut numbers = Vec::new();
        self.data_fields(data, &mut numbers)?;
        let mut fields = Vec::new();
        let count = numbers.len();
        for (at, (place, ty)) in numbers.into_iter().enumerate() {
            match plain(&ty) {
                // The bytes after its width are zero, which a sum ignores.
                Type::Varbit(width) if is_sum && at + 1 == count && width.is_multiple_of(8) => {
                    fields.extend((0..width / 8).map(|at| (format!("{place}.bytes[{at}]"), 8)));
                }
                Type::Bit(width) | Type::Int(width) if width > 128 => {
                    fields.extend((0..width / 8).map(|at| (format!("{place}.bytes[{at}]"), 8)));
                }
                Type::Bit(width) | Type::Int(width) => fields.push((place, width)),
                other => {
                    return self.unsupported(
                        data.span,
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

    /// Returns the data as big-endian units of `unit` bits, padded with zeros.
    fn units(&mut self, data: &'a Expr, unit: u32) -> Result<Vec<String>> {
        let fields = self.fields_of_data(data, unit == 16)?;
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

    fn compute(&mut self, algorithm: &str, data: &'a Expr, span: Span) -> Result<String> {
        match algorithm {
            "csum16" => {
                let units = self.units(data, 16)?;
                let sum = self.save("sum", &Type::Bit(32), "0")?;
                for unit in units {
                    self.put(format!("{sum} += {unit};"));
                }
                self.put(format!("{sum} = ({sum} & 0xffff) + ({sum} >> 16);"));
                self.put(format!("{sum} = ({sum} & 0xffff) + ({sum} >> 16);"));
                Ok(format!("(u16)~{sum}"))
            }
            "xor16" => {
                let units = self.units(data, 16)?;
                let sum = self.save("sum", &Type::Bit(16), "0")?;
                for unit in units {
                    self.put(format!("{sum} ^= {unit};"));
                }
                Ok(sum)
            }
            "identity" => {
                let units = self.units(data, 8)?;
                let sum = self.save("sum", &Type::Bit(64), "0")?;
                for unit in units {
                    self.put(format!("{sum} = ({sum} << 8) | {unit};"));
                }
                Ok(sum)
            }
            "crc16" | "crc32" => {
                let wide = algorithm == "crc32";
                self.define(&format!("{algorithm}_table"), &table(algorithm));
                let units = self.units(data, 8)?;
                let ty = if wide { Type::Bit(32) } else { Type::Bit(16) };
                let crc = self.save("crc", &ty, if wide { "0xffffffffU" } else { "0" })?;
                for unit in units {
                    self.put(format!(
                        "{crc} = {algorithm}_table[({crc} ^ {unit}) & 0xff] ^ ({crc} >> 8);"
                    ));
                }
                Ok(if wide { format!("~{crc}") } else { crc })
            }
            other => self.unsupported(span, format!("the hash algorithm {other}")),
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

/// Returns the table of a reflected CRC: CRC-16/ARC (polynomial 0x8005), or CRC-32 of Ethernet.
fn table(name: &str) -> String {
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
