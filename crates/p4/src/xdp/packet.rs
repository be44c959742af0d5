//! Emits access to the packet: extraction, lookahead, and emission of headers.

use super::statement::Target;
use super::storage::{HeaderField, bytes_of, is_scalar, segments};
use super::*;

/// Adjacent header fields that together fill whole bytes.
struct Group {
    /// Offset of the group in the header, in bytes.
    offset: u32,
    /// Width in bits, a multiple of 8.
    width: u32,
    /// Fields of the group, each with its index in the header and the position of its lowest bit in
    /// the group.
    fields: Vec<(usize, u32)>,
}

/// Divides the fields of a header into groups that start and end at byte boundaries.
fn groups(fields: &[HeaderField]) -> Vec<Group> {
    let mut groups = Vec::new();
    let (mut at, mut start, mut members) = (0, 0, Vec::new());
    for (number, field) in fields.iter().enumerate() {
        members.push((number, at));
        at += field.width;
        if at % 8 == 0 {
            let width = at - start;
            let positions = members
                .drain(..)
                .map(|(number, from): (usize, u32)| (number, at - from - fields[number].width))
                .collect();
            groups.push(Group { offset: start / 8, width, fields: positions });
            start = at;
        }
    }
    groups.retain(|group| group.width > 0);
    groups
}

/// Returns a C expression that loads a big-endian number of `width` bits from the packet.
fn load(base: &str, offset: u32, width: u32) -> String {
    let kind = if width > 64 {
        "u128"
    } else if width > 32 {
        "u64"
    } else {
        "u32"
    };
    let (mut at, mut left, mut parts) = (offset, width, Vec::new());
    while left > 0 {
        let size = [64, 32, 16, 8].into_iter().find(|size| *size <= left).unwrap_or(8);
        left -= size;
        let shift = if left > 0 { format!(" << {left}") } else { String::new() };
        parts.push(format!("(({kind})LOAD{size}({base} + {at}){shift})"));
        at += size / 8;
    }
    format!("({})", parts.join(" | "))
}

/// Returns a C expression that loads a field of a group byte by byte.
fn bytewise(group: &Group, position: u32, width: u32) -> String {
    let kind = if width > 64 { "u128" } else { "u64" };
    let (start, end) = (group.width - position - width, group.width - position);
    let parts: Vec<String> = (start / 8..end.div_ceil(8))
        .map(|byte| {
            // Bits of the byte that belong to the field.
            let (first, last) = ((byte * 8).max(start), (byte * 8 + 8).min(end));
            let loaded = format!("LOAD8(pos + {})", group.offset + byte);
            let down = byte * 8 + 8 - last;
            let bits = format!("(({kind})({loaded} >> {down}) & {})", storage::mask(last - first));
            format!("({bits} << {})", end - last)
        })
        .collect();
    parts.join(" | ")
}

/// Returns a C expression for each byte of a group. `values` contains each field as an unsigned C
/// expression, its position in the group and its width.
fn bytes_of_group(group: &Group, values: &[(String, u32, u32)]) -> Vec<String> {
    let mut bytes = Vec::new();
    for byte in 0..group.width / 8 {
        let (from, to) = (byte * 8, byte * 8 + 8);
        let mut parts = Vec::new();
        for (value, position, width) in values {
            let (start, end) = (group.width - position - width, group.width - position);
            let (first, last) = (from.max(start), to.min(end));
            if first < last {
                let bits =
                    format!("((u32)({value} >> {}) & {})", end - last, storage::mask(last - first));
                parts.push(format!("({bits} << {})", to - last));
            }
        }
        bytes.push(parts.join(" | "));
    }
    bytes
}

impl<'a> Generator<'a> {
    /// Emits code that rejects a packet with less than `bytes` bytes after `pos`.
    fn need(&mut self, bytes: u32, span: Span) -> Result<()> {
        self.put(format!("if (pos + {bytes} > end) {{"));
        self.reject("PacketTooShort", span)?;
        self.put("}");
        Ok(())
    }

