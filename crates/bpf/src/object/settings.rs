//! Finds the variables that a loader can set, with their names, types and values, and stores the
//! values that the user sets.
//!
//! Loaders set `const volatile` variables before they load a program (`skel->rodata->rounds =
//! 200`), and writable variables at any time. They cannot set a plain `const` variable, because the
//! compiler has put its value into the code.

use super::parsed::Object;
use crate::btf::{Kind, TypeId};
use crate::insn::{Imm64, Insn};
use crate::maps::{StatedValue, Variable};
use crate::{Btf, MapDef};
use std::collections::BTreeSet;

/// Maximum nesting depth of types that are examined.
const DEPTH: u32 = 32;
/// Maximum number of variables that an error message lists.
const LISTED: usize = 20;
/// Maximum size in bytes of a variable for which the user may allow any value.
const MOST_ANY: u64 = 4096;
/// Maximum size of a value that messages show, in bytes.
const SHOWN: usize = 16;
/// Word for "any value" in the user's settings.
const ANY: &str = "any";

/// A variable, or a part of a variable: a member or an array element.
struct VariablePart {
    map: usize,
    offset: u64,
    size: u64,
    /// Type of the variable or of its part; `None` if the object has no types.
    ty: Option<TypeId>,
}

impl Object {
    /// Returns true if loaders can set a variable, because it is writable or `volatile`. Also
    /// returns true if the object has no types.
    pub fn is_loader_variable(&self, variable: &Variable) -> bool {
        let Some(map) = self.maps.get(variable.map) else { return false };
        !map.read_only || self.type_of(variable).is_none_or(|(btf, ty)| is_volatile(btf, ty, DEPTH))
    }

    /// Returns the variables that loaders can set and whose addresses the instructions `insns`
    /// load, in the order of the object's symbols.
    pub fn loader_variables_in(&self, insns: &[Insn]) -> Vec<&Variable> {
        let addresses = insns.iter().filter_map(|insn| match insn {
            Insn::LoadImm64 { value: Imm64::MapValue { map, offset }, .. } => {
                Some((*map as usize, u64::from(*offset)))
            }
            _ => None,
        });
        let addresses: BTreeSet<(usize, u64)> = addresses.collect();
        let read = |variable: &&Variable| {
            let behind = variable.offset.saturating_add(variable.size.max(1));
            let inside = (variable.map, variable.offset)..(variable.map, behind);
            addresses.range(inside).next().is_some()
        };
        self.variables
            .iter()
            .filter(read)
            .filter(|variable| self.is_loader_variable(variable))
            .collect()
    }

    /// Returns the assumptions that an analysis makes about the value of a variable, one sentence
    /// for each. `program` is the program's name if the analysis covers several programs.
    pub fn settings_of(&self, variable: &Variable, program: Option<&str>) -> Vec<String> {
        let Some(map) = self.maps.get(variable.map) else { return Vec::new() };
        let end = variable.offset.saturating_add(variable.size);
        let inside = |stated: &&StatedValue| {
            stated.offset >= variable.offset && stated.offset + stated.size <= end
        };
        let of_program = program.map_or_else(String::new, |program| format!(" of {program}"));
        let place = format!("in {}{of_program}", map.name);
        let when = if map.read_only { "" } else { " when a packet arrives" };
        let (mut sentences, mut covered) = (Vec::new(), 0);
        for StatedValue { name, size, value, .. } in map.stated.iter().filter(inside) {
            covered += size;
            if let Some(value) = value {
                sentences.push(format!("{name} {place} is {value}{when}"));
            }
        }
        if map.read_only && covered < variable.size.max(1) {
            let otherwise = if covered > 0 { "otherwise " } else { "" };
            let object = if program.is_some() { "its object" } else { "the object" };
            let name = &variable.name;
            sentences.push(format!("{name} {place} {otherwise}has the value from {object}"));
        }
        sentences
    }

