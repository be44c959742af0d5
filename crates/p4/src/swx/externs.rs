//! Translates extern objects and functions of the architectures: counters, registers, meters, and
//! functions that drop or resubmit a packet.

use num_traits::ToPrimitive;

use super::expression::small;
use super::number::Words;
use super::place::{Memory, Place, width};
use super::*;
use crate::check::Named;
use slowpath_swx::spec::{MeterArray, RegisterArray};

impl<'a> Generator<'a> {
    /// Emits a method call on an extern object of an architecture.
    pub(super) fn object_method(
        &mut self,
        expr: &'a Expr,
        instance: &Instance,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<Place>> {
        let Type::Extern(Named { name: kind, args: types, .. }) = &instance.ty else {
            return self.unsupported(expr.span, format!("method '{name}'"));
        };
        let number = |at: usize| match instance.args.get(at) {
            Some(Some(Binding::Constant(Value::Number(number)))) => number.to_u32(),
            _ => None,
        };
        if let Some(found) = self.psa_checksum(expr, instance, name, given)? {
            return Ok(found);
        }
        let size = number(0).unwrap_or(1).max(1);
        match (&**kind, name) {
            ("counter" | "Counter", "count") => {
                let from = match (counted(instance).as_deref(), given.get(1)) {
                    (Some("bytes"), Some(Given::Expr(length))) => {
                        self.value_as(length, &Type::Bit(32))?.low()
                    }
                    _ => {
                        self.check_packets(instance, kind, expr.span)?;
                        Operand::Immediate(1)
                    }
                };
                let array = self.registers(&instance.path, size);
                let index = self.index(given, 0)?;
                self.inside(&index, size, |this, index| {
                    this.put(Op::RegisterAdd { array, index, from });
                    Ok(())
                })?;
                Ok(None)
            }
            ("CounterArray", "increment" | "add") => {
                let array = self.registers(&instance.path, size);
                let index = self.index(given, 0)?;
                let amount = match (name, given.get(1)) {
                    ("add", Some(Given::Expr(amount))) => {
                        self.value_as(amount, &Type::Bit(32))?.low()
                    }
                    _ => Operand::Immediate(1),
                };
                self.inside(&index, size, |this, index| {
                    this.put(Op::RegisterAdd { array, index, from: amount });
                    Ok(())
                })?;
                Ok(None)
            }
            ("register" | "Register", "read" | "write") => {
                let of = types.first().map_or(Type::Unknown, |ty| self.resolved(ty));
                self.register(expr, instance, name, given, &of, size)
            }
            // A direct counter of v1model counts when an entry of its table is found.
            ("direct_counter", "count") => Ok(None),
            ("DirectCounter", "count") => {
                self.count_entry(&instance.path, expr.span)?;
                Ok(None)
            }
            ("meter", "execute_meter") => {
                self.check_packets(instance, kind, expr.span)?;
                let array = self.meters(&instance.path, size);
                let index = self.index(given, 0)?;
                let Some(Given::Expr(target)) = given.get(1) else { return Ok(None) };
                let target = self.target(target)?;
                let one = Operand::Immediate(1);
                let colour = self.saved(Operand::Immediate(0), 8);
                self.inside(&index, size, |this, index| {
                    this.meter(&array, index, one, (Operand::Immediate(0), colour.clone()));
                    Ok(())
                })?;
                self.store_colour(&target, colour)?;
                Ok(None)
            }
            ("direct_meter", "read") => {
                self.check_packets(instance, kind, expr.span)?;
                let Some(Given::Expr(target)) = given.first() else { return Ok(None) };
                let target = self.target(target)?;
                let (array, index) = self.meter_of_entry(&instance.path, expr.span)?;
                let colour = self.saved(Operand::Immediate(0), 8);
                let one = Operand::Immediate(1);
                self.meter(&array, index, one, (Operand::Immediate(0), colour.clone()));
                self.store_colour(&target, colour)?;
                Ok(None)
            }
            ("Meter" | "DirectMeter", "execute" | "dpdk_execute") => {
                self.psa_meter(expr, instance, (kind, name), given, size)
            }
            (kind, name) => self.unsupported(expr.span, format!("{kind}.{name}")),
        }
    }

    /// Checks that a counter or meter counts packets. It cannot count bytes, because SWX does not
    /// give the length of a packet.
    pub(super) fn check_packets(
        &mut self,
        instance: &Instance,
        kind: &str,
        span: Span,
    ) -> Result<()> {
        match counted(instance).as_deref() {
            Some("packets") => {}
            Some("packets_and_bytes") => {
                let name = &instance.path;
                self.conditions.insert(format!(
                    "counter '{name}' counts packets, but not bytes, which SWX does not tell"
                ));
            }
            _ => {
                return self.unsupported(
                    span,
                    format!("a {kind} of bytes, because SWX does not tell the length of packets,"),
                );
            }
        }
        Ok(())
    }

    /// Emits code that reads the number of the entry that the last table lookup found. Returns this
    /// number, and the array size that the direct counter or meter `path` needs. Entries count from
    /// 1; 0 stands for the default action.
    fn entry_number(&mut self, path: &str, span: Span) -> Result<(Operand, u32)> {
        let Some(entries) = self.direct.get(path).copied() else {
            return self.unsupported(
                span,
                "a direct counter or meter outside of the actions of its table",
            );
        };
        let to = self.temporary(32);
        if let FieldRef::Meta(name) = &to {
            self.put(Op::EntryId { to: name.clone() });
        }
        Ok((Operand::Field(to), entries.saturating_add(1)))
    }

    /// Emits an increment of a direct counter for the entry that the table lookup found.
    pub(super) fn count_entry(&mut self, path: &str, span: Span) -> Result<()> {
        let (index, size) = self.entry_number(path, span)?;
        let array = self.registers(path, size);
        self.put(Op::RegisterAdd { array, index, from: Operand::Immediate(1) });
        Ok(())
    }

    /// Returns the array of a direct meter, and the index of the entry that the table lookup found.
    fn meter_of_entry(&mut self, path: &str, span: Span) -> Result<(String, Operand)> {
        let (index, size) = self.entry_number(path, span)?;
        Ok((self.meters(path, size), index))
    }

    /// Returns the name of an array of meters, and adds the array to the pipeline if it is new.
    fn meters(&mut self, path: &str, size: u32) -> String {
        let name = self.name_for(path);
        if !self.spec.meter_arrays.iter().any(|one| one.name == name) {
            let line = Line::default();
            self.spec.meter_arrays.push(MeterArray { line, name: name.clone(), size });
        }
        name
    }

    /// Emits a meter instruction. It computes the colour of the packet from the meter and the
    /// packet's previous colour, and stores it in `to`.
    fn meter(
        &mut self,
        array: &str,
        index: Operand,
        length: Operand,
        (colour, to): (Operand, FieldRef),
    ) {
        let length = self.saved(length, 32);
        self.put(Op::Meter { array: array.to_owned(), index, length, colour, to });
    }

    fn store_colour(&mut self, target: &super::statement::Target, colour: FieldRef) -> Result<()> {
        let found = Words::one(Operand::Field(colour), 2);
        let found = self.resized(&found, width(&target.ty).unwrap_or(2), false);
        self.store_words(target, &found)
    }

    /// Emits code that executes a PSA meter, and returns the location of the colour.
    fn psa_meter(
        &mut self,
        expr: &'a Expr,
        instance: &Instance,
        (kind, name): (&str, &str),
        given: &[Given<'a>],
        size: u32,
    ) -> Result<Option<Place>> {
        let is_direct = kind == "DirectMeter";
        // The arguments are an index, the colour so far, and the length of the packet.
        let mut rest = given.iter().skip(usize::from(!is_direct)).filter_map(|one| match one {
            Given::Expr(expr) => Some(*expr),
            _ => None,
        });
        let (colour, length) = match (name, rest.next(), rest.next()) {
            ("dpdk_execute", Some(length), None) => (None, Some(length)),
            (_, colour, length) => (colour, length),
        };
        let length = match (counted(instance).as_deref(), length) {
            (Some("bytes"), Some(length)) => self.value_as(length, &Type::Bit(32))?.low(),
            (Some("packets"), _) => Operand::Immediate(1),
            _ => {
                self.check_packets(instance, kind, expr.span)?;
                Operand::Immediate(1)
            }
        };
        let ty = self.ty(expr);
        // PSA numbers red 0, green 1 and yellow 2; SWX numbers green 0, yellow 1 and red 2.
        let before = match colour {
            Some(colour) => {
                let value = self.value_as(colour, &ty)?.low();
                let field = self.saved(value, 8);
                let not_red = self.label("not_red");
                let known = Operand::Field(field.clone());
                self.jump_compared(Relation::Ne, &known, &Operand::Immediate(0), &not_red);
                self.copy(field.clone(), Operand::Immediate(3));
                self.mark(&not_red);
                self.alu(Alu::Sub, &field, Operand::Immediate(1));
                known
            }
            None => Operand::Immediate(0),
        };
        let found = self.saved(before.clone(), 8);
        if is_direct {
            let (array, index) = self.meter_of_entry(&instance.path, expr.span)?;
            self.meter(&array, index, length, (before, found.clone()));
        } else {
            let array = self.meters(&instance.path, size);
            let index = self.index(given, 0)?;
            self.inside(&index, size, |this, index| {
                this.meter(&array, index, length, (before, found.clone()));
                Ok(())
            })?;
        }
        self.alu(Alu::Add, &found, Operand::Immediate(1));
        let known = self.label("known");
        let number = Operand::Field(found.clone());
        self.jump_compared(Relation::Ne, &number, &Operand::Immediate(3), &known);
        self.copy(found, Operand::Immediate(0));
        self.mark(&known);
        let place = self.new_place("colour", &ty, Memory::Temporary)?;
        if let Place::Number(to) = &place {
            let width = to.width();
            let value = self.resized(&Words::one(number, 2), width, false);
            self.put_number(to, &value);
        }
        Ok(Some(place))
    }

    /// Emits a read or write of a register array.
    fn register(
        &mut self,
        expr: &'a Expr,
        instance: &Instance,
        name: &str,
        given: &[Given<'a>],
        of: &Type,
        size: u32,
    ) -> Result<Option<Place>> {
        let place = self.new_place("register", of, Memory::Temporary)?;
        if !place.headers().is_empty() {
            return self.unsupported(expr.span, format!("a register of {of}"));
        }
        let numbers: Vec<_> = place.numbers().into_iter().cloned().collect();
        let fields: Vec<_> = numbers.iter().flat_map(|number| number.pieces.clone()).collect();
        let arrays: Vec<String> = match fields.len() {
            1 => vec![self.registers(&instance.path, size)],
            count => (0..count)
                .map(|at| self.registers(&format!("{}_{at}", instance.path), size))
                .collect(),
        };
        let is_psa = matches!(&instance.ty, Type::Extern(named) if &*named.name == "Register");
        if is_psa && instance.args.len() > 1 && instance.args[1].is_some() {
            return self.unsupported(expr.span, "a register with an initial value");
        }
        if name == "write" {
            let index = self.index(given, 0)?;
            let Some(Given::Expr(value)) = given.get(1) else {
                return self.unsupported(expr.span, "this write");
            };
            self.assign(&place, of, value)?;
            self.inside(&index, size, |this, index| {
                for (array, field) in arrays.into_iter().zip(&fields) {
                    let from = Operand::Field(field.field.clone());
                    this.put(Op::RegisterWrite { array, index: index.clone(), from });
                }
                Ok(())
            })?;
            return Ok(None);
        }
        let index = self.index(given, usize::from(!is_psa))?;
        self.clear(&place);
        self.inside(&index, size, |this, index| {
            for (array, field) in arrays.into_iter().zip(&fields) {
                let to = field.field.clone();
                this.put(Op::RegisterRead { to, array, index: index.clone() });
            }
            Ok(())
        })?;
        if is_psa {
            return Ok(Some(place));
        }
        if let Some(Given::Expr(target)) = given.first() {
            let target = self.target(target)?;
            self.store_place(&target, &place)?;
        }
        Ok(None)
    }

    /// Returns the pipeline's name for the array of an extern object, and records it in the layout.
    fn name_for(&mut self, path: &str) -> String {
        let known = self.layout.objects.iter().find(|one| one.path == path);
        match known {
            Some(one) => one.array.clone(),
            None => {
                let array = self.name(path);
                self.layout
                    .objects
                    .push(layout::ObjectLayout { path: path.to_owned(), array: array.clone() });
                array
            }
        }
    }

    /// Returns the name of a register array, and adds the array to the pipeline if it is new.
    pub(super) fn registers(&mut self, path: &str, size: u32) -> String {
        let name = self.name_for(path);
        if !self.spec.register_arrays.iter().any(|one| one.name == name) {
            let line = Line::default();
            self.spec.register_arrays.push(RegisterArray {
                line,
                name: name.clone(),
                size,
                initial: 0,
            });
        }
        name
    }

    fn index(&mut self, given: &[Given<'a>], at: usize) -> Result<Words> {
        match given.get(at) {
            Some(Given::Expr(expr)) => {
                let ty = self.ty(expr);
                let ty = if ty == Type::Integer { Type::Bit(32) } else { ty };
                self.value_as(expr, &ty)
            }
            _ => Ok(Words::known(&0.into(), 32)),
        }
    }

    /// Emits instructions that run only if `index` is below `size`. Without this check, DPDK would
    /// access another element.
    fn inside(
        &mut self,
        index: &Words,
        size: u32,
        emit: impl FnOnce(&mut Self, Operand) -> Result<()>,
    ) -> Result<()> {
        if let Some(at) = small(index) {
            return if at < size { emit(self, index.low()) } else { Ok(()) };
        }
        let end = self.label("outside");
        let all = index.width < 32 && 1u64 << index.width <= u64::from(size);
        if !all {
            let most = Operand::Immediate(u64::from(size) - 1);
            for high in index.words.iter().skip(1) {
                self.jump_compared(Relation::Ne, high, &Operand::Immediate(0), &end);
            }
            self.jump_compared(Relation::Gt, &index.low(), &most, &end);
        }
        emit(self, index.low())?;
        self.mark(&end);
        Ok(())
    }

    pub(super) fn extern_function(
        &mut self,
        expr: &'a Expr,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<()> {
        let span = expr.span;
        match name {
            "verify" => {
                let (Some(Given::Expr(condition)), Some(Given::Expr(error))) =
                    (given.first(), given.get(1))
                else {
                    return self.unsupported(span, "this call");
                };
                let holds = self.label("verified");
                self.jump_if(condition, true, &holds)?;
                let error = self.value_as(error, &Type::Error)?;
                if let Some(Place::Number(number)) = self.parser_error.clone() {
                    self.put_number(&number, &error);
                }
                self.reject("", span)?;
                self.mark(&holds);
                Ok(())
            }
            "mark_to_drop" => {
                let place = match (given.first(), &self.standard) {
                    (Some(Given::Expr(metadata)), _) => {
                        let ty = self.ty(metadata);
                        self.place_as(metadata, &ty)?
                    }
                    (_, Some(metadata)) => metadata.clone(),
                    _ => return self.unsupported(span, "mark_to_drop here"),
                };
                if let Some(Place::Number(port)) = place.member("egress_spec") {
                    self.put_number(&port, &Words::known(&pipeline::DROP_PORT.into(), 9));
                }
                Ok(())
            }
            "resubmit_preserving_field_list" | "recirculate_preserving_field_list" => {
                let Some(Given::Expr(list)) = given.first() else {
                    return self.unsupported(span, name);
                };
                let Some(number) = self.known_number(list) else {
                    return self.unsupported(list.span, "a field list that is not constant");
                };
                self.request_round(number, name.starts_with("resubmit"), span)
            }
            // No effect on packets.
            "log_msg" | "assert" | "assume" | "static_assert" => Ok(()),
            "csum_replace2" | "csum_replace4" => Ok(()),
            "verify_checksum" | "update_checksum" | "hash" => self.checksum_call(expr, name, given),
            _ => self.unsupported(span, name),
        }
    }

    /// Emits a PSA function that tests the destination of a packet, such as `psa_resubmit`. Returns
    /// the location of its result.
    fn psa_reason(
        &mut self,
        expr: &'a Expr,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<Place>> {
        let mut places = Vec::new();
        for one in given {
            let Given::Expr(expr) = one else { continue };
            let ty = self.ty(expr);
            places.push(self.place_as(expr, &ty)?);
        }
        let place = self.new_place("reason", &Type::Bool, Memory::Temporary)?;
        let Place::Number(result) = &place else { return self.unsupported(expr.span, name) };
        let known = |value: u8| Words::known(&value.into(), 1);
        self.put_number(result, &known(0));
        // Copies of packets are refused.
        if name.starts_with("psa_clone") {
            return Ok(Some(place));
        }
        let (wanted, number) = match name {
            "psa_recirculate" => {
                (places.get(1).and_then(|to| to.member("egress_port")), psa::RECIRCULATE)
            }
            "psa_resubmit" => (places.first().and_then(|out| out.member("resubmit")), 1),
            _ => (places.first().and_then(|out| out.member("resubmit")), 0),
        };
        let dropped = places.first().and_then(|out| out.member("drop"));
        let (Some(Place::Number(dropped)), Some(Place::Number(wanted))) = (dropped, wanted) else {
            return self.unsupported(expr.span, name);
        };
        let end = self.label("reason");
        let dropped = self.load(&dropped).low();
        self.jump_compared(Relation::Ne, &dropped, &Operand::Immediate(0), &end);
        let wanted = self.load(&wanted).low();
        self.jump_compared(Relation::Ne, &wanted, &Operand::Immediate(number), &end);
        self.put_number(result, &known(1));
        self.mark(&end);
        Ok(Some(place))
    }

    /// Emits an extern function of an architecture that has a result. Returns `None` for an unknown
    /// function.
    pub(super) fn extern_result(
        &mut self,
        expr: &'a Expr,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<Place>> {
        let bits = match name {
            "psa_clone_i2e" | "psa_clone_e2e" | "psa_resubmit" | "psa_normal"
            | "psa_recirculate" => return self.psa_reason(expr, name, given),
            "csum_replace2" => 16,
            "csum_replace4" => 32,
            _ => return Ok(None),
        };
        let [Given::Expr(sum), Given::Expr(old), Given::Expr(new)] = given else {
            return self.unsupported(expr.span, name);
        };
        // The checksum for a changed word, by RFC 1624, equation 3.
        let sum = self.value_as(sum, &Type::Bit(16))?;
        let old = self.value_as(old, &Type::Bit(bits))?;
        let new = self.value_as(new, &Type::Bit(bits))?;
        let (sum, old) = (self.complement(&sum), self.complement(&old));
        let sum = self.sum(&[sum, old, new]);
        let sum = self.complement(&Words::one(Operand::Field(sum), 16));
        let place = self.new_place("checksum", &Type::Bit(16), Memory::Temporary)?;
        if let Place::Number(number) = &place {
            self.put_number(number, &sum);
        }
        Ok(Some(place))
    }
}

/// Returns the kind of counter or meter in lower case, such as `packets` or `bytes`; `None` if no
/// argument states it.
fn counted(instance: &Instance) -> Option<String> {
    instance.args.iter().flatten().find_map(|one| match one {
        Binding::Constant(Value::Member(_, name)) => Some(name.to_lowercase()),
        _ => None,
    })
}
