//! Runs the methods of `packet_in`.

use super::*;

impl<'a> Walker<'a> {
    pub(super) fn packet_method(
        &mut self,
        expr: &'a Expr,
        name: &str,
        given: &[Option<&'a Expr>],
    ) -> Result<Data> {
        match (name, given) {
            ("extract", [Some(target), width @ ..]) => {
                let width = match width.first().copied().flatten() {
                    Some(width) => self.number(width)?.to_u64().unwrap_or(u64::MAX),
                    None => 0,
                };
                self.extract(target, width)?;
                Ok(Data::Leaf(None))
            }
            ("lookahead", _) => {
                let (at, ty) = (self.at, self.ty(expr));
                let data = self.load(&ty, 0, "", &mut Vec::new());
                self.at = at;
                data
            }
            ("advance", [Some(bits)]) => {
                let bits = self.number(bits)?.to_u64().unwrap_or(u64::MAX);
                let field = Field { name: String::new(), at: self.at, bits };
                self.bits(bits)?;
                if bits > 0 {
                    let name = "packet.advance".to_owned();
                    self.walk.headers.push(Header { name, fields: vec![field] });
                }
                Ok(Data::Leaf(None))
            }
            ("length", _) => Ok(Data::known(Value::Number(self.packet.len().into()))),
            _ => stop(expr.span, format!("the method {name} of the packet")),
        }
    }

    pub(super) fn extract(&mut self, target: &'a Expr, width: u64) -> Result<()> {
        let ty = self.ty(target);
        let place = match target.kind {
            ExprKind::DontCare => None,
            _ => self.place(target)?,
        };
        let mut fields = Vec::new();
        let start = self.at;
        // The parser checks the size of the whole header before it reads a field.
        match varbit_width(&ty, &|ty| self.fields(ty)) {
            Some(_) if !width.is_multiple_of(8) => return reject("ParserInvalidArgument"),
            Some(most) if width > u64::from(most) => return reject("HeaderTooShort"),
            _ => {}
        }
        let data = match self.load(&ty, width, "", &mut fields) {
            Ok(data) => data,
            Err(halt) => {
                self.at = start;
                return Err(halt);
            }
        };
        let name = place.as_ref().map_or_else(|| format!("_ ({ty})"), |place| self.shown(place));
        self.walk.headers.push(Header { name, fields });
        let Some(place) = place else { return Ok(()) };
        self.invalidate_siblings(&place);
        if let Some(slot) = self.slot(&place) {
            *slot = data;
        }
        // Advance the next index of the stack, also for `next.header` in a stack of unions.
        let mut part = target;
        while let ExprKind::Member { base, name } = &part.kind {
            if &*name.text == "next"
                && let Type::Stack(..) = self.ty(base)
                && let Some(stack) = self.place(base)?
                && let Some(Data::Items(_, next)) = self.slot(&stack)
            {
                *next += 1;
            }
            part = base;
        }
        Ok(())
    }

    /// Reads the next `bits` bits of the packet. Rejects a packet that is too short.
    pub(super) fn bits(&mut self, bits: u64) -> Result<BigInt> {
        let (start, size) = (self.at, 8 * self.packet.len() as u64);
        let Some(end) = start.checked_add(bits).filter(|end| *end <= size) else {
            return reject("PacketTooShort");
        };
        self.at = end;
        let (first, last) = ((start / 8) as usize, end.div_ceil(8) as usize);
        let whole = BigInt::from_bytes_be(Sign::Plus, &self.packet[first..last.max(first)]);
        let whole = whole >> (end.div_ceil(8) * 8 - end);
        Ok(whole & ((BigInt::from(1) << bits) - 1))
    }

    /// Reads a value of a type from the packet, and appends its fields to `fields`.
    pub(super) fn load(
        &mut self,
        ty: &Type,
        width: u64,
        name: &str,
        fields: &mut Vec<Field>,
    ) -> Result<Data> {
        match ty {
            Type::Fields(kind, _) => {
                let mut found = Vec::new();
                for (field, of) in self.fields(ty) {
                    let dot = if name.is_empty() { "" } else { "." };
                    let data = self.load(&of, width, &format!("{name}{dot}{field}"), fields)?;
                    found.push((field, data));
                }
                Ok(Data::Fields(*kind, true, found))
            }
            Type::Stack(of, size) => {
                let items =
                    (0..*size).map(|at| self.load(of, width, &format!("{name}[{at}]"), fields));
                Ok(Data::Items(items.collect::<Result<_>>()?, 0))
            }
            Type::Tuple(types) => {
                let mut items = Vec::new();
                for (at, of) in types.iter().enumerate() {
                    items.push(self.load(of, width, &format!("{name}[{at}]"), fields)?);
                }
                Ok(Data::Items(items, 0))
            }
            _ => {
                let bits = match plain(ty) {
                    Type::Varbit(_) => width,
                    plain => u64::from(plain.width().unwrap_or(0)),
                };
                fields.push(Field { name: name.to_owned(), at: self.at, bits });
                let number = self.bits(bits)?;
                Ok(Data::Leaf(match ty {
                    Type::Bool => Some(Value::Bool(number != BigInt::ZERO)),
                    Type::Varbit(_) => None,
                    _ => Some(Value::Number(wrap(&number, &plain(ty)))),
                }))
            }
        }
    }
}

/// Names and types of the members of a struct or header.
type Members = Vec<(Rc<str>, Type)>;

/// Returns the largest width of the `varbit` field in a header; `None` if it has none.
fn varbit_width(ty: &Type, fields: &dyn Fn(&Type) -> Members) -> Option<u32> {
    match plain(ty) {
        Type::Varbit(most) => Some(most),
        ty => fields(&ty).iter().find_map(|(_, of)| varbit_width(of, fields)),
    }
}