    /// Sets a variable to a value, both given as `NAME=VALUE`. The name can be followed by
    /// `.MEMBER` and `[INDEX]`. The value is an integer, `true` or `false`, a constant of an
    /// enumeration, text in double quotes, hexadecimal digits of all bytes, or `any`.
    ///
    /// # Errors
    /// Returns a message of one line if the variable does not exist or loaders cannot set it. Also
    /// does so if the value does not fit the type of the variable.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let fail = |what: String| format!("{text}: {what}");
        let (name, value) =
            text.split_once('=').ok_or_else(|| fail("write NAME=VALUE, or NAME=any".to_owned()))?;
        let (name, value) = (name.trim(), value.trim());
        let place = self.place(name).map_err(fail)?;
        let (value, most) = match value {
            ANY => (None, self.most(&place)),
            _ => (Some(self.value(&place, value).map_err(fail)?), 0),
        };
        self.state(place, name, value, most).map_err(fail)
    }

    /// Replaces the bytes of a read-only section of variables, and records the values of the
    /// variables in [`MapDef::stated`].
    pub fn set_section(&mut self, map: usize, bytes: &[u8]) {
        let stated = |v: &&Variable| v.map == map && v.size > 0 && self.is_loader_variable(v);
        let variables: Vec<Variable> = self.variables.iter().filter(stated).cloned().collect();
        let Some(def) = self.maps.get_mut(map) else { return };
        let Some(initial) = def.initial.as_mut() else { return };
        initial.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        def.stated.clear();
        for variable in variables {
            let ty = self.type_of(&variable).map(|(_, ty)| ty);
            let Variable { name, map, offset, size } = variable;
            let place = VariablePart { map, offset, size, ty };
            let value = Some(self.shown(&place));
            self.maps[map].stated.push(StatedValue { name, offset, size, value, max: 0 });
        }
    }

    /// Returns the type table of the object, and the type of a variable in it; `None` if the object
    /// has no types.
    fn type_of(&self, variable: &Variable) -> Option<(&Btf, TypeId)> {
        let btf = self.btf.as_ref()?;
        let found = btf.find(&variable.name, |kind| matches!(kind, Kind::Var { .. }))?;
        match btf.kind(found) {
            Kind::Var { ty, .. } => Some((btf, *ty)),
            _ => None,
        }
    }

    fn place(&self, name: &str) -> Result<VariablePart, String> {
        let qualified = name.split_once(':');
        let rest = |variable: &Variable| {
            let name = match qualified {
                Some((of, name)) => {
                    let map = &self.maps.get(variable.map)?.name;
                    let rest = map.strip_prefix(of)?;
                    (rest.is_empty() || rest.starts_with(':')).then_some(name)?
                }
                None => name,
            };
            let rest = name.strip_prefix(variable.name.as_str())?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
        };
        let longest = self.variables.iter().filter(|v| rest(v).is_some()).map(|v| v.name.len());
        let Some(longest) = longest.max() else { return Err(self.unknown()) };
        let found: Vec<&Variable> = self
            .variables
            .iter()
            .filter(|v| v.name.len() == longest && rest(v).is_some())
            .collect();
        let &[variable] = found.as_slice() else {
            let maps: Vec<&str> = found.iter().map(|v| self.maps[v.map].name.as_str()).collect();
            let maps = maps.join(" and ");
            return Err(format!(
                "{maps} have a variable of this name; write SECTION:NAME, or PROGRAM:NAME in a chain"
            ));
        };
        if !self.is_loader_variable(variable) {
            return Err(format!(
                "{} is `const` and not `volatile`: compilers put its value into the code; declare \
                 it `const volatile`",
                variable.name
            ));
        }
        let ty = self.type_of(variable).map(|(_, ty)| ty);
        let mut place =
            VariablePart { map: variable.map, offset: variable.offset, size: variable.size, ty };
        let mut path = rest(variable).unwrap_or_default();
        while !path.is_empty() {
            let (part, further) = match path[1..].find(['.', '[']) {
                Some(at) => path.split_at(at + 1),
                None => (path, ""),
            };
            place = self.part(place, part)?;
            path = further;
        }
        Ok(place)
    }

    /// Returns a member (`.NAME`) or an array element (`[INDEX]`) of `whole`, which is a variable
    /// or a part of one. Fails with a message if `whole` has no such part.
    fn part(&self, whole: VariablePart, part: &str) -> Result<VariablePart, String> {
        let (Some(btf), Some(ty)) = (&self.btf, whole.ty) else {
            return Err(
                "the object has no types, so its members are unknown; compile it with -g".into()
            );
        };
        let (offset, ty) = if let Some(member) = part.strip_prefix('.') {
            let found = btf.member(ty, member);
            let found = found.ok_or_else(|| format!("there is no member {member}"))?;
            if found.bitfield != 0 || !found.bit_offset.is_multiple_of(8) {
                return Err(format!("{member} is a bit field; set its whole structure"));
            }
            (u64::from(found.bit_offset) / 8, found.ty)
        } else {
            let index = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
            let index: Option<u64> = index.and_then(|index| index.trim().parse().ok());
            let index =
                index.ok_or_else(|| format!("{part:?} is not an index; write a whole number"))?;
            let Kind::Array { element, len, .. } = *btf.kind(btf.resolve(ty)) else {
                return Err(format!("{part} indexes something other than an array"));
            };
            if index >= u64::from(len) {
                return Err(format!("{part} is not below {len}, the number of elements"));
            }
            (index * u64::from(btf.size(element).unwrap_or(0)), element)
        };
        let size = btf.size(ty).map_or(0, u64::from);
        let place =
            VariablePart { map: whole.map, offset: whole.offset + offset, size, ty: Some(ty) };
        match size > 0 && offset + size <= whole.size {
            true => Ok(place),
            false => Err(format!("{part} has no place in it")),
        }
    }

    /// Returns the message for an unknown variable, which lists the variables that loaders can set.
    fn unknown(&self) -> String {
        let loader_variables =
            self.variables.iter().filter(|variable| self.is_loader_variable(variable));
        let names: Vec<&str> = loader_variables.map(|variable| variable.name.as_str()).collect();
        let more = match names.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match names.is_empty() {
            true => "unknown variable; the object has none that loaders set".to_owned(),
            false => {
                let names = names[..names.len().min(LISTED)].join(", ");
                format!("unknown variable; the object has {names}{more}")
            }
        }
    }

    /// Returns the type table of the object, and the type of a variable or its part without
    /// qualifiers and typedefs. `None` if the type is unknown.
    fn resolved(&self, place: &VariablePart) -> Option<(&Btf, &Kind)> {
        let btf = self.btf.as_ref()?;
        Some((btf, btf.kind(btf.resolve(place.ty?))))
    }

    /// Returns the largest value that each number in a part of a variable can have, as its type
    /// allows.
    fn most(&self, place: &VariablePart) -> u64 {
        match self.resolved(place) {
            Some((_, Kind::Int(int))) if int.bool => 1,
            _ => u64::MAX,
        }
    }

    /// Parses a value that the user gives for a variable or its part. Returns the bytes of the
    /// value, and its text for messages.
    fn value(&self, place: &VariablePart, text: &str) -> Result<(Vec<u8>, String), String> {
        let size = place.size;
        let resolved = self.resolved(place);
        let signed = match resolved {
            Some((_, Kind::Int(int))) if int.bool => {
                let value = match text {
                    "true" | "1" => 1,
                    "false" | "0" => 0,
                    _ => return Err(format!("{text} is neither true nor false")),
                };
                return Ok((sized(value, size), (value == 1).to_string()));
            }
            Some((btf, Kind::Enum(of))) => {
                let named = of.variants.iter().find(|variant| btf.string(variant.name) == text);
                if let Some(named) = named {
                    return Ok((sized(named.value, size), text.to_owned()));
                }
                Some(of.signed)
            }
            Some((_, Kind::Int(int))) => Some(int.signed),
            Some((_, Kind::Ptr(_))) => {
                return Err(
                    "the variable is a pointer, whose value is unknown before loading".into()
                );
            }
            Some((btf, Kind::Array { element, .. })) => {
                let characters =
                    matches!(btf.kind(btf.resolve(*element)), Kind::Int(int) if int.size == 1);
                let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                if let Some(quoted) = quoted.filter(|_| characters) {
                    let mut bytes = quoted.as_bytes().to_vec();
                    if bytes.len() as u64 > size {
                        return Err(format!("{} bytes exceed its size of {size}", bytes.len()));
                    }
                    bytes.resize(size as usize, 0);
                    return Ok((bytes, text.to_owned()));
                }
                None
            }
            Some(_) => None,
            None if size <= 8 => Some(text.starts_with('-')),
            None => None,
        };
        let Some(signed) = signed.filter(|_| size <= 8) else {
            let bytes = digits(text, size)?;
            let shown = shown_bytes(&bytes);
            return Ok((bytes, shown));
        };
        let number = integer(text).ok_or_else(|| format!("{text:?} is not an integer"))?;
        let bits = 8 * size as u32;
        let (least, most) = match signed {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        if !(least..=most).contains(&number) {
            return Err(format!("{number} is not from {least} to {most}"));
        }
        Ok((sized(number as u64, size), number.to_string()))
    }

    /// Formats the current value of a variable or its part for messages.
    fn shown(&self, place: &VariablePart) -> String {
        let def = &self.maps[place.map];
        let start = place.offset as usize;
        let bytes =
            def.initial.as_deref().and_then(|all| all.get(start..start + place.size as usize));
        let bytes = bytes.unwrap_or_default();
        let mut word = [0; 8];
        let scalar = match self.resolved(place) {
            Some((_, Kind::Int(int))) => Some(int.signed),
            Some((_, Kind::Enum(of))) => Some(of.signed),
            Some(_) => None,
            None => Some(false),
        };
        let Some(signed) = scalar.filter(|_| matches!(bytes.len(), 1..=8)) else {
            return shown_bytes(bytes);
        };
        word[..bytes.len()].copy_from_slice(bytes);
        let (value, unused) = (u64::from_le_bytes(word), 64 - 8 * bytes.len() as u32);
        match signed {
            true => ((value << unused) as i64 >> unused).to_string(),
            false => value.to_string(),
        }
    }

    fn state(
        &mut self,
        place: VariablePart,
        name: &str,
        value: Option<(Vec<u8>, String)>,
        most: u64,
    ) -> Result<(), String> {
        let VariablePart { map, offset, size, .. } = place;
        let def: &mut MapDef = self.maps.get_mut(map).ok_or("it has no section")?;
        let end = offset.saturating_add(size);
        let initial =
            def.initial.as_mut().filter(|initial| size > 0 && end <= initial.len() as u64);
        let initial = initial.ok_or(
            "the variable is outside of its section; the object may be \
             damaged",
        )?;
        def.stated.retain(|other| other.offset < offset || other.offset + other.size > end);
        let shown = match value {
            Some((bytes, shown)) => {
                initial[offset as usize..end as usize].copy_from_slice(&bytes);
                Some(shown)
            }
            None if size > MOST_ANY => {
                return Err(format!("{size} bytes exceed {MOST_ANY}, the limit for `any`"));
            }
            None => None,
        };
        def.stated.push(StatedValue {
            name: name.to_owned(),
            offset,
            size,
            value: shown,
            max: most,
        });
        Ok(())
    }
}

