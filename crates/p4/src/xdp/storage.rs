//! Representation of P4 types in C: integers of at least the same width, structs, and the layout of
//! headers.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::*;
use crate::check::Named;

/// Returns the type that a value is stored as: the underlying type for enums and new types.
pub(super) fn plain(ty: &Type) -> Type {
    match ty {
        Type::New(_, of) | Type::Enum(_, Some(of)) => plain(of),
        Type::Enum(_, None) | Type::Error => Type::Bit(32),
        Type::Bool => Type::Bit(1),
        other => other.clone(),
    }
}

/// Returns the width of the smallest C integer for a P4 number of `width` bits; `None` above 128
/// bits.
pub(super) fn c_width(width: u32) -> Option<u32> {
    [8, 16, 32, 64, 128].into_iter().find(|size| width <= *size)
}

/// Returns true if C represents values of the type as single numbers.
pub(super) fn is_scalar(ty: &Type) -> bool {
    matches!(plain(ty), Type::Bit(width) | Type::Int(width) if width <= 128)
}

/// Returns the width of a number type above 128 bits, which C stores as an array of bytes; `None`
/// for other types.
pub(super) fn wide(ty: &Type) -> Option<u32> {
    plain(ty).width().filter(|width| *width > 128)
}

/// A field of a header, in packet order.
pub(super) struct HeaderField {
    /// Path of the field in the C struct of the header, with dots.
    pub path: String,
    /// Type of the field.
    pub ty: Type,
    /// Width in bits; 0 for `varbit`, whose width is not constant.
    pub width: u32,
}

/// Splits the fields of a header after each `varbit` field. Returns the fields of constant width in
/// each part, and the `varbit` field after them.
pub(super) fn segments(fields: &[HeaderField]) -> Vec<(&[HeaderField], Option<&HeaderField>)> {
    let is_varbit = |field: &HeaderField| matches!(field.ty, Type::Varbit(_));
    let parts = fields.split_inclusive(is_varbit);
    parts
        .map(|part| match part.split_last() {
            Some((last, before)) if is_varbit(last) => (before, Some(last)),
            _ => (part, None),
        })
        .collect()
}

/// Returns the total size of fields in whole bytes.
pub(super) fn bytes_of(fields: &[HeaderField]) -> u32 {
    fields.iter().map(|field| field.width).sum::<u32>() / 8
}

impl<'a> Generator<'a> {
    /// Returns the name of the C type for a P4 type.
    pub(super) fn c_type(&mut self, ty: &Type) -> Result<String> {
        let name = match plain(ty) {
            Type::Bit(width) => match c_width(width) {
                Some(size) => format!("u{size}"),
                None => self.c_wide(width)?,
            },
            Type::Int(width) => match c_width(width) {
                Some(size) => format!("s{size}"),
                None => self.c_wide(width)?,
            },
            Type::Integer => "u32".to_owned(),
            ty @ (Type::Fields(..) | Type::Tuple(_) | Type::Stack(..)) => self.c_struct(&ty)?,
            Type::Varbit(width) => self.c_varbit(width),
            other => return self.unsupported(Span::default(), format!("a value of type {other}")),
        };
        Ok(name)
    }

