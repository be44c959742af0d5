//! Emits the maps of tables: keys, values and lookups.

use super::layout::{
    ActionLayout, KeyLayout, MatchKind, MembersLayout, Number, TableLayout, TableMaps,
};
use super::members::Members;
use super::meter::METER_BYTES;
use super::properties::Properties;
use super::storage::{c_width, integer, is_scalar, plain};
use super::*;
use crate::annotations::control_name;

/// Largest number of different masks in a table with ternary keys.
pub(super) const MOST_MASKS: u32 = 16;

/// Layout of the values in a table's maps.
pub(super) struct ValueLayout {
    /// Size of the value of an entry in bytes.
    pub size: u32,
    /// Actions of the table. Their parameters have offsets in the values of entries, or of pool
    /// members.
    pub actions: Vec<ActionLayout>,
    /// Members of an action profile or selector, if entries name members instead of actions.
    pub members: Option<MembersLayout>,
    /// Offset of the meter in the value of an entry.
    pub meter: Option<u32>,
}

impl<'a> Generator<'a> {
    /// Defines `struct NAME_key`. Returns the numbers in the struct, with their offsets, and the
    /// size of the struct in bytes.
    pub(super) fn key_struct(
        &mut self,
        name: &str,
        numbers: &[(String, Type)],
        before: u32,
    ) -> Result<(Vec<Number>, u32)> {
        let mut text = format!("struct {name}_key {{\n");
        if before > 0 {
            text.push_str("    u32 tuple;\n");
        }
        let (fields, size, lines) = self.place_numbers(numbers, before, "k")?;
        text.push_str(&lines);
        text.push_str("};\n");
        self.define(&format!("{name}_key"), &text);
        Ok((fields, size))
    }

    /// Places numbers at aligned offsets from `start` on. Returns the numbers with their offsets,
    /// the size of the struct in bytes, and the C lines of its fields.
    fn place_numbers(
        &mut self,
        numbers: &[(String, Type)],
        start: u32,
        prefix: &str,
    ) -> Result<(Vec<Number>, u32, String)> {
        let (mut at, mut most, mut lines, mut fields) =
            (start, if start > 0 { 4 } else { 1 }, String::new(), Vec::new());
        for (index, (name, ty)) in numbers.iter().enumerate() {
            let width = plain(ty).width().unwrap_or(8);
            let Some(bits) = c_width(width) else {
                return self
                    .unsupported(Span::default(), format!("a key or parameter of {width} bits"));
            };
            let size = bits / 8;
            let align = size.min(8);
            at = at.next_multiple_of(align);
            most = most.max(align);
            let kind = if bits == 128 { "u128_in_map".to_owned() } else { format!("u{bits}") };
            let _ = writeln!(lines, "    {kind} {prefix}{index};");
            fields.push(Number { name: Rc::from(&**name), width, offset: at, size });
            at += size;
        }
        Ok((fields, at.next_multiple_of(most).max(1), lines))
    }

    /// Emits a variable for a map key that contains the numbers, and returns its name.
    pub(super) fn key_variable(&mut self, map: &str, numbers: &[(String, Type)]) -> String {
        let key = self.fresh("lookup");
        self.locals.push(format!("struct {map}_key {key};"));
        self.put(format!("__builtin_memset(&{key}, 0, sizeof({key}));"));
        for (at, (value, ty)) in numbers.iter().enumerate() {
            let value = bits_of(value, ty);
            self.put(format!("{key}.k{at} = {value};"));
        }
        key
    }