    /// Emits `extract(header)`, or `extract(header, width)` with the width of a `varbit` in bits.
    pub(super) fn extract(&mut self, target: &'a Expr, width: Option<&'a Expr>) -> Result<()> {
        let span = target.span;
        let ty = self.ty(target);
        let to = match &target.kind {
            // `extract(_)` skips a header.
            ExprKind::DontCare => None,
            _ => Some(self.target(target)?),
        };
        let place = match &to {
            Some(Target { choices, .. }) => match &choices[..] {
                [only] if only.condition.is_none() => {
                    Some((only.place.clone(), only.siblings.clone()))
                }
                // If the index is not constant, the header is extracted elsewhere and copied to the
                // index.
                _ => Some((self.variable("extracted", &ty)?, Vec::new())),
            },
            None => None,
        };
        let fields = self.header_fields(&ty, span)?;
        let bytes = bytes_of(&fields);
        match width {
            None => {
                self.need(bytes, span)?;
                if let Some((place, _)) = &place {
                    self.load_fields(place, &fields)?;
                }
                self.put(format!("pos += {bytes};"));
                self.put(format!("parsed += {bytes};"));
            }
            Some(width) => {
                let place = place.as_ref().map(|one| &*one.0);
                self.extract_variable(place, &fields, width, span)?;
            }
        }
        if let Some((place, siblings)) = &place {
            self.put(format!("{place}.valid_ = 1;"));
            for sibling in siblings {
                self.put(format!("{sibling}.valid_ = 0;"));
            }
            if let Some(to) = to.filter(|to| to.choices.iter().all(|one| one.place != *place)) {
                self.store_to(&to, place)?;
            }
        }
        // Advance the next index of the stack, also for `next.header` in a stack of unions.
        let mut part = target;
        while let ExprKind::Member { base, name } = &part.kind {
            if let (Type::Stack(_, size), "next") = (self.ty(base), &*name.text) {
                let stack = self.place(base)?;
                let next = self.next.entry(stack).or_insert(0);
                // An extraction after the last element has already ended the parsing.
                *next = size.min(*next + 1);
            }
            part = base;
        }
        Ok(())
    }

    /// Emits code that extracts a header with a `varbit` field.
    fn extract_variable(
        &mut self,
        place: Option<&str>,
        fields: &[HeaderField],
        width: &'a Expr,
        span: Span,
    ) -> Result<()> {
        let parts = segments(fields);
        let varbits: Vec<&HeaderField> = parts.iter().filter_map(|part| part.1).collect();
        let [HeaderField { ty: Type::Varbit(most), .. }] = varbits[..] else {
            return self.unsupported(span, "a header with several varbit fields");
        };
        let value = self.value_as(width, &Type::Bit(32))?;
        let bits = self.save("bits", &Type::Bit(32), &value)?;
        self.put(format!("if ({bits} & 7) {{"));
        self.reject("ParserInvalidArgument", span)?;
        self.put("}");
        self.put(format!("if ({bits} > {most}) {{"));
        self.reject("HeaderTooShort", span)?;
        self.put("}");
        let bytes = self.save("bytes", &Type::Bit(32), &format!("{bits} >> 3"))?;
        let fixed = bytes_of(fields);
        self.put(format!("if (pos + {fixed} + {bytes} > end) {{"));
        self.reject("PacketTooShort", span)?;
        self.put("}");
        for (fields, varbit) in segments(fields) {
            let fixed = bytes_of(fields);
            self.need(fixed, span)?;
            if let Some(place) = place {
                self.load_fields(place, fields)?;
            }
            self.put(format!("pos += {fixed};"));
            let Some(varbit) = varbit else { continue };
            if let Some(place) = place {
                let place = format!("{place}.{}", varbit.path);
                self.put(format!("{place}.bits = {bits};"));
                self.each_byte(
                    most.div_ceil(8),
                    &bytes,
                    |at| format!("{place}.bytes[{at}] = LOAD8(pos + {at});"),
                    |at| format!("{place}.bytes[{at}] = 0;"),
                )?;
            }
            self.bound(&bytes, most.div_ceil(8));
            self.put(format!("pos += {bytes};"));
        }
        self.put(format!("parsed += {fixed} + {bytes};"));
        Ok(())
    }