    /// Defines the C struct for a number wider than 128 bits, in network byte order. Returns its
    /// name.
    fn c_wide(&mut self, width: u32) -> Result<String> {
        if !width.is_multiple_of(8) {
            return self.unsupported(Span::default(), format!("a number of {width} bits"));
        }
        let (name, bytes) = (format!("struct wide_{width}"), width / 8);
        let text = format!(
            "{name} {{
    u8 bytes[{bytes}];
}};
static inline __attribute__((always_inline)) u8 wide_{width}_equal(const {name} *a, const {name} *b)
{{
    for (u64 i = 0; i < {bytes}; i++) if (a->bytes[i] != b->bytes[i]) return 0;
    return 1;
}}
"
        );
        self.define(&name, &text);
        Ok(name)
    }

    /// Defines the C struct for a `varbit` type. Bytes beyond the current width are zero. Returns
    /// the struct's name.
    fn c_varbit(&mut self, width: u32) -> String {
        let (name, bytes) = (format!("struct varbit_{width}"), width.div_ceil(8).max(1));
        let text = format!(
            "{name} {{
    u32 bits;
    u8 bytes[{bytes}];
}};
static inline __attribute__((always_inline)) u8 varbit_{width}_equal(const {name} *a, const {name} *b)
{{
    if (a->bits != b->bits) return 0;
    for (u64 i = 0; i < {bytes}; i++) if (a->bytes[i] != b->bytes[i]) return 0;
    return 1;
}}
"
        );
        self.define(&name, &text);
        name
    }

    /// Defines the C struct for a P4 type, and returns its name.
    fn c_struct(&mut self, ty: &Type) -> Result<String> {
        let key = match ty {
            // Types in different scopes can share a name, so the key is the number of the
            // declaration.
            Type::Fields(_, Named { id, .. }) => format!("{id:?} {ty}"),
            other => format!("{other:?}"),
        };
        if let Some(name) = self.struct_names.get(&key) {
            return Ok(name.clone());
        }
        let base = match ty {
            Type::Fields(_, named) => c_name(&named.name),
            Type::Stack(..) => "stack".to_owned(),
            _ => "tuple".to_owned(),
        };
        let mut text = String::new();
        match ty {
            Type::Fields(kind, _) => {
                for (name, of) in self.fields(ty) {
                    let c = self.c_type(&of)?;
                    let _ = writeln!(text, "    {c} {};", field_name(&name));
                }
                if *kind == FieldsKind::Header {
                    text.push_str("    u8 valid_;\n");
                } else if text.is_empty() {
                    text.push_str("    u8 unused_;\n");
                }
            }
            Type::Tuple(types) => {
                for (at, of) in types.iter().enumerate() {
                    let c = self.c_type(of)?;
                    let _ = writeln!(text, "    {c} f{at};");
                }
                if types.is_empty() {
                    text.push_str("    u8 unused_;\n");
                }
            }
            Type::Stack(of, size) => {
                let c = self.c_type(of)?;
                let _ = writeln!(text, "    {c} e[{}];", (*size).max(1));
            }
            _ => {}
        }
        let name = format!("struct {}", self.fresh(&base));
        self.structs.push(format!("{name} {{\n{text}}};\n"));
        self.struct_names.insert(key, name.clone());
        Ok(name)
    }

    /// Returns the fields of a struct, header or header union.
    pub(super) fn fields(&self, ty: &Type) -> Vec<(Rc<str>, Type)> {
        match ty {
            Type::Fields(_, named) => self
                .checked
                .fields_of(named)
                .into_iter()
                .map(|(name, ty)| (name, self.resolved(&ty)))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the C names and the types of the members of a struct or tuple.
    pub(super) fn members(&self, ty: &Type) -> Vec<(String, Type)> {
        match ty {
            Type::Tuple(types) => {
                types.iter().enumerate().map(|(at, ty)| (format!("f{at}"), ty.clone())).collect()
            }
            Type::Stack(of, size) => {
                (0..*size).map(|at| (format!("e[{at}]"), (**of).clone())).collect()
            }
            _ => self.fields(ty).into_iter().map(|(name, ty)| (field_name(&name), ty)).collect(),
        }
    }

    /// Returns the fields of a header in packet order.
    pub(super) fn header_fields(&self, ty: &Type, span: Span) -> Result<Vec<HeaderField>> {
        let mut fields = Vec::new();
        self.add_fields(ty, "", span, &mut fields)?;
        for (part, _) in segments(&fields) {
            let bits: u32 = part.iter().map(|field| field.width).sum();
            if !bits.is_multiple_of(8) {
                return self.unsupported(
                    span,
                    format!("header {ty} of {bits} bits, which are not whole bytes,"),
                );
            }
        }
        Ok(fields)
    }

    fn add_fields(
        &self,
        ty: &Type,
        before: &str,
        span: Span,
        fields: &mut Vec<HeaderField>,
    ) -> Result<()> {
        for (name, of) in self.members(ty) {
            let path = format!("{before}{name}");
            match plain(&of) {
                ty @ (Type::Bit(width) | Type::Int(width)) => {
                    fields.push(HeaderField { path, ty, width })
                }
                ty @ (Type::Fields(..) | Type::Stack(..) | Type::Tuple(_)) => {
                    self.add_fields(&ty, &format!("{path}."), span, fields)?;
                }
                ty @ Type::Varbit(_) => fields.push(HeaderField { path, ty, width: 0 }),
                other => return self.unsupported(span, format!("a header field of type {other}")),
            }
        }
        Ok(())
    }

    /// Returns the size of a header in bytes.
    pub(super) fn header_size(&self, ty: &Type, span: Span) -> Result<u32> {
        Ok(bytes_of(&self.header_fields(ty, span)?))
    }

    /// Returns a C expression that reduces `expr` to the width of a type, in the C type for it.
    pub(super) fn fit(&self, expr: &str, ty: &Type) -> String {
        match plain(ty) {
            Type::Bit(0) | Type::Int(0) => "(u8)0".to_owned(),
            Type::Bit(width) => {
                let size = c_width(width).unwrap_or(128);
                if width == size {
                    format!("(u{size})({expr})")
                } else {
                    format!("(u{size})(({expr}) & {})", mask(width))
                }
            }
            Type::Int(width) => {
                let size = c_width(width).unwrap_or(128);
                if width == size {
                    format!("(s{size})({expr})")
                } else {
                    let up = size - width;
                    format!("(s{size})((s{size})((u{size})({expr}) << {up}) >> {up})")
                }
            }
            _ => format!("({expr})"),
        }
    }

    /// Returns a compile-time value as a C expression.
    pub(super) fn literal(&self, value: &Value, ty: &Type, span: Span) -> Result<String> {
        let number = match value {
            Value::Bool(value) => return Ok(format!("(u8){}", u8::from(*value))),
            Value::Number(number) => number.clone(),
            Value::Error(name) => {
                let at = self.checked.errors.iter().position(|one| one == name).unwrap_or(0);
                return Ok(format!("{at}U"));
            }
            Value::Member(id, name) => {
                let at = self
                    .checked
                    .enums
                    .get(id)
                    .and_then(|one| one.members.iter().position(|member| member.0 == *name));
                return Ok(format!("{}U", at.unwrap_or(0)));
            }
            _ => return self.unsupported(span, "this constant"),
        };
        let ty = plain(ty);
        let number = if ty == Type::Integer { number } else { crate::check::wrap(&number, &ty) };
        let text = integer(&number);
        Ok(match ty {
            Type::Bit(width) => format!("(u{})({text})", c_width(width).unwrap_or(128)),
            Type::Int(width) => format!("(s{})({text})", c_width(width).unwrap_or(128)),
            _ => text,
        })
    }
}

/// Returns a C constant with the lowest `width` bits set.
pub(super) fn mask(width: u32) -> String {
    integer(&((BigInt::from(1) << width) - 1))
}

/// Returns an integer as a C constant.
pub(super) fn integer(number: &BigInt) -> String {
    if let Some(small) = number.to_u64() {
        return if small > u64::from(u32::MAX) {
            format!("0x{small:x}ULL")
        } else {
            format!("{small}U")
        };
    }
    if let Some(small) = number.to_i64() {
        return format!("({small}LL)");
    }
    let whole = number & ((BigInt::from(1) << 128) - 1);
    let high: BigInt = &whole >> 64;
    let low: BigInt = &whole & BigInt::from(u64::MAX);
    format!(
        "(((u128)0x{:x}ULL << 64) | 0x{:x}ULL)",
        high.to_u64().unwrap_or(0),
        low.to_u64().unwrap_or(0)
    )
}
