//! Storage locations of values: headers of the packet, and fields of the metadata.

use super::number::{Number, Piece, Words};
use super::*;
use crate::check::Named;
use slowpath_swx::spec::Header as SwxHeader;

/// Storage location of a P4 value in the pipeline.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// Location of a number.
    Number(Number),
    /// Location of a header.
    Header(Rc<Header>),
    /// Locations of the members of a struct, tuple, stack or header union.
    Parts(Rc<Parts>),
    /// A `varbit` in the named header. It can only be copied together with its header.
    Varbit(String),
}

/// A header of the pipeline.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    /// Name of the header in the pipeline.
    pub name: String,
    /// Locations of the fields, by name.
    pub fields: Vec<(Rc<str>, Place)>,
    /// True if the last field is a `varbit`.
    pub varies: bool,
    /// Largest width of the `varbit` field in bits.
    pub most: u32,
    /// True if the header has no bits, so that it stores only its validity.
    pub is_empty: bool,
}

/// Locations of the members of a composite value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parts {
    /// Path of the value, unique for each location.
    pub path: String,
    /// Locations of the members, by name.
    pub members: Vec<(Rc<str>, Place)>,
}

impl Place {
    /// Returns the location of the member `wanted`.
    pub fn member(&self, wanted: &str) -> Option<Place> {
        let members = match self {
            Place::Header(header) => &header.fields,
            Place::Parts(parts) => &parts.members,
            _ => return None,
        };
        members.iter().find(|(name, _)| &**name == wanted).map(|one| one.1.clone())
    }

