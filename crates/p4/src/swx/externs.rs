//! Objects and functions of architectures: counters, registers, meters, and what stops a packet.

use num_traits::ToPrimitive;

use super::expression::small;
use super::number::Words;
use super::place::{Memory, Place, width};
use super::*;
use crate::check::Named;
use slowpath_swx::spec::{MeterArray, RegisterArray};

impl<'a> Generator<'a> {
    /// Emits a method of an extern object of an architecture.
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
        let counted = instance.args.iter().flatten().find_map(|one| match one {
            Binding::Constant(Value::Member(_, name)) => Some(name.to_lowercase()),
            _ => None,
        });
        let is_of_packets = counted.as_deref() == Some("packets");
        let size = number(0).unwrap_or(1).max(1);
        match (&**kind, name) {
            ("counter" | "Counter" | "meter", "count" | "execute_meter")
                if counted.as_deref() == Some("bytes")
                    || (&**kind == "meter" && !is_of_packets) =>
            {
                self.unsupported(
                    expr.span,
                    format!("a {kind} of bytes, because SWX does not tell the length of packets,"),
                )
            }
            ("counter" | "Counter", "count") => {
                if !is_of_packets {
                    let name = &instance.path;
                    self.conditions.insert(format!(
                        "counter '{name}' counts packets, but not bytes, which SWX does not tell"
                    ));
                }
                let array = self.registers(&instance.path, size);
                let index = self.index(given, 0)?;
                self.inside(&index, size, |this, index| {
                    let from = Operand::Immediate(1);
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
            ("meter", "execute_meter") => {
                let array = self.name_for(&instance.path);
                if !self.spec.meter_arrays.iter().any(|one| one.name == array) {
                    let line = Line::default();
                    self.spec.meter_arrays.push(MeterArray { line, name: array.clone(), size });
                }
                let index = self.index(given, 0)?;
                let Some(Given::Expr(target)) = given.get(1) else { return Ok(None) };
                let target = self.target(target)?;
                let length = self.saved(Operand::Immediate(1), 16);
                let colour = self.saved(Operand::Immediate(0), 8);
                let to = colour.clone();
                self.inside(&index, size, |this, index| {
                    let colour = Operand::Immediate(0);
                    this.put(Op::Meter { array, index, length, colour, to });
                    Ok(())
                })?;
                let found = Words::one(Operand::Field(colour), 2);
                let found = self.resized(&found, width(&target.ty).unwrap_or(2), false);
                self.store_words(&target, &found)?;
                Ok(None)
            }
            (kind, name) => self.unsupported(expr.span, format!("{kind}.{name}")),
        }
    }

    /// Emits a read or write of a register.
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

    /// Returns the name of an extern's array in the pipeline.
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

    /// Returns the name of an array of registers.
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

    /// Emits instructions that run if an index is below a size. DPDK would use another element.
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
            // No effect on packets.
            "log_msg" | "assert" | "assume" | "static_assert" => Ok(()),
            "csum_replace2" | "csum_replace4" => Ok(()),
            "verify_checksum" | "update_checksum" | "hash" => self.checksum_call(expr, name, given),
            _ => self.unsupported(span, name),
        }
    }

    /// Emits a function of an architecture that has a result; none if it is another function.
    pub(super) fn extern_result(
        &mut self,
        expr: &'a Expr,
        name: &str,
        given: &[Given<'a>],
    ) -> Result<Option<Place>> {
        let bits = match name {
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
