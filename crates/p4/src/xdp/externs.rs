//! Translates extern objects and functions of the architectures.

use super::checksum::Algorithm;
use super::meter::{PSA_COLOURS, V1_COLOURS};
use super::*;
use crate::check::Named;

/// Size of a ring buffer in bytes. It must be a power of two, and a multiple of the page size.
const RING_BYTES: u32 = 1 << 18;

impl<'a> Generator<'a> {
    /// Emits a method call on an extern object of an architecture.
    pub(super) fn object_method(
        &mut self,
        expr: &'a Expr,
        instance: &Instance,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<String>> {
        let Type::Extern(Named { id, name: kind, args: types }) = &instance.ty else {
            return self.unsupported(expr.span, format!("method '{name}'"));
        };
        if !self.is_standard(*id) {
            return self.unsupported(expr.span, format!("{kind}.{name}"));
        }
        let first_type = types.first().map_or(Type::Unknown, |ty| self.resolved(ty));
        let span = expr.span;
        match (&**kind, name) {
            ("counter" | "Counter", "count") => {
                let index = self.argument(given, 0, &Type::Bit(32))?;
                let bytes = self.optional(given, 1)?.unwrap_or_else(|| "packet_length".to_owned());
                self.count_element(instance, &index, "1", &bytes)?;
            }
            ("CounterArray", "increment" | "add") => {
                let index = self.argument(given, 0, &Type::Bit(32))?;
                let amount = if name == "add" {
                    self.argument(given, 1, &Type::Bit(32))?
                } else {
                    "1".to_owned()
                };
                self.count_element(instance, &index, &amount, "0")?;
            }
            // A direct counter of v1model counts when an entry of its table is found.
            ("direct_counter", "count") => {}
            ("DirectCounter", "count") => {
                let Some((entry, _)) = self.direct.get(&instance.path).cloned() else {
                    return self
                        .unsupported(span, "a direct counter outside of the actions of its table");
                };
                let bytes = self.optional(given, 0)?.unwrap_or_else(|| "packet_length".to_owned());
                self.count_entry(&entry, &bytes);
            }
            ("meter", "execute_meter") => {
                let index = self.argument(given, 0, &Type::Bit(32))?;
                let colour = self.measure_element(instance, &index, (None, None), V1_COLOURS)?;
                self.store_fitted(given.get(1), &colour)?;
            }
            ("direct_meter", "read") => {
                let colour = self.colour_of(&instance.path);
                self.store_fitted(given.first(), &colour)?;
            }
            ("Meter", "execute" | "dpdk_execute") => {
                let index = self.argument(given, 0, &Type::Bit(32))?;
                let given = self.colour_and_length(&given[1..], name)?;
                return Ok(Some(self.measure_element(instance, &index, given, PSA_COLOURS)?));
            }
            ("DirectMeter", "execute" | "dpdk_execute") => {
                let given = self.colour_and_length(given, name)?;
                return Ok(Some(self.measure_found(&instance.path, given, span)?));
            }
            ("register", "read" | "write") => {
                let at = if name == "read" { 1 } else { 0 };
                let index = self.argument(given, at, &Type::Bit(32))?;
                let (element, c) = self.register_element(instance, &first_type, &index)?;
                if name == "write" {
                    self.write_register(&element, &first_type, given.get(1), span)?;
                    return Ok(None);
                }
                let read = self.read_register(&element, &c, &first_type)?;
                if let Some(Given::Expr(target)) = given.first() {
                    self.store(target, &read)?;
                }
            }
            ("Register", "read" | "write") => {
                if instance.number(1).unwrap_or(0) != 0 {
                    return self.unsupported(span, "a register whose first value is not 0");
                }
                let index = self.argument(given, 0, &Type::Bit(32))?;
                let (element, c) = self.register_element(instance, &first_type, &index)?;
                if name == "write" {
                    self.write_register(&element, &first_type, given.get(1), span)?;
                    return Ok(None);
                }
                return Ok(Some(self.read_register(&element, &c, &first_type)?));
            }
            ("Hash", "get_hash") => return self.get_hash(expr, instance, given),
            ("Random", "read") => {
                let bound = |at: usize| match instance.args.get(at) {
                    Some(Some(Binding::Constant(value))) => Some(value.clone()),
                    _ => None,
                };
                let (Some(low), Some(high)) = (bound(0), bound(1)) else {
                    return self.unsupported(span, "random numbers without constant limits");
                };
                let low = self.literal(&low, &first_type, span)?;
                let high = self.literal(&high, &first_type, span)?;
                return Ok(Some(self.draw(&low, &high, &first_type)?));
            }
            ("Digest", "pack") => {
                let path = instance.path.clone();
                self.digest(&path, None, given.first(), span)?;
            }
            ("Checksum16", "get") => {
                let Some(Given::Expr(data)) = given.first() else {
                    return self.unsupported(span, "this checksum");
                };
                return Ok(Some(self.compute("csum16", data, span)?));
            }
            ("Checksum" | "InternetChecksum", _) => {
                return self.checksum_method(expr, instance, name, given);
            }
            (kind, name) => return self.unsupported(span, format!("{kind}.{name}")),
        }
        Ok(None)
    }

    /// Returns true if a standard header declares the extern, so that its meaning is known.
    pub(super) fn is_standard(&self, extern_: DeclId) -> bool {
        let file = self.nodes.get(&extern_).map(|decl| decl.span.file as usize);
        file.and_then(|file| self.sources.files.get(file)).is_some_and(|file| file.is_standard)
    }

    /// Returns an optional argument of a call as a C expression; `None` if the call omits it.
    fn optional(&mut self, given: &[Given<'a>], at: usize) -> Result<Option<String>> {
        match given.get(at) {
            None | Some(Given::Missing) => Ok(None),
            Some(_) => Ok(Some(self.argument(given, at, &Type::Bit(32))?)),
        }
    }

    /// Returns the colour that the packet has before a meter, and the length of the packet, each
    /// `None` if the call does not state it.
    fn colour_and_length(
        &mut self,
        given: &[Given<'a>],
        name: &str,
    ) -> Result<(Option<String>, Option<String>)> {
        let has_length = name == "dpdk_execute";
        let has_colour = given.len() > usize::from(has_length);
        let colour = if has_colour { self.optional(given, 0)? } else { None };
        let length = if has_length { self.optional(given, usize::from(has_colour))? } else { None };
        Ok((colour, length))
    }

    /// Emits code that stores a number to an `out` argument, reduced to the width of the argument.
    fn store_fitted(&mut self, target: Option<&Given<'a>>, number: &str) -> Result<()> {
        let Some(Given::Expr(target)) = target else { return Ok(()) };
        let value = self.fit(number, &self.ty(target));
        self.store(target, &value)
    }

    // --- registers -----------------------------------------------------------------------------

    /// Emits code that looks up a register element. Returns the variable with the pointer to it,
    /// and the C type of the element.
    fn register_element(
        &mut self,
        instance: &Instance,
        of: &Type,
        index: &str,
    ) -> Result<(String, String)> {
        let map = self.map_name(&instance.path);
        let size = instance.number(0).unwrap_or(1).max(1);
        let c = self.c_type(of)?;
        self.map(&map, "BPF_MAP_TYPE_ARRAY", size, "u32", &c);
        let width = storage::plain(of).width().and_then(storage::c_width).unwrap_or(0);
        self.object(&map, &instance.path, "register", width / 8, size);
        let index = self.save("index", &Type::Bit(32), index)?;
        let element = self.fresh("element");
        self.locals.push(format!("{c} *{element};"));
        self.put(format!("{element} = bpf_map_lookup_elem(&{map}, &{index});"));
        Ok((element, c))
    }

    fn read_register(&mut self, element: &str, _c: &str, of: &Type) -> Result<String> {
        let read = self.variable("read", of)?;
        self.put(format!("if ({element}) {read} = *{element};"));
        Ok(read)
    }

    fn write_register(
        &mut self,
        element: &str,
        of: &Type,
        value: Option<&Given<'a>>,
        span: Span,
    ) -> Result<()> {
        let Some(Given::Expr(value)) = value else {
            return self.unsupported(span, "this write");
        };
        let written = self.uninitialised("written", of)?;
        self.assign(&written, of, value)?;
        self.put(format!("if ({element}) *{element} = {written};"));
        Ok(())
    }

    // --- hashes, checksums and random numbers --------------------------------------------------

    /// Returns the algorithm that is the constructor argument of an instance.
    fn algorithm_of(&self, instance: &Instance, span: Span) -> Result<Algorithm> {
        match instance.args.first() {
            _ if instance.kind() == "InternetChecksum" => Ok(Algorithm::Sum),
            Some(Some(Binding::Constant(Value::Member(_, name)))) => match Algorithm::named(name) {
                Some(known) => Ok(known),
                None => self.unsupported(span, format!("the hash algorithm {name}")),
            },
            _ => self.unsupported(span, "a hash algorithm that is not constant"),
        }
    }

    /// Emits `get_hash(data)` or `get_hash(base, data, max)` of PSA.
    fn get_hash(
        &mut self,
        expr: &'a Expr,
        instance: &Instance,
        given: &[Given<'a>],
    ) -> Result<Option<String>> {
        let span = expr.span;
        let ty = self.ty(expr);
        let kind = self.algorithm_of(instance, span)?;
        let is_limited = given.len() > 1;
        let Some(Given::Expr(data)) = given.get(usize::from(is_limited)) else {
            return self.unsupported(span, "this hash");
        };
        let sum = self.save("sum", &Type::Bit(kind.bits()), kind.start())?;
        self.feed_data(kind, &sum, data, span)?;
        let hash = kind.result(&sum);
        if !is_limited {
            return Ok(Some(self.fit(&hash, &ty)));
        }
        let base = self.argument(given, 0, &ty)?;
        let most = self.argument(given, 2, &Type::Bit(64))?;
        let most = self.save("most", &Type::Bit(64), &format!("(u64){most}"))?;
        Ok(Some(self.fit(&format!("(u64){base} + ({most} ? (u64)({hash}) % {most} : 0)"), &ty)))
    }

    /// Returns the C variable with the state of a checksum object.
    fn checksum_state(&mut self, instance: &Instance, kind: Algorithm) -> Result<String> {
        if let Some(name) = self.checksums.get(&instance.path) {
            return Ok(name.clone());
        }
        let name = self.fresh("checksum");
        let c = self.c_type(&Type::Bit(kind.bits()))?;
        self.locals.push(format!("{c} {name} = {};", kind.start()));
        self.checksums.insert(instance.path.clone(), name.clone());
        Ok(name)
    }

    fn checksum_method(
        &mut self,
        expr: &'a Expr,
        instance: &Instance,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<String>> {
        let span = expr.span;
        let kind = self.algorithm_of(instance, span)?;
        let state = self.checksum_state(instance, kind)?;
        match name {
            "clear" => self.put(format!("{state} = {};", kind.start())),
            "add" | "update" | "subtract" => {
                let Some(Given::Expr(data)) = given.first() else {
                    return self.unsupported(span, "this checksum");
                };
                let kind = if name == "subtract" { Algorithm::Removed } else { kind };
                self.feed_data(kind, &state, data, span)?;
            }
            "get" => return Ok(Some(self.fit(&kind.result(&state), &self.ty(expr)))),
            "get_state" => return Ok(Some(format!("(u16){state}"))),
            "set_state" => {
                let value = self.argument(given, 0, &Type::Bit(16))?;
                self.put(format!("{state} = {value};"));
            }
            _ => return self.unsupported(span, format!("{}.{name}", instance.kind())),
        }
        Ok(None)
    }

    /// Emits code that draws a random number between two limits, inclusive, and returns it as a C
    /// expression.
    fn draw(&mut self, low: &str, high: &str, ty: &Type) -> Result<String> {
        let choices =
            self.save("choices", &Type::Bit(64), &format!("(u64){high} - (u64){low} + 1"))?;
        let drawn = self.save("drawn", &Type::Bit(64), "bpf_get_prandom_u32()")?;
        Ok(self.fit(&format!("(u64){low} + ({choices} ? {drawn} % {choices} : {drawn})"), ty))
    }

    // --- messages ------------------------------------------------------------------------------

    /// Emits a message to user space through a ring buffer: the number of the receiver, if there is
    /// one, and the data.
    fn digest(
        &mut self,
        path: &str,
        receiver: Option<&str>,
        data: Option<&Given<'a>>,
        span: Span,
    ) -> Result<()> {
        let Some(Given::Expr(data)) = data else { return self.unsupported(span, "this digest") };
        let ty = match self.ty(data) {
            Type::ListLiteral(types, _) => Type::Tuple(types),
            ty => ty,
        };
        let map = self.map_name(path);
        let c = self.c_type(&ty)?;
        let name = self.fresh("message");
        let start = receiver.map(|_| "u32 receiver; ").unwrap_or_default();
        self.locals.push(format!("struct {{ {start}{c} data; }} {name};"));
        if self.map_names.insert(map.clone()) {
            self.maps.push(format!("RING({map}, {RING_BYTES});\n"));
            self.object(&map, path, "digest", 0, RING_BYTES);
        }
        // Padding between fields is sent, too.
        self.put(format!("__builtin_memset(&{name}, 0, sizeof({name}));"));
        if let Some(receiver) = receiver {
            self.put(format!("{name}.receiver = {receiver};"));
        }
        self.assign(&format!("{name}.data"), &ty, data)?;
        self.put(format!("bpf_ringbuf_output(&{map}, &{name}, sizeof({name}), 0);"));
        Ok(())
    }

    /// Returns the argument at index `at` as a number of type `ty`, in C; `0U` if it is missing.
    pub(super) fn argument(&mut self, given: &[Given<'a>], at: usize, ty: &Type) -> Result<String> {
        match given.get(at) {
            Some(Given::Expr(expr)) => self.value_as(expr, ty),
            Some(Given::C(value)) => Ok(value.clone()),
            _ => Ok("0U".to_owned()),
        }
    }

    /// Adds a C definition to the output, unless one of this name was added before.
    pub(super) fn define(&mut self, name: &str, text: &str) {
        if self.struct_names.insert(format!("definition {name}"), String::new()).is_none() {
            self.structs.push(text.to_owned());
        }
    }

    // --- extern functions ----------------------------------------------------------------------

    pub(super) fn extern_function(
        &mut self,
        expr: &'a Expr,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<String>> {
        let span = expr.span;
        match name {
            "verify" => {
                let condition = self.argument(given, 0, &Type::Bool)?;
                let error = self.argument(given, 1, &Type::Error)?;
                self.put(format!("if (!{condition}) {{"));
                if let Some(variable) = self.parser_error.clone() {
                    self.put(format!("{variable} = {error};"));
                }
                self.reject("", span)?;
                self.put("}");
                Ok(None)
            }
            "mark_to_drop" => {
                let port = match (given.first(), &self.standard_metadata) {
                    (Some(Given::Expr(metadata)), _) => self.place(metadata)?,
                    (_, Some(metadata)) => metadata.clone(),
                    _ => return self.unsupported(span, "mark_to_drop here"),
                };
                self.put(format!("{port}.egress_spec = {};", pipeline::DROP_PORT));
                self.put(format!("{port}.mcast_grp = 0;"));
                Ok(None)
            }
            // No effect on packets.
            "log_msg" | "assert" | "assume" | "static_assert" => Ok(None),
            "verify_checksum"
            | "verify_checksum_with_payload"
            | "update_checksum"
            | "update_checksum_with_payload"
            | "hash" => self.checksum_call(expr, name, given),
            "digest" => {
                let receiver = self.argument(given, 0, &Type::Bit(32))?;
                self.digest("digest messages", Some(&receiver), given.get(1), span)?;
                Ok(None)
            }
            "resubmit_preserving_field_list" | "recirculate_preserving_field_list" => {
                let Some(Given::Expr(list)) = given.first() else {
                    return self.unsupported(span, name);
                };
                let Some(list) = self.number(list) else {
                    return self.unsupported(list.span, "a field list that is not constant");
                };
                self.request_round(list, name.starts_with("resubmit"), span)?;
                Ok(None)
            }
            "clone" | "clone_preserving_field_list" | "clone3" => {
                self.refused(span, "XDP cannot send a copy of a packet; remove the clone")
            }
            "psa_clone_i2e" | "psa_clone_e2e" => Ok(Some("(u8)0".to_owned())),
            "psa_resubmit" | "psa_normal" | "psa_recirculate" => {
                let mut places = Vec::new();
                for one in given {
                    if let Given::Expr(expr) = one {
                        places.push(self.place(expr)?);
                    }
                }
                Ok(Some(match (name, &places[..]) {
                    ("psa_resubmit", [out]) => format!("(u8)(!{out}.drop && {out}.resubmit)"),
                    ("psa_normal", [out]) => format!("(u8)(!{out}.drop && !{out}.resubmit)"),
                    (_, [out, port]) => {
                        let to = psa::RECIRCULATE;
                        format!("(u8)(!{out}.drop && {port}.egress_port == {to})")
                    }
                    _ => return self.unsupported(span, name),
                }))
            }
            "random" => {
                let Some(Given::Expr(target)) = given.first() else { return Ok(None) };
                let ty = self.ty(target);
                let (low, high) = (self.argument(given, 1, &ty)?, self.argument(given, 2, &ty)?);
                let value = self.draw(&low, &high, &ty)?;
                self.store(target, &value)?;
                Ok(None)
            }
            // The checksum for a changed word, by RFC 1624, equation 3.
            "csum_replace2" | "csum_replace4" => {
                let ty = Type::Bit(if name == "csum_replace4" { 32 } else { 16 });
                let sum = self.argument(given, 0, &Type::Bit(16))?;
                let (old, new) = (self.argument(given, 1, &ty)?, self.argument(given, 2, &ty)?);
                let old = self.save("old", &ty, &old)?;
                let new = self.save("new", &ty, &new)?;
                let halves = |word: &str| format!("((u32){word} >> 16) + ((u32){word} & 0xffff)");
                let sum = self.save(
                    "sum",
                    &Type::Bit(32),
                    &format!("(u16)~{sum} + (0x1fffe - ({})) + {}", halves(&old), halves(&new)),
                )?;
                self.put(format!("{sum} = ({sum} & 0xffff) + ({sum} >> 16);"));
                self.put(format!("{sum} = ({sum} & 0xffff) + ({sum} >> 16);"));
                Ok(Some(format!("(u16)~{sum}")))
            }
            "BPF_KTIME_GET_NS" => Ok(Some("(u32)bpf_ktime_get_ns()".to_owned())),
            _ => self.unsupported(span, name),
        }
    }
}