    /// Defines the C structs for the values of entries and of members.
    pub(super) fn value_structs(
        &mut self,
        map: &str,
        properties: &Properties<'a>,
        has_priority: bool,
    ) -> Result<ValueLayout> {
        let priority = if has_priority { "    u32 priority;\n" } else { "" };
        let mut tail = String::new();
        if properties.counter.is_some() {
            tail.push_str("    u64 packets;\n    u64 bytes;\n");
        }
        if properties.meter.is_some() {
            self.define_meter();
            tail.push_str("    struct meter meter;\n");
        }
        let counters = if properties.counter.is_some() { 16 } else { 0 };
        let after = |size: u32| match (&properties.meter, counters) {
            (None, 0) => (size, None),
            (None, _) => (size.next_multiple_of(8) + counters, None),
            (Some(_), _) => {
                let at = size.next_multiple_of(8) + counters;
                (at + METER_BYTES, Some(at))
            }
        };
        let Some(Members { map: shared, .. }) = &properties.members else {
            let (size, actions) = self.value_struct(map, properties, priority, &tail)?;
            let (size, meter) = after(size);
            return Ok(ValueLayout { size, actions, members: None, meter });
        };
        let (size, actions) = self.value_struct(shared, properties, "", "")?;
        let members = properties.members.as_ref().map(|one| one.layout(size));
        self.define(
            &format!("{map}_value"),
            &format!("struct {map}_value {{\n    u32 member;\n{priority}{tail}}};\n"),
        );
        let (size, meter) = after(if has_priority { 8 } else { 4 });
        Ok(ValueLayout { size, actions, members, meter })
    }

    /// Defines `struct NAME_value` for the actions. Returns the size of the struct in bytes,
    /// without `tail`, and the layout of the actions.
    fn value_struct(
        &mut self,
        map: &str,
        properties: &Properties<'a>,
        priority: &str,
        tail: &str,
    ) -> Result<(u32, Vec<ActionLayout>)> {
        let start = if priority.is_empty() { 4 } else { 8 };
        let mut members = Vec::new();
        let mut align = 4;
        for (at, one) in properties.table.actions.iter().enumerate() {
            let Some(decl) =
                self.action_of(&one.action).and_then(|id| self.nodes.get(&id).copied())
            else {
                return self.unsupported(one.action.span, "this action");
            };
            let DeclKind::Action { params, .. } = &*decl.kind else { continue };
            let mut numbers = Vec::new();
            for param in params.iter().filter(|param| param.direction == Direction::None) {
                let ty = self.declared(param.id);
                if !is_scalar(&ty) {
                    return self
                        .unsupported(param.name.span, format!("an action parameter of type {ty}"));
                }
                numbers.push((param.name.text.to_string(), ty));
            }
            let (fields, size, lines) = self.place_numbers(&numbers, 0, "p")?;
            if !fields.is_empty() {
                align = align.max(fields.iter().map(|field| field.size.min(8)).max().unwrap_or(4));
            }
            let marked = |name: &str| one.annotations.iter().any(|one| &*one.name.text == name);
            members.push((
                at as u32 + 1,
                Rc::from(control_name(decl)),
                fields,
                size,
                lines,
                !marked("defaultonly"),
                !marked("tableonly"),
            ));
        }
        let union_at = u32::next_multiple_of(start, align);
        let mut text = format!("struct {map}_value {{\n    u32 action;\n");
        text.push_str(priority);
        let (mut actions, mut largest, mut union) = (Vec::new(), 0, String::new());
        for (id, name, fields, size, lines, in_entries, as_default) in members {
            if !fields.is_empty() {
                largest = largest.max(size);
                let _ = write!(union, "        struct {{\n{lines}        }} a{id};\n");
            }
            let params = fields
                .into_iter()
                .map(|field| Number { offset: field.offset + union_at, ..field })
                .collect();
            actions.push(ActionLayout { name, id, params, in_entries, as_default });
        }
        if !union.is_empty() {
            // The union has the alignment of its largest member.
            let padding = union_at - start;
            if padding > 0 {
                let _ = writeln!(text, "    u32 unused_;");
            }
            let _ = write!(text, "    union {{\n{union}    }};\n");
        }
        text.push_str(tail);
        text.push_str("};\n");
        self.define("u128_in_map", "typedef u128 u128_in_map __attribute__((aligned(8)));\n");
        self.define(&format!("{map}_value"), &text);
        let end = if largest == 0 { start } else { union_at + largest };
        Ok((end.next_multiple_of(align), actions))
    }