    /// Emits a copy of bytes: a `memcpy` for at most 64 bytes, or else a loop.
    fn copy_bytes(&mut self, to: &str, from: &str, bytes: u32) -> Result<()> {
        if bytes <= 64 {
            self.put(format!("__builtin_memcpy({to}, {from}, {bytes});"));
            return Ok(());
        }
        let at = self.uninitialised("at", &Type::Bit(64))?;
        self.put(format!(
            "for ({at} = 0; {at} < {bytes}; {at}++) STORE8({to} + {at}, LOAD8({from} + {at}));"
        ));
        Ok(())
    }

    /// Returns an error if a field wider than 128 bits shares bytes with other fields.
    fn whole_group(&self, group: &Group, field: &HeaderField) -> Result<()> {
        match group.fields.len() == 1 && group.width == field.width {
            true => Ok(()),
            false => self.unsupported(
                Span::default(),
                format!("a field of {} bits that does not start at a byte", field.width),
            ),
        }
    }

    /// Emits a check that `number` is at most `most`. It always holds, but the kernel's verifier
    /// needs it.
    pub(super) fn bound(&mut self, number: &str, most: u32) {
        self.put(format!("asm volatile(\"\" : \"+r\"({number}));"));
        self.put(format!("if ({number} > {most}) return XDP_ABORTED;"));
    }

    /// Emits a loop over `most` byte offsets. It executes the statement `first` for the first
    /// `bytes` offsets, with a bounds check at `pos`, and the statement `rest` for all others.
    fn each_byte(
        &mut self,
        most: u32,
        bytes: &str,
        first: impl Fn(&str) -> String,
        rest: impl Fn(&str) -> String,
    ) -> Result<()> {
        let at = self.uninitialised("at", &Type::Bit(64))?;
        self.put(format!("for ({at} = 0; {at} < {most}; {at}++) {{"));
        self.put(format!("if ({at} < {bytes}) {{"));
        self.put(format!("if (pos + {at} + 1 > end) return XDP_ABORTED;"));
        self.put(first(&at));
        self.put(format!("}} else {{ {} }}", rest(&at)));
        self.put("}");
        Ok(())
    }

    fn load_fields(&mut self, place: &str, fields: &[HeaderField]) -> Result<()> {
        for group in groups(fields) {
            if group.width > 128 {
                for (number, position) in &group.fields {
                    let field = &fields[*number];
                    if storage::wide(&field.ty).is_some() {
                        self.whole_group(&group, field)?;
                        let to = format!("{place}.{}.bytes", field.path);
                        let from = format!("pos + {}", group.offset);
                        self.copy_bytes(&to, &from, group.width / 8)?;
                        continue;
                    }
                    let value = bytewise(&group, *position, field.width);
                    let value = self.fit(&value, &field.ty);
                    self.put(format!("{place}.{} = {value};", field.path));
                }
                continue;
            }
            let whole = load("pos", group.offset, group.width);
            if let [(number, 0)] = group.fields[..] {
                let field = &fields[number];
                let value = self.fit(&whole, &field.ty);
                self.put(format!("{place}.{} = {value};", field.path));
                continue;
            }
            let loaded = self.save(
                "loaded",
                &Type::Bit(group.width),
                &self.fit(&whole, &Type::Bit(group.width)),
            )?;
            for (number, shift) in group.fields {
                let field = &fields[number];
                // `shifted_right` works on halves: clang would combine several shifts into one by a
                // variable distance.
                let moved =
                    self.shifted_right(&loaded, &Type::Bit(group.width), &shift.to_string());
                let value = self.fit(&moved, &field.ty);
                self.put(format!("{place}.{} = {value};", field.path));
            }
        }
        Ok(())
    }

