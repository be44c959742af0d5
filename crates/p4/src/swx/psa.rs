//! Translates the package `PSA_Switch`: the ingress pipeline, and the egress pipeline of unicast
//! packets.
//!
//! An egress that passes packets on unchanged takes no instructions. Any other egress parses the
//! bytes that the ingress deparser wrote, so it takes another pass of the packet through the SWX
//! pipeline.

use super::number::Words;
use super::place::{Memory, Place};
use super::*;

/// The port `PSA_PORT_RECIRCULATE`.
pub(super) const RECIRCULATE: u64 = 0xffff_fffa;
/// `UNICAST`, `RESUBMIT` and `RECIRCULATED`: values of `PSA_PacketPath_t`.
const UNICAST: u64 = 1;
const RESUBMIT: u64 = 5;
const RECIRCULATED: u64 = 6;

/// Locations in the ingress pipeline that the egress pipeline uses; headers and metadata with their
/// types.
struct Ingress {
    headers: (Place, Type),
    meta: (Place, Type),
    normal: Place,
    output: Place,
    recirculated: Place,
    path: Vec<Place>,
    /// Field that is 1 after a recirculation, if a packet may also be resubmitted.
    before: Option<FieldRef>,
}

/// Parser, control and deparser of an ingress or egress pipeline, each with its instance.
struct Parts<'a> {
    parser: (&'a Decl, Instance),
    control: (&'a Decl, Instance),
    deparser: (&'a Decl, Instance),
}

impl<'a> Generator<'a> {
    fn parts(&mut self, main: &'a Decl, parts: &[Option<Binding>], at: usize) -> Result<Parts<'a>> {
        let of = match parts.get(at) {
            Some(Some(Binding::Instance(instance))) => instance.args.clone(),
            _ => Vec::new(),
        };
        Ok(Parts {
            parser: self.package_part(main, of.first())?,
            control: self.package_part(main, of.get(1))?,
            deparser: self.package_part(main, of.get(2))?,
        })
    }

    pub(super) fn psa_switch(&mut self, main: &'a Decl, parts: &[Option<Binding>]) -> Result<()> {
        self.arrival();
        let (ingress, egress) = (self.parts(main, parts, 0)?, self.parts(main, parts, 2)?);
        if !self.runs_egress && !self.passes_on(&egress)? {
            self.needs_egress = true;
            return self.unsupported(egress.control.0.name.span, "this egress");
        }
        self.start_passes("PSA_Switch");
        let (parser, control, deparser) = (ingress.parser.0, ingress.control.0, ingress.deparser.0);
        let (headers_type, meta_type) = (self.param_type(parser, 1), self.param_type(parser, 2));
        let headers = self.headers("", &headers_type)?;
        let meta = self.zeroed("meta", &meta_type)?;
        let arrival = self.zeroed("arrival", &self.param_type(parser, 3))?;
        let resubmitted = self.zeroed("resubmitted", &self.param_type(parser, 4))?;
        let recirculated = self.zeroed("recirculated", &self.param_type(parser, 5))?;
        let input = self.zeroed("input", &self.param_type(control, 2))?;
        let output = self.zeroed("output", &self.param_type(control, 3))?;
        self.parser_error = input.member("parser_error");
        // The metadata for further rounds and the packet path keep their values between rounds.
        let path: Vec<Place> =
            [&arrival, &input].into_iter().filter_map(|one| one.member("packet_path")).collect();
        if self.passes.pass.is_some() {
            [&resubmitted, &recirculated].into_iter().chain(&path).for_each(|one| self.keep(one));
        }
        let further = [
            (&resubmitted, self.passes.resubmits, &parser.name),
            (&recirculated, self.passes.recirculates, &parser.name),
        ];
        for (place, _, name) in further.into_iter().filter(|one| one.1) {
            self.refuse_headers(place, name.span)?;
        }
        // A resubmitted packet keeps its port, so the port of an earlier recirculation stays.
        let both = self.passes.resubmits && self.passes.recirculates;
        let before = both.then(|| FieldRef::Meta(self.first_field("recirculated_before", 8)));
        let arrived = Words::one(Operand::Field(FieldRef::Meta(PORT.to_owned())), 16);
        for place in [&arrival, &input] {
            let Some(Place::Number(port)) = place.member("ingress_port") else { continue };
            let arrived = self.resized(&arrived, port.width(), false);
            self.put_number(&port, &arrived);
            if let (true, Some(Place::Number(path))) =
                (self.passes.recirculates, place.member("packet_path"))
            {
                let (path, end) = (self.load(&path), self.label("from_port"));
                let (value, recirculated) = match &before {
                    Some(before) => (Operand::Field(before.clone()), 1),
                    None => (path.low(), RECIRCULATED),
                };
                let recirculated = Operand::Immediate(recirculated);
                self.jump_compared(Relation::Ne, &value, &recirculated, &end);
                self.put_number(&port, &Words::known(&RECIRCULATE.into(), port.width()));
                self.mark(&end);
            }
        }
        let (Some(Place::Number(dropped)), Some(Place::Number(port))) =
            (output.member("drop"), output.member("egress_port"))
        else {
            return self.unsupported(main.span, "this output");
        };
        self.put_number(&dropped, &Words::known(&1.into(), 1));
        let reject = self.label("reject");
        self.in_parser = Some(reject.clone());
        let places = [
            None,
            Some(headers.clone()),
            Some(meta.clone()),
            Some(arrival),
            Some(resubmitted.clone()),
            Some(recirculated.clone()),
        ];
        self.receives = self.passes.resubmits;
        self.stage(parser, &ingress.parser.1, &places, true)?;
        (self.in_parser, self.receives) = (None, false);
        // A packet that the parser rejects continues, with its parser error.
        self.mark(&reject);
        let places = [Some(headers.clone()), Some(meta.clone()), Some(input), Some(output.clone())];
        self.stage(control, &ingress.control.1, &places, false)?;
        let drop = self.label("drop");
        let is_dropped = self.load(&dropped).low();
        self.jump_compared(Relation::Ne, &is_dropped, &Operand::Immediate(0), &drop);
        let clone = self.zeroed("clone", &self.param_type(deparser, 1))?;
        let normal = self.zeroed("normal", &self.param_type(deparser, 3))?;
        if self.passes.has_egress {
            self.refuse_headers(&normal, deparser.name.span)?;
        }
        let places = [
            None,
            Some(clone),
            Some(resubmitted),
            Some(normal.clone()),
            Some(headers.clone()),
            Some(meta.clone()),
            Some(output.clone()),
        ];
        let mut deparsed = None;
        if self.passes.resubmits {
            let deparse =
                self.aside(|this| this.stage(deparser, &ingress.deparser.1, &places, false))?;
            self.resubmit(&output, &deparse.1, &path, &drop)?;
            deparsed = Some(deparse.1);
        }
        if self.passes.has_egress {
            self.continue_in_egress(&drop);
        }
        match deparsed {
            Some(deparsed) => self.put_copy(&deparsed),
            None => self.stage(deparser, &ingress.deparser.1, &places, false)?,
        }
        let from = Ingress {
            headers: (headers, headers_type),
            meta: (meta, meta_type),
            normal,
            output,
            recirculated,
            path,
            before,
        };
        let port = match self.passes.has_egress {
            true => {
                self.return_to_start();
                self.mark(&drop);
                self.put(Op::Drop);
                return self.psa_egress(main, &egress, from);
            }
            false => self.load(&port).low(),
        };
        self.psa_output(main, &port, &from, &drop)
    }

    /// Emits code that resubmits the packet if the ingress output metadata request it.
    fn resubmit(
        &mut self,
        output: &Place,
        deparsed: &[Instruction],
        path: &[Place],
        drop: &str,
    ) -> Result<()> {
        let Some(Place::Number(resubmit)) = output.member("resubmit") else { return Ok(()) };
        let (goes_on, asks) = (self.label("normal"), self.load(&resubmit).low());
        self.jump_compared(Relation::Eq, &asks, &Operand::Immediate(0), &goes_on);
        // The deparser sets the metadata of the resubmission. Its headers are left out, because a
        // resubmitted packet has the bytes with which it arrived.
        self.put_copy_if(deparsed, |op| !matches!(op, Op::Emit { .. }));
        self.set_path(path, RESUBMIT);
        let span = self.here;
        self.again(drop, |this| this.put_back(span))?;
        self.mark(&goes_on);
        Ok(())
    }

    /// Emits code that stores the packet path, such as [`RESUBMIT`], that the program reads in the
    /// next round of the packet.
    fn set_path(&mut self, path: &[Place], reason: u64) {
        for place in path {
            if let Place::Number(number) = place {
                self.put_number(number, &Words::known(&reason.into(), number.width()));
            }
        }
    }

    /// Emits the egress pipeline; its label is the start of the egress pass.
    fn psa_egress(&mut self, main: &'a Decl, egress: &Parts<'a>, from: Ingress) -> Result<()> {
        let (parser, control, deparser) = (egress.parser.0, egress.control.0, egress.deparser.0);
        if let Some(label) = self.passes.egress.clone() {
            self.mark(&label);
        }
        (self.known, self.emitted) = Default::default();
        self.next.clear();
        // Values of the same types share the locations of the ingress.
        let ty = self.param_type(parser, 1);
        let headers = match ty == from.headers.1 {
            true => from.headers.0.clone(),
            false => self.headers("egress_", &ty)?,
        };
        for number in headers.numbers() {
            self.put_number(number, &Words::known(&0.into(), number.width()));
        }
        let ty = self.param_type(parser, 2);
        let meta = match ty == from.meta.1 {
            true => from.meta.0.clone(),
            false => self.new_place("egress_meta", &ty, Memory::Named)?,
        };
        let mut named = |name: &str, decl: &'a Decl, at: usize| {
            let ty = self.param_type(decl, at);
            let place = self.new_place(name, &ty, Memory::Named)?;
            self.clear(&place);
            Ok(place)
        };
        let arrival = named("egress_arrival", parser, 3)?;
        let clone_i2e = named("egress_i2e", parser, 5)?;
        let clone_e2e = named("egress_e2e", parser, 6)?;
        let input = named("egress_input", control, 2)?;
        let output = named("egress_output", control, 3)?;
        let clone = named("egress_clone", deparser, 1)?;
        let to = named("egress_to", deparser, 6)?;
        self.clear(&meta);
        self.parser_error = input.member("parser_error");
        for (name, places) in
            [("egress_port", &[&arrival, &input, &to][..]), ("class_of_service", &[&input])]
        {
            let Some(Place::Number(of)) = from.output.member(name) else { continue };
            for place in places {
                let Some(Place::Number(number)) = place.member(name) else { continue };
                let value = self.load(&of);
                self.put_number(&number, &value);
            }
        }
        let path: Vec<Place> =
            [&arrival, &input].into_iter().filter_map(|one| one.member("packet_path")).collect();
        self.set_path(&path, UNICAST);
        let reject = self.label("reject");
        self.in_parser = Some(reject.clone());
        let places = [
            None,
            Some(headers.clone()),
            Some(meta.clone()),
            Some(arrival),
            Some(from.normal.clone()),
            Some(clone_i2e),
            Some(clone_e2e),
        ];
        self.stage(parser, &egress.parser.1, &places, true)?;
        self.in_parser = None;
        self.mark(&reject);
        let places = [Some(headers.clone()), Some(meta.clone()), Some(input), Some(output.clone())];
        self.stage(control, &egress.control.1, &places, false)?;
        let drop = self.label("drop");
        if let Some(Place::Number(dropped)) = output.member("drop") {
            let dropped = self.load(&dropped).low();
            self.jump_compared(Relation::Ne, &dropped, &Operand::Immediate(0), &drop);
        }
        let Some(Place::Number(port)) = to.member("egress_port") else {
            return self.unsupported(main.span, "this output");
        };
        let places = [
            None,
            Some(clone),
            Some(from.recirculated.clone()),
            Some(headers),
            Some(meta),
            Some(output),
            Some(to),
        ];
        self.stage(deparser, &egress.deparser.1, &places, false)?;
        let port = self.load(&port).low();
        self.psa_output(main, &port, &from, &drop)
    }

    /// Emits code that sends the packet to its output port, or recirculates it.
    fn psa_output(
        &mut self,
        main: &'a Decl,
        port: &Operand,
        from: &Ingress,
        drop: &str,
    ) -> Result<()> {
        if self.passes.recirculates {
            let leaves = self.label("leaves");
            self.jump_compared(Relation::Ne, port, &Operand::Immediate(RECIRCULATE), &leaves);
            self.set_path(&from.path, RECIRCULATED);
            if let Some(before) = &from.before {
                self.copy(before.clone(), Operand::Immediate(1));
            }
            self.again(drop, |_| Ok(()))?;
            self.mark(&leaves);
        } else {
            self.exclude_recirculation(main, port, from)?;
        }
        self.put(Op::Transmit { port: port.clone() });
        self.mark(drop);
        self.put(Op::Drop);
        Ok(())
    }

    /// Returns an error if the program sends packets to the recirculation port by its number
    /// instead of its name, because the translation then emits no recirculation. If the program
    /// computes the port, adds a condition. The check ignores the order of instructions.
    fn exclude_recirculation(
        &mut self,
        main: &'a Decl,
        port: &Operand,
        from: &Ingress,
    ) -> Result<()> {
        let Operand::Field(port) = port else { return Ok(()) };
        let mut ports = vec![port.clone()];
        if let Some(Place::Number(number)) = from.output.member("egress_port") {
            ports.extend(number.pieces.iter().map(|piece| piece.field.clone()));
        }
        let actions = self.spec.actions.iter().flat_map(|one| &one.instructions);
        let code: Vec<&Op> = self.unit.code.iter().chain(actions).map(|one| &one.op).collect();
        let (mut fields, mut at, mut computed) = (ports.clone(), 0, false);
        while let Some(field) = fields.get(at).cloned() {
            at += 1;
            computed |= !matches!(field, FieldRef::Meta(_));
            for op in &code {
                match op {
                    Op::Move { to, from: Operand::Immediate(RECIRCULATE) } if *to == field => {
                        if !ports.contains(to) {
                            // A temporary field can have other values, too.
                            computed = true;
                            continue;
                        }
                        let what = "a recirculation that does not name PSA_PORT_RECIRCULATE";
                        return self.unsupported(main.span, what);
                    }
                    Op::Move { to, from: Operand::Field(from) }
                        if *to == field && !fields.contains(from) =>
                    {
                        fields.push(from.clone());
                    }
                    Op::Alu { to, .. }
                    | Op::ChecksumAdd { to, .. }
                    | Op::ChecksumSub { to, .. }
                    | Op::Meter { to, .. }
                    | Op::RegisterRead { to, .. } => computed |= *to == field,
                    Op::Hash { to, .. } | Op::EntryId { to } => {
                        computed |= field == FieldRef::Meta(to.clone());
                    }
                    _ => {}
                }
            }
        }
        if computed {
            let what = "no packet is sent to PSA_PORT_RECIRCULATE (0xfffffffa)";
            self.conditions.insert(what.to_owned());
        }
        Ok(())
    }

    /// Returns true if an egress pipeline passes packets on unchanged: its deparser emits the
    /// headers that its parser extracts.
    fn passes_on(&mut self, egress: &Parts<'a>) -> Result<bool> {
        let (parser, deparser) = (egress.parser.0, egress.deparser.0);
        match &*egress.control.0.kind {
            DeclKind::Control(control) if control.body.statements.is_empty() => {}
            _ => return Ok(false),
        }
        // The parts are emitted for the check only.
        let (headers, structs) = (self.spec.headers.len(), self.spec.structs.len());
        let (kinds, unit) =
            (self.header_kinds.clone(), std::mem::replace(&mut self.unit, Unit::new("t")));
        let reject = self.label("reject");
        self.in_parser = Some(reject.clone());
        let mut places = vec![None];
        for at in 1..7 {
            places.push(Some(self.zeroed("egress", &self.param_type(parser, at))?));
        }
        self.stage(parser, &egress.parser.1, &places, true)?;
        self.in_parser = None;
        self.mark(&reject);
        let parsed = std::mem::replace(&mut self.unit, Unit::new("t"));
        let mut others = vec![None];
        for at in 1..7 {
            others.push(match at {
                3 => places[1].clone(),
                at => Some(self.zeroed("egress", &self.param_type(deparser, at))?),
            });
        }
        self.stage(deparser, &egress.deparser.1, &others, false)?;
        let emitted = std::mem::replace(&mut self.unit, unit);
        let mut names = Vec::new();
        let emits_only = emitted.code.iter().all(|one| match &one.op {
            Op::Emit { header } => {
                names.push(header.clone());
                true
            }
            _ => false,
        });
        let first = parsed.code.iter().position(|one| matches!(one.op, Op::Extract { .. }));
        let parses_only = parsed.code.iter().enumerate().all(|(at, one)| match &one.op {
            Op::Extract { .. } | Op::Jump { .. } => true,
            Op::Invalidate { .. } => first.is_none_or(|first| at < first),
            Op::Move { to, .. } | Op::Alu { to, .. } => matches!(to, FieldRef::Meta(_)),
            _ => false,
        });
        self.spec.headers.truncate(headers);
        self.spec.structs.truncate(structs);
        self.header_kinds = kinds;
        (self.emitted, self.known, self.exposed) = Default::default();
        Ok(emits_only && parses_only && pipeline::in_order(&parsed, &names))
    }
}