    pub(super) fn trie(
        &mut self,
        map: &str,
        numbers: &[(String, Type)],
        kinds: &[MatchKind],
        names: &[Rc<str>],
        layout: &mut TableLayout,
        pointer: &str,
    ) -> Result<()> {
        // The key with a prefix comes last.
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by_key(|at| kinds[*at] == MatchKind::Lpm);
        let (mut at, mut stores, mut fields) = (4, Vec::new(), vec![None; numbers.len()]);
        let key = self.fresh("lookup");
        for number in order {
            let (value, ty) = &numbers[number];
            let width = plain(ty).width().unwrap_or(8);
            let bytes = width.div_ceil(8);
            let value = bits_of(value, ty);
            // The bits of a number are left-aligned in its bytes.
            let kind = if bytes > 8 { "u128" } else { "u64" };
            let shifted = format!("(({kind}){value} << {})", bytes * 8 - width);
            let (mut left, mut byte) = (bytes * 8, at);
            while left > 0 {
                let size = [64, 32, 16, 8]
                    .into_iter()
                    .find(|size| *size <= left && byte % (size / 8) == 0)
                    .unwrap_or(8);
                left -= size;
                stores.push(format!("STORE{size}((u8 *)&{key} + {byte}, {shifted} >> {left});"));
                byte += size / 8;
            }
            fields[number] = Some(Number { name: "".into(), width, offset: at, size: bytes });
            at += bytes;
        }
        let bytes = at - 4;
        self.define(
            &format!("{map}_key"),
            &format!("struct {map}_key {{\n    u32 length;\n    u8 bytes[{bytes}];\n}};\n"),
        );
        self.locals.push(format!("struct {map}_key {key};"));
        self.put(format!("__builtin_memset(&{key}, 0, sizeof({key}));"));
        self.put(format!("{key}.length = {};", bytes * 8));
        self.body.extend(stores);
        if self.map_names.insert(map.to_owned()) {
            self.maps.push(format!(
                "TRIE({map}, {}, struct {map}_key, struct {map}_value);\n",
                layout.size
            ));
        }
        self.put(format!("{pointer} = bpf_map_lookup_elem(&{map}, &{key});"));
        layout.key_size = (4 + bytes).next_multiple_of(4);
        layout.keys = keys(fields.into_iter().flatten().collect(), kinds, names);
        Ok(())
    }

    /// Declares the variables `index`, for an array map, and a loop counter, whose name is
    /// returned. The address of `index` is taken, so the kernel's verifier would lose the value of
    /// a 4-byte counter there.
    fn counter(&mut self, index: &str) -> String {
        let count = self.fresh("count");
        self.locals.push(format!("u32 {index};"));
        self.locals.push(format!("u64 {count};"));
        count
    }

    pub(super) fn tuple_space(
        &mut self,
        map: &str,
        numbers: &[(String, Type)],
        masks: u32,
        size: u32,
        pointer: &str,
    ) -> Result<()> {
        let masks_map = format!("{map}_masks");
        // The first word of a mask is not zero if the mask is in use. It has the offset of `tuple`
        // in a key.
        self.map(&masks_map, "BPF_MAP_TYPE_ARRAY", masks, "u32", &format!("struct {map}_key"));
        self.map(
            map,
            "BPF_MAP_TYPE_HASH",
            size,
            &format!("struct {map}_key"),
            &format!("struct {map}_value"),
        );
        let saved: Vec<(String, Type)> = numbers.to_vec();
        let (at, mask, key, found) =
            (self.fresh("tuple"), self.fresh("mask"), self.fresh("lookup"), self.fresh("found"));
        let count = self.counter(&at);
        self.locals.push(format!("struct {map}_key *{mask};"));
        self.locals.push(format!("struct {map}_key {key};"));
        self.locals.push(format!("struct {map}_value *{found};"));
        self.put(format!("for ({count} = 0; {count} < {masks}; {count}++) {{"));
        self.put(format!("{at} = {count};"));
        self.put(format!("{mask} = bpf_map_lookup_elem(&{masks_map}, &{at});"));
        self.put(format!("if (!{mask} || !{mask}->tuple) break;"));
        self.put(format!("__builtin_memset(&{key}, 0, sizeof({key}));"));
        self.put(format!("{key}.tuple = {at};"));
        for (number, (value, ty)) in saved.iter().enumerate() {
            let value = bits_of(value, ty);
            self.put(format!("{key}.k{number} = {value} & {mask}->k{number};"));
        }
        self.put(format!("{found} = bpf_map_lookup_elem(&{map}, &{key});"));
        self.put(format!("if ({found} && (!{pointer} || {found}->priority > {pointer}->priority)) {pointer} = {found};"));
        self.put("}");
        Ok(())
    }