    /// Emits `lookahead<type>()`, and returns the value as a C expression.
    pub(super) fn lookahead(&mut self, ty: &Type, span: Span) -> Result<String> {
        if is_scalar(ty) {
            let plain = storage::plain(ty);
            let width = plain.width().unwrap_or(0);
            let bytes = width.div_ceil(8);
            self.need(bytes, span)?;
            let whole = load("pos", 0, bytes * 8);
            let value = self.fit(&format!("{whole} >> {}", bytes * 8 - width), ty);
            return self.save("ahead", ty, &value);
        }
        if !matches!(ty, Type::Fields(..) | Type::Tuple(_)) {
            return self.unsupported(span, format!("lookahead of {ty}"));
        }
        let fields = self.header_fields(ty, span)?;
        let bytes = bytes_of(&fields);
        if fields.iter().any(|field| matches!(field.ty, Type::Varbit(_))) {
            return self.unsupported(span, "lookahead of a varbit");
        }
        self.need(bytes, span)?;
        let name = self.variable("ahead", ty)?;
        self.load_fields(&name, &fields)?;
        if let Type::Fields(FieldsKind::Header, _) = ty {
            self.put(format!("{name}.valid_ = 1;"));
        }
        Ok(name)
    }

    /// Emits `advance(bits)`.
    pub(super) fn advance(&mut self, bits: &'a Expr) -> Result<()> {
        if let Some(Value::Number(number)) = self.constant(bits) {
            let span = bits.span;
            let bits: u32 = num_traits::ToPrimitive::to_u32(&number).unwrap_or(u32::MAX);
            if !bits.is_multiple_of(8) || bits > 1 << 19 {
                return self.unsupported(span, "an advance that is not of whole bytes");
            }
            self.need(bits / 8, span)?;
            self.put(format!("pos += {};", bits / 8));
            self.put(format!("parsed += {};", bits / 8));
            return Ok(());
        }
        let span = bits.span;
        let value = self.value(bits)?;
        let advance = self.save("advance", &Type::Bit(32), &format!("(u32){value}"))?;
        self.put(format!("if ({advance} & 7) {{"));
        self.reject("ParserInvalidArgument", span)?;
        self.put("}");
        let bytes = self.save("bytes", &Type::Bit(32), &format!("{advance} >> 3"))?;
        // The kernel's verifier follows offsets up to this limit; no packet is longer.
        self.put(format!("if ({bytes} > 16383) {{"));
        self.reject("PacketTooShort", span)?;
        self.put("}");
        self.put(format!("if (pos + {bytes} > end) {{"));
        self.reject("PacketTooShort", span)?;
        self.put("}");
        self.put(format!("pos += {bytes};"));
        self.put(format!("parsed += {bytes};"));
        Ok(())
    }

    /// Records the headers that `emit` writes: a header, all headers of a stack, or all headers in
    /// a struct.
    pub(super) fn emit(&mut self, place: &str, ty: &Type, span: Span) -> Result<()> {
        match ty {
            Type::Fields(FieldsKind::Header, _) => {
                let bytes = self.header_size(ty, span)?;
                // A branch may leave the header out.
                let flag = self.hidden("u8", "emitted");
                let length = self.length();
                self.put(format!("{flag} = {place}.valid_;"));
                let place = match place.starts_with("s->") {
                    true => place.to_owned(),
                    // The deparser may change its own headers after it emits them.
                    false => self.save("copy", ty, place)?,
                };
                self.put(format!("if ({flag}) {length} += {bytes};"));
                for field in self.header_fields(ty, span)? {
                    if let Type::Varbit(_) = field.ty {
                        let bits = format!("{place}.{}.bits", field.path);
                        self.put(format!("if ({flag}) {length} += {bits} >> 3;"));
                    }
                }
                self.emits.push(Emit { flag, place, ty: ty.clone() });
                Ok(())
            }
            Type::Fields(..) | Type::Stack(..) | Type::Tuple(_) => {
                for (name, of) in self.members(ty) {
                    self.emit(&format!("{place}.{name}"), &of, span)?;
                }
                Ok(())
            }
            other => self.unsupported(span, format!("emit of {other}")),
        }
    }