/// Returns true if a type is volatile, or contains a volatile element or member.
fn is_volatile(btf: &Btf, mut ty: TypeId, depth: u32) -> bool {
    for left in (0..depth).rev() {
        ty = match btf.kind(ty) {
            Kind::Volatile(_) => return true,
            Kind::Const(of) | Kind::Typedef(of) | Kind::Restrict(of) | Kind::TypeTag(of) => *of,
            Kind::Array { element, .. } => *element,
            Kind::Struct { members, .. } | Kind::Union { members, .. } => {
                return left > DEPTH - 6
                    && members.iter().any(|member| is_volatile(btf, member.ty, left));
            }
            _ => return false,
        };
    }
    false
}

/// Returns the low `size` bytes of `value`, in little-endian order.
fn sized(value: u64, size: u64) -> Vec<u8> {
    value.to_le_bytes().into_iter().take(size as usize).collect()
}

/// Parses a decimal or hexadecimal (`0x`) integer.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let number = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse::<u64>().ok()?,
    };
    Some(if negative { -i128::from(number) } else { number.into() })
}

/// Parses `size` bytes of two hexadecimal digits each; ignores whitespace.
fn digits(text: &str, size: u64) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let wrong = || format!("the variable has {size} bytes; write {} hexadecimal digits", 2 * size);
    if digits.len() as u64 != 2 * size || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(wrong());
    }
    let byte = |pair: &[u8]| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    digits.chunks(2).map(byte).collect::<Option<_>>().ok_or_else(wrong)
}

fn shown_bytes(bytes: &[u8]) -> String {
    match bytes.len() > SHOWN {
        true => format!("as stated, {} bytes", bytes.len()),
        false => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