    pub(super) fn scan(
        &mut self,
        map: &str,
        numbers: &[(String, Type)],
        kinds: &[MatchKind],
        names: &[Rc<str>],
        layout: &mut TableLayout,
        pointer: &str,
    ) -> Result<()> {
        let size = layout.size;
        // used, first numbers, second numbers, value of the action
        let (fields, half, lines) = self.place_numbers(numbers, 0, "k")?;
        let align = fields.iter().map(|field| field.size.min(8)).max().unwrap_or(4).max(4);
        let first_at = 4u32.next_multiple_of(align);
        let half = half.next_multiple_of(align);
        let value_at = (first_at + 2 * half).next_multiple_of(8);
        let text = format!(
            "struct {map}_numbers {{\n{lines}}} __attribute__((aligned({align})));\nstruct {map}_element {{\n    u32 used;\n    struct {map}_numbers first;\n    struct {map}_numbers second;\n    struct {map}_value value __attribute__((aligned(8)));\n}};\n"
        );
        self.define(&format!("{map}_element"), &text);
        self.map(map, "BPF_MAP_TYPE_ARRAY", size, "u32", &format!("struct {map}_element"));
        let (at, element) = (self.fresh("entry"), self.fresh("element"));
        let count = self.counter(&at);
        self.locals.push(format!("struct {map}_element *{element};"));
        self.put(format!("for ({count} = 0; {count} < {size}; {count}++) {{"));
        self.put(format!("{at} = {count};"));
        self.put(format!("{element} = bpf_map_lookup_elem(&{map}, &{at});"));
        self.put(format!("if (!{element} || !{element}->used) break;"));
        let mut conditions = Vec::new();
        for (number, ((value, ty), kind)) in numbers.iter().zip(kinds).enumerate() {
            let value = bits_of(value, ty);
            let (first, second) =
                (format!("{element}->first.k{number}"), format!("{element}->second.k{number}"));
            conditions.push(match kind {
                MatchKind::Exact => format!("{value} == {first}"),
                MatchKind::Range => format!("{value} >= {first} && {value} <= {second}"),
                _ => format!("({value} & {second}) == {first}"),
            });
        }
        self.put(format!("if ({}) {{", conditions.join(" && ")));
        self.put(format!("{pointer} = &{element}->value;"));
        self.put("break;");
        self.put("}");
        self.put("}");
        let element = (value_at + layout.value_size).next_multiple_of(8);
        layout.maps = TableMaps::Scan { second: half, value: value_at, element };
        layout.key_size = 4;
        let fields = fields
            .into_iter()
            .map(|field| Number { offset: field.offset + first_at, ..field })
            .collect();
        layout.keys = keys(fields, kinds, names);
        Ok(())
    }
}

/// Returns the bits of a number as an unsigned C expression.
fn bits_of(value: &str, ty: &Type) -> String {
    match plain(ty) {
        Type::Int(width) => {
            let size = c_width(width).unwrap_or(128);
            format!(
                "((u{size}){value} & {})",
                integer(&((num_bigint::BigInt::from(1) << width) - 1))
            )
        }
        _ => value.to_owned(),
    }
}

/// Creates the key fields of a table's layout from their numbers, match kinds and names.
pub(super) fn keys(numbers: Vec<Number>, kinds: &[MatchKind], names: &[Rc<str>]) -> Vec<KeyLayout> {
    numbers
        .into_iter()
        .zip(kinds)
        .enumerate()
        .map(|(at, (number, kind))| {
            let name = names.get(at).cloned().unwrap_or_else(|| "key".into());
            KeyLayout { number: Number { name, ..number }, kind: *kind }
        })
        .collect()
}

/// Returns an upper limit of the number of different masks in a table whose key fields have these
/// match kinds and widths.
pub(super) fn most_masks(kinds: &[MatchKind], numbers: &[(String, Type)]) -> u32 {
    kinds.iter().zip(numbers).fold(1u32, |product, (kind, (_, ty))| {
        let width = plain(ty).width().unwrap_or(1);
        let masks = match kind {
            MatchKind::Exact => 1,
            MatchKind::Optional => 2,
            MatchKind::Lpm => width + 1,
            _ => 1u32.checked_shl(width).unwrap_or(u32::MAX),
        };
        product.saturating_mul(masks)
    })
}