    /// Emits code that writes all recorded headers to the packet, from `pos` on.
    pub(super) fn write_headers(&mut self) -> Result<()> {
        let position = self.options.scratch.then(|| self.hidden("u64", "position"));
        if position.is_some() {
            self.local_once("u64 position;");
        }
        for emit in std::mem::take(&mut self.emits) {
            let fields = self.header_fields(&emit.ty, Span::default())?;
            self.put(format!("if ({}) {{", emit.flag));
            if let Some(place) = &position {
                self.put(format!("position = {place};"));
                self.bound("position", 16383);
                self.put("pos = data + position;");
            }
            for (fields, varbit) in segments(&fields) {
                self.write_fields(&emit.place, fields)?;
                let Some(field) = varbit else { continue };
                let Type::Varbit(most) = field.ty else { continue };
                let place = format!("{}.{}", emit.place, field.path);
                let bytes = self.save("bytes", &Type::Bit(32), &format!("{place}.bits >> 3"))?;
                self.each_byte(
                    most.div_ceil(8),
                    &bytes,
                    |at| format!("STORE8(pos + {at}, {place}.bytes[{at}]);"),
                    |_| "break;".to_owned(),
                )?;
                self.bound(&bytes, most.div_ceil(8));
                self.put(format!("pos += {bytes};"));
            }
            if let Some(place) = &position {
                self.put(format!("{place} = pos - data;"));
            }
            self.put("}");
        }
        Ok(())
    }

    /// Declares a variable with the value zero whose value the kernel's verifier does not track if
    /// it is in the scratch map. Otherwise, the verifier would explore each combination of valid
    /// headers.
    fn hidden(&mut self, kind: &str, name: &str) -> String {
        let name = self.fresh(name);
        if self.options.scratch {
            self.state.push(format!("    volatile {kind} {name};\n"));
            return format!("s->{name}");
        }
        self.locals.push(format!("{kind} {name} = 0;"));
        name
    }

    /// Returns the C variable with the length of the emitted headers in bytes.
    pub(super) fn length(&self) -> &'static str {
        if self.options.scratch { "s->length_" } else { "length" }
    }

    /// Emits code that writes fields to the packet at `pos`, and advances `pos`.
    fn write_fields(&mut self, place: &str, fields: &[HeaderField]) -> Result<()> {
        let bytes = bytes_of(fields);
        if bytes == 0 {
            return Ok(());
        }
        self.put(format!("if (pos + {bytes} > end) return XDP_ABORTED;"));
        for group in groups(fields) {
            if group.width > 128 {
                let first = group.fields.first().map(|(number, _)| &fields[*number]);
                if let Some(field) = first.filter(|field| storage::wide(&field.ty).is_some()) {
                    self.whole_group(&group, field)?;
                    let to = format!("pos + {}", group.offset);
                    let from = format!("{place}.{}.bytes", field.path);
                    self.copy_bytes(&to, &from, group.width / 8)?;
                    continue;
                }
                let mut values = Vec::new();
                for (number, position) in &group.fields {
                    let field = &fields[*number];
                    if storage::wide(&field.ty).is_some() {
                        self.whole_group(&group, field)?;
                    }
                    let value = format!("{place}.{}", field.path);
                    let unsigned = match field.ty {
                        Type::Int(width) => {
                            let size = storage::c_width(width).unwrap_or(128);
                            format!("((u{size}){value} & {})", storage::mask(width))
                        }
                        _ => value,
                    };
                    values.push((unsigned, *position, field.width));
                }
                for (at, byte) in bytes_of_group(&group, &values).into_iter().enumerate() {
                    self.put(format!("STORE8(pos + {}, {byte});", group.offset + at as u32));
                }
                continue;
            }
            let kind = if group.width > 64 {
                "u128"
            } else if group.width > 32 {
                "u64"
            } else {
                "u32"
            };
            let parts: Vec<String> = group
                .fields
                .iter()
                .map(|(number, shift)| {
                    let field = &fields[*number];
                    let value = match field.ty {
                        Type::Int(width) => {
                            format!("(({kind}){}.{} & {})", place, field.path, storage::mask(width))
                        }
                        _ => format!("({kind}){}.{}", place, field.path),
                    };
                    if *shift > 0 { format!("({value} << {shift})") } else { value }
                })
                .collect();
            let whole = self.save("stored", &Type::Bit(group.width), &parts.join(" | "))?;
            let (mut at, mut left) = (group.offset, group.width);
            while left > 0 {
                let size = [64, 32, 16, 8].into_iter().find(|size| *size <= left).unwrap_or(8);
                left -= size;
                self.put(format!("STORE{size}(pos + {at}, {whole} >> {left});"));
                at += size / 8;
            }
        }
        self.put(format!("pos += {bytes};"));
        Ok(())
    }
}