    /// Returns all headers inside the location.
    pub fn headers(&self) -> Vec<Rc<Header>> {
        match self {
            Place::Header(header) => vec![header.clone()],
            Place::Parts(parts) => {
                parts.members.iter().flat_map(|(_, part)| part.headers()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns all numbers inside the location, except those in headers.
    pub fn numbers(&self) -> Vec<&Number> {
        match self {
            Place::Number(number) => vec![number],
            Place::Parts(parts) => {
                parts.members.iter().flat_map(|(_, part)| part.numbers()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the type that a value is stored as: the underlying type for enums and new types.
pub(super) fn plain(ty: &Type) -> Type {
    match ty {
        Type::New(_, of) | Type::Enum(_, Some(of)) => plain(of),
        Type::Enum(_, None) | Type::Error => Type::Bit(16),
        Type::Bool => Type::Bit(1),
        other => other.clone(),
    }
}

/// Returns the width in bits of a number type; `None` for other types.
pub(super) fn width(ty: &Type) -> Option<u32> {
    plain(ty).width()
}

/// Returns true for signed numbers.
pub(super) fn is_signed(ty: &Type) -> bool {
    matches!(plain(ty), Type::Int(_))
}

/// Returns true if a value of the type is a single number.
pub(super) fn is_number(ty: &Type) -> bool {
    width(ty).is_some()
}

/// Kind of the metadata fields of a new location.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Memory {
    /// Named fields, which are used for nothing else.
    Named,
    /// Temporary fields, which are free after the current statement or block.
    Temporary,
}

impl<'a> Generator<'a> {
    /// Creates a location for a value: metadata fields for numbers, and new headers for headers.
    pub(super) fn new_place(&mut self, path: &str, ty: &Type, memory: Memory) -> Result<Place> {
        if let Some(width) = width(ty) {
            return Ok(Place::Number(self.new_number(path, width, memory)));
        }
        match plain(ty) {
            Type::Integer => Ok(Place::Number(self.new_number(path, 32, memory))),
            Type::Fields(FieldsKind::Header, _) => {
                Ok(Place::Header(Rc::new(self.new_header(path, ty)?)))
            }
            Type::Fields(..) | Type::Tuple(_) | Type::Stack(..) => {
                let mut members = Vec::new();
                for (name, of) in self.members(ty) {
                    let place = self.new_place(&format!("{path}_{name}"), &of, memory)?;
                    members.push((name, place));
                }
                self.unit.labels += 1;
                let path = format!("{path}#{}", self.unit.labels);
                Ok(Place::Parts(Rc::new(Parts { path, members })))
            }
            other => self.unsupported(Span::default(), format!("a value of type {other}")),
        }
    }

    fn new_number(&mut self, path: &str, width: u32, memory: Memory) -> Number {
        let mut pieces = Vec::new();
        let count = width.div_ceil(64).max(1);
        for at in 0..count {
            let part = (width - at * 64).min(64);
            let bits = part.next_multiple_of(8).max(8);
            let field = match memory {
                Memory::Temporary => self.temporary(part),
                Memory::Named if count == 1 => FieldRef::Meta(self.field(path, bits)),
                Memory::Named => FieldRef::Meta(self.field(&format!("{path}_{at}"), bits)),
            };
            pieces.push(Piece { field, bits, low: 0, width: part, whole: true });
        }
        Number { pieces, header: None }
    }

    /// Returns the names and types of the members of a struct, tuple or stack.
    pub(super) fn members(&self, ty: &Type) -> Vec<(Rc<str>, Type)> {
        match ty {
            Type::Fields(_, named) => {
                let fields = self.checked.fields_of(named).into_iter();
                fields.map(|(name, ty)| (name, self.resolved(&ty))).collect()
            }
            Type::Tuple(types) => types
                .iter()
                .enumerate()
                .map(|(at, ty)| (Rc::from(at.to_string()), ty.clone()))
                .collect(),
            Type::Stack(of, size) => {
                (0..*size).map(|at| (Rc::from(at.to_string()), (**of).clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    // --- headers -------------------------------------------------------------------------------

    fn new_header(&mut self, path: &str, ty: &Type) -> Result<Header> {
        let name = self.name(path);
        let key = match ty {
            // Types in different scopes can share a name, so the key is the number of the
            // declaration.
            Type::Fields(_, Named { id, .. }) => format!("{id:?} {ty}"),
            other => format!("{other:?}"),
        };
        let mut leaves = Vec::new();
        self.header_leaves(ty, "", &mut leaves)?;
        let varies = leaves.last().is_some_and(|leaf| matches!(leaf.1, Type::Varbit(_)));
        let (fields, containers) = self.header_layout(&name, ty, &leaves)?;
        if containers.iter().map(|one| one.1 / 8).sum::<u32>() >= MOST_BYTES {
            return self.unsupported(
                Span::default(),
                format!("header {ty} of {MOST_BYTES} bytes or more"),
            );
        }
        let kind = match self.header_kinds.get(&key) {
            Some(kind) => kind.clone(),
            None => {
                let wanted = ty.to_string();
                let kind = self.name(wanted.split('<').next().unwrap_or("header"));
                let line = Line::default();
                let fields = containers
                    .iter()
                    .map(|(name, bits, _)| Field { line, name: name.clone(), bits: *bits })
                    .collect();
                let name = kind.clone();
                self.spec.structs.push(Struct { line, name, fields, variable: varies });
                self.header_kinds.insert(key, kind.clone());
                kind
            }
        };
        let line = Line::default();
        self.spec.headers.push(SwxHeader { line, name: name.clone(), kind });
        let places = self.header_places(ty, "", &fields);
        let most = match leaves.last() {
            Some((_, Type::Varbit(most))) => *most,
            _ => 0,
        };
        Ok(Header { name, fields: places, varies, most, is_empty: leaves.is_empty() })
    }

    /// Creates a header of the pipeline with the fields of a number, struct or tuple, for
    /// `lookahead`.
    pub(super) fn bare_header(&mut self, ty: &Type, span: Span) -> Result<Place> {
        self.here = span;
        let of = match ty {
            Type::Bit(_) | Type::Varbit(_) => Type::Tuple([ty.clone()].into()),
            other => other.clone(),
        };
        if !matches!(of, Type::Fields(FieldsKind::Struct, _) | Type::Tuple(_)) {
            return self.unsupported(span, format!("lookahead of {ty}"));
        }
        Ok(Place::Header(Rc::new(self.new_header("ahead", &of)?)))
    }

    /// Appends the numbers in a header, in order, each with its path, which begins with `before`.
    fn header_leaves(
        &self,
        ty: &Type,
        before: &str,
        leaves: &mut Vec<(String, Type)>,
    ) -> Result<()> {
        for (name, of) in self.members(ty) {
            let path = format!("{before}{name}");
            match plain(&of) {
                Type::Bit(0) | Type::Int(0) => {}
                of @ (Type::Bit(_) | Type::Int(_) | Type::Varbit(_)) => {
                    leaves.push((plain_name(&path), of));
                }
                of @ (Type::Fields(..) | Type::Tuple(_) | Type::Stack(..)) => {
                    self.header_leaves(&of, &format!("{path}_"), leaves)?;
                }
                other => {
                    return self
                        .unsupported(Span::default(), format!("a header field of type {other}"));
                }
            }
        }
        Ok(())
    }

    /// Divides the bits of a header into fields of whole bytes. Returns two lists: the storage of
    /// each number of the header, and the fields as name, width in bits, and true for a `varbit`.
    #[allow(clippy::type_complexity, reason = "both lists are used here only")]
    fn header_layout(
        &self,
        header: &str,
        ty: &Type,
        leaves: &[(String, Type)],
    ) -> Result<(Vec<Option<Number>>, Vec<(String, u32, bool)>)> {
        let mut containers: Vec<(String, u32, bool)> = Vec::new();
        let mut numbers: Vec<Option<Number>> = vec![None; leaves.len()];
        let mut start = 0;
        while start < leaves.len() {
            if let Type::Varbit(most) = leaves[start].1 {
                if start + 1 < leaves.len() {
                    return self.unsupported(
                        Span::default(),
                        format!("header {ty} with a field after a varbit"),
                    );
                }
                containers.push((leaves[start].0.clone(), most.next_multiple_of(8), true));
                start += 1;
                continue;
            }
            // Neighbours that end at a byte together.
            let (mut end, mut bits) = (start, 0);
            loop {
                let Some(width) = leaves.get(end).and_then(|leaf| leaf.1.width()) else {
                    return self.unsupported(
                        Span::default(),
                        format!("header {ty}, whose bits are not whole bytes,"),
                    );
                };
                bits += width;
                end += 1;
                if bits % 8 == 0 {
                    break;
                }
            }
            let group = &leaves[start..end];
            let joined = group.iter().map(|leaf| &*leaf.0).collect::<Vec<_>>().join("_");
            let joined: String = joined.chars().take(LONGEST_NAME - 16).collect();
            // Fields of at most 64 bits, the first one with the highest bits.
            let count = bits.div_ceil(64);
            let mut parts = Vec::new();
            for at in (0..count).rev() {
                let name = if count == 1 { joined.clone() } else { format!("{joined}_{at}") };
                let name = match containers.iter().any(|one| one.0 == name) {
                    true => format!("{name}_{}", containers.len()),
                    false => name,
                };
                let width = (bits - at * 64).min(64);
                parts.push((at * 64, name.clone(), width));
                containers.push((name, width, false));
            }
            let mut top = bits;
            for (number, leaf) in group.iter().enumerate() {
                let width = leaf.1.width().unwrap_or(0);
                let low = top - width;
                let mut pieces = Vec::new();
                for (from, name, of) in parts.iter().rev() {
                    let (first, last) = (low.max(*from), top.min(from + of));
                    if first < last {
                        pieces.push(Piece {
                            field: FieldRef::Header {
                                header: header.to_owned(),
                                field: name.clone(),
                            },
                            bits: *of,
                            low: first - from,
                            width: last - first,
                            whole: last - first == *of,
                        });
                    }
                }
                numbers[start + number] = Some(Number { pieces, header: Some(header.to_owned()) });
                top = low;
            }
            start = end;
        }
        if containers.is_empty() {
            // No instruction extracts or emits this byte.
            containers.push(("none".to_owned(), 8, false));
        }
        Ok((numbers, containers))
    }

    /// Returns the names and locations of a header's fields.
    fn header_places(
        &self,
        ty: &Type,
        before: &str,
        numbers: &[Option<Number>],
    ) -> Vec<(Rc<str>, Place)> {
        let mut rest = numbers.iter();
        self.places_from(ty, before, &mut rest)
    }

    fn places_from(
        &self,
        ty: &Type,
        before: &str,
        numbers: &mut std::slice::Iter<'_, Option<Number>>,
    ) -> Vec<(Rc<str>, Place)> {
        let mut places = Vec::new();
        for (name, of) in self.members(ty) {
            let path = format!("{before}{name}");
            let place = match plain(&of) {
                Type::Bit(0) | Type::Int(0) => {
                    Place::Number(Number { pieces: Vec::new(), header: None })
                }
                of @ (Type::Fields(..) | Type::Tuple(_) | Type::Stack(..)) => {
                    let members = self.places_from(&of, &format!("{path}_"), numbers);
                    Place::Parts(Rc::new(Parts { path, members }))
                }
                _ => match numbers.next() {
                    Some(Some(number)) => Place::Number(number.clone()),
                    _ => Place::Varbit(path),
                },
            };
            places.push((name, place));
        }
        places
    }

    /// Records that an instruction uses a header here, if the header may have no memory at this
    /// point.
    pub(super) fn touch(&mut self, header: Option<&String>) {
        if let Some(header) = header
            && !self.known.contains(header)
        {
            self.exposed.insert(header.clone());
        }
    }

    /// Emits the instruction that makes a header valid.
    pub(super) fn validate(&mut self, header: &Header) -> Result<()> {
        if header.varies {
            return self.unsupported(Span::default(), "a header with a varbit that becomes valid");
        }
        self.put(Op::Validate { header: header.name.clone() });
        Ok(())
    }

    pub(super) fn invalidate(&mut self, header: &str) {
        self.put(Op::Invalidate { header: header.to_owned() });
    }

    // --- whole values --------------------------------------------------------------------------

    /// Emits code that resets a location: it sets numbers to 0 and makes headers invalid.
    pub(super) fn clear(&mut self, place: &Place) {
        match place {
            Place::Number(number) => {
                let zero = Words::known(&0.into(), number.width());
                self.put_number(number, &zero);
            }
            Place::Header(header) => self.invalidate(&header.name),
            Place::Parts(parts) => parts.members.iter().for_each(|(_, part)| self.clear(part)),
            Place::Varbit(_) => {}
        }
    }

    /// Emits code that copies a value from one location to another of the same type.
    pub(super) fn copy_place(&mut self, to: &Place, from: &Place, span: Span) -> Result<()> {
        if to == from {
            return Ok(());
        }
        match (to, from) {
            (Place::Number(to), Place::Number(from)) => {
                let value = self.load(from);
                self.put_number(to, &value);
            }
            (Place::Header(to), Place::Header(from)) => {
                if to.varies {
                    return self.unsupported(span, "a copy of a header with a varbit");
                }
                let (invalid, end) = (self.label("invalid"), self.label("copied"));
                self.jump_on(Condition::Invalid(from.name.clone()), &invalid);
                self.validate(to)?;
                let known = self.known.clone();
                self.known.extend([to.name.clone(), from.name.clone()]);
                for ((_, to), (_, from)) in to.fields.iter().zip(&from.fields) {
                    self.copy_place(to, from, span)?;
                }
                self.known = known;
                self.jump(&end);
                self.mark(&invalid);
                self.invalidate(&to.name);
                self.mark(&end);
            }
            (Place::Parts(to), Place::Parts(from)) => {
                for ((_, to), (_, from)) in to.members.iter().zip(&from.members) {
                    self.copy_place(to, from, span)?;
                }
            }
            _ => return self.unsupported(span, "a copy of a varbit"),
        }
        Ok(())
    }

    /// Emits code that jumps to `target` if two locations hold equal values (if `wanted` is true),
    /// or different values (if `wanted` is false).
    pub(super) fn jump_same(
        &mut self,
        a: &Place,
        b: &Place,
        wanted: bool,
        target: &str,
        span: Span,
    ) -> Result<()> {
        if !wanted {
            return self.jump_different(a, b, target, span);
        }
        let end = self.label("different");
        self.jump_different(a, b, &end, span)?;
        self.jump(target);
        self.mark(&end);
        Ok(())
    }

    fn jump_different(&mut self, a: &Place, b: &Place, target: &str, span: Span) -> Result<()> {
        match (a, b) {
            (Place::Number(a), Place::Number(b)) => {
                let (a, b) = (self.load(a), self.load(b));
                self.jump_equal(&a, &b, false, target);
            }
            (Place::Header(a), Place::Header(b)) => {
                let (invalid, end) = (self.label("invalid"), self.label("same"));
                self.jump_on(Condition::Invalid(a.name.clone()), &invalid);
                self.jump_on(Condition::Invalid(b.name.clone()), target);
                for ((_, a), (_, b)) in a.fields.iter().zip(&b.fields) {
                    self.jump_different(a, b, target, span)?;
                }
                self.jump(&end);
                self.mark(&invalid);
                self.jump_on(Condition::Valid(b.name.clone()), target);
                self.mark(&end);
            }
            (Place::Parts(a), Place::Parts(b)) => {
                for ((_, a), (_, b)) in a.members.iter().zip(&b.members) {
                    self.jump_different(a, b, target, span)?;
                }
            }
            _ => return self.unsupported(span, "a comparison of a varbit"),
        }
        Ok(())
    }
}
