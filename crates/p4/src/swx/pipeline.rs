//! The packages of architectures: v1model's `V1Switch`, `PSA_Switch` up to its egress, `ebpfFilter`,
//! and `xdp`.

use super::number::Words;
use super::place::{Memory, Place};
use super::*;

/// Port of v1model that drops a packet.
pub(super) const DROP_PORT: u32 = 511;
/// Metadata field that an action sets to end its control.
pub(super) const EXITED: &str = "exited";

/// Condition of programs that say what passes, but not to which port.
const SAME_PORT: &str = "a packet that passes leaves through the port that it came from";

/// Port of PSA that sends a packet to its start.
const RECIRCULATE: u64 = 0xffff_fffa;

/// Returns the reason why SWX does not know a field of an architecture's metadata.
pub(super) fn unknown(metadata: &str, field: &str) -> Option<&'static str> {
    let of_architecture = metadata == "standard_metadata_t" || metadata.starts_with("psa_");
    match field {
        _ if !of_architecture => None,
        "packet_length" => Some("which SWX does not tell"),
        _ if field.ends_with("timestamp") => Some("because SWX has no clock"),
        _ if field.starts_with("enq_") || field.starts_with("deq_") => {
            Some("because SWX has no queues")
        }
        _ => None,
    }
}

impl<'a> Generator<'a> {
    /// Emits the program of the package `main`.
    pub(super) fn program(&mut self, program: &'a Program) -> Result<()> {
        let main = program.declarations.iter().rev().find(|decl| &*decl.name.text == "main");
        let Some(main) = main else {
            let span = program.declarations.last().map(|decl| decl.span).unwrap_or_default();
            return Err(P4Error::new(
                slowpath_codes::P4_UNSUPPORTED,
                span,
                "the program has no package 'main', so it does not run on a device",
            ));
        };
        (self.here, self.main) = (main.span, main.span.file);
        let DeclKind::Instance { args, .. } = &*main.kind else {
            return self.unsupported(main.span, "this main");
        };
        let Type::Package(package) = self.declared(main.id) else {
            return self.unsupported(main.span, "this main");
        };
        // Instances outside of controls, which the package and controls may name.
        for decl in &program.declarations {
            if let DeclKind::Instance { args, .. } = &*decl.kind
                && decl.id != main.id
            {
                self.paths.insert(decl.id, decl.name.text.to_string());
                self.instance(decl, args)?;
            }
        }
        self.instance(main, args)?;
        let parts = match self.bindings.get(&main.id) {
            Some(Binding::Instance(instance)) => instance.args.clone(),
            _ => Vec::new(),
        };
        match &*package.name {
            "V1Switch" => self.v1_switch(main, &parts),
            "ebpfFilter" => self.ebpf_filter(main, &parts),
            "xdp" => self.xdp(main, &parts),
            "PSA_Switch" => self.psa_switch(main, &parts),
            other => self.unsupported(main.span, format!("architecture '{other}'")),
        }
    }

    fn package_part(
        &mut self,
        main: &Decl,
        part: Option<&Option<Binding>>,
    ) -> Result<(&'a Decl, Instance)> {
        let Some(Some(Binding::Instance(instance))) = part else {
            return self.unsupported(main.span, "a package without one of its parts");
        };
        let id = match &instance.ty {
            Type::Parser(named) | Type::Control(named) => named.id,
            other => {
                return self.unsupported(main.span, format!("{other} as a part of the package"));
            }
        };
        match self.nodes.get(&id).copied() {
            Some(decl) => Ok((decl, instance.clone())),
            None => self.unsupported(main.span, "this part of the package"),
        }
    }

    /// Returns the type of a parameter of a parser or control.
    fn param_type(&self, decl: &Decl, at: usize) -> Type {
        let signature = self.checked.signatures.get(&decl.id);
        signature
            .and_then(|one| one.params.get(at))
            .map_or(Type::Unknown, |param| self.resolved(&param.ty))
    }

    /// Emits a part of the pipeline with parameters at places; `None` is the packet.
    fn stage(
        &mut self,
        decl: &'a Decl,
        instance: &Instance,
        places: &[Option<Place>],
        is_parser: bool,
    ) -> Result<()> {
        let signature = match &*decl.kind {
            DeclKind::Parser(parser) => &parser.signature,
            DeclKind::Control(control) => &control.signature,
            _ => return self.unsupported(decl.span, format!("'{}'", decl.name.text)),
        };
        for (param, place) in signature.params.iter().zip(places) {
            let binding = match place {
                Some(place) => Binding::Place(place.clone()),
                None if is_parser => Binding::PacketIn,
                None => Binding::PacketOut,
            };
            self.bindings.insert(param.id, binding);
        }
        let label = self.label("exit");
        self.exit = Some(label.clone());
        let known = self.known.clone();
        self.scoped(|this| this.run_bound(decl, instance))?;
        if !is_parser {
            self.known = known;
        }
        self.mark(&label);
        if self.names.contains(EXITED) {
            self.copy(FieldRef::Meta(EXITED.to_owned()), Operand::Immediate(0));
        }
        Ok(())
    }

    /// Makes places for values that are 0 when a packet arrives.
    fn zeroed(&mut self, name: &str, ty: &Type) -> Result<Place> {
        let place = self.new_place(name, ty, Memory::Named)?;
        for number in place.numbers() {
            for piece in &number.pieces {
                if let FieldRef::Meta(name) = &piece.field {
                    self.cleared.insert(name.clone());
                }
            }
        }
        Ok(place)
    }

    /// Makes the places of the headers, which have the names of their fields.
    fn headers(&mut self, ty: &Type) -> Result<Place> {
        let mut members = Vec::new();
        for (name, of) in self.members(ty) {
            let place = self.zeroed(&name, &of)?;
            members.push((name, place));
        }
        Ok(Place::Parts(Rc::new(place::Parts { path: "headers".into(), members })))
    }

    /// Emits the parser with its headers, and returns their place and the label of `reject`.
    fn parse_only(&mut self, main: &'a Decl, parts: &[Option<Binding>]) -> Result<(Place, String)> {
        let (parser, instance) = self.package_part(main, parts.first())?;
        let headers = self.headers(&self.param_type(parser, 1))?;
        let reject = self.label("reject");
        self.in_parser = Some(reject.clone());
        self.stage(parser, &instance, &[None, Some(headers.clone())], true)?;
        self.in_parser = None;
        self.conditions.insert(SAME_PORT.to_owned());
        Ok((headers, reject))
    }

    fn arrival(&mut self) {
        self.names.insert(PORT.to_owned());
        self.fields.push((PORT.to_owned(), 16));
    }

    /// Emits the end of a packet without a port of its own.
    fn send_back(&mut self, drop: &str) {
        self.put(Op::Transmit { port: Operand::Field(FieldRef::Meta(PORT.to_owned())) });
        self.mark(drop);
        self.put(Op::Drop);
    }

    fn ebpf_filter(&mut self, main: &'a Decl, parts: &[Option<Binding>]) -> Result<()> {
        self.arrival();
        let (headers, drop) = self.parse_only(main, parts)?;
        let accept = self.zeroed("accept", &Type::Bool)?;
        let (filter, instance) = self.package_part(main, parts.get(1))?;
        let seen = match self.copies_headers {
            true => {
                let copies = self.headers(&self.param_type(filter, 0))?;
                self.copy_place(&copies, &headers, main.span)?;
                copies
            }
            false => headers.clone(),
        };
        self.stage(filter, &instance, &[Some(seen), Some(accept.clone())], false)?;
        let accepted = self.read_place(&accept, main.span)?;
        self.jump_compared(Relation::Eq, &accepted.low(), &Operand::Immediate(0), &drop);
        // The bytes that the parser took leave as they came.
        self.put_back(&headers, main.span)?;
        self.send_back(&drop);
        Ok(())
    }

    /// Emits the headers of a packet that a program does not change.
    fn put_back(&mut self, headers: &Place, span: Span) -> Result<()> {
        let of = headers.headers();
        let with_bytes = of.iter().filter(|one| !one.is_empty);
        let names: Vec<String> = with_bytes.map(|one| one.name.clone()).collect();
        let actions = self.spec.actions.iter().flat_map(|one| &one.instructions);
        let changes = self.unit.code.iter().chain(actions).any(|one| match &one.op {
            Op::Move { to: FieldRef::Header { header, .. }, .. }
            | Op::Alu { to: FieldRef::Header { header, .. }, .. }
            | Op::Validate { header }
            | Op::Invalidate { header } => names.contains(header),
            _ => false,
        });
        self.changes_headers = changes;
        if changes || !in_order(&self.unit, &names) {
            return self
                .unsupported(span, "a filter that skips bytes, or has headers in another order,");
        }
        names.into_iter().for_each(|header| self.put(Op::Emit { header }));
        Ok(())
    }

    fn xdp(&mut self, main: &'a Decl, parts: &[Option<Binding>]) -> Result<()> {
        self.arrival();
        let (headers, drop) = self.parse_only(main, parts)?;
        let (switch, instance) = self.package_part(main, parts.get(1))?;
        let input = self.zeroed("input", &self.param_type(switch, 1))?;
        let output = self.zeroed("output", &self.param_type(switch, 2))?;
        if let Some(Place::Number(port)) = input.member("input_port") {
            let arrived = Words::one(Operand::Field(FieldRef::Meta(PORT.to_owned())), 16);
            let arrived = self.resized(&arrived, port.width(), false);
            self.put_number(&port, &arrived);
        }
        let places = [Some(headers.clone()), Some(input), Some(output.clone())];
        self.stage(switch, &instance, &places, false)?;
        let (deparser, instance) = self.package_part(main, parts.get(2))?;
        self.stage(deparser, &instance, &[Some(headers), None], false)?;
        let (Some(Place::Number(action)), Some(Place::Number(port))) =
            (output.member("output_action"), output.member("output_port"))
        else {
            return self.unsupported(main.span, "this output");
        };
        let (action, port) = (self.load(&action).low(), self.load(&port).low());
        let Operand::Field(port) = port else {
            return self.unsupported(main.span, "this output");
        };
        // XDP_ABORTED and XDP_DROP, then XDP_REDIRECT; XDP_PASS and XDP_TX go back.
        self.jump_compared(Relation::Lt, &action, &Operand::Immediate(2), &drop);
        let back = self.label("back");
        self.jump_compared(Relation::Ne, &action, &Operand::Immediate(4), &back);
        self.put(Op::Transmit { port: Operand::Field(port) });
        self.mark(&back);
        self.send_back(&drop);
        Ok(())
    }

    fn v1_switch(&mut self, main: &'a Decl, parts: &[Option<Binding>]) -> Result<()> {
        self.arrival();
        let (parser, parser_instance) = self.package_part(main, parts.first())?;
        let (headers_type, meta_type, standard_type) =
            (self.param_type(parser, 1), self.param_type(parser, 2), self.param_type(parser, 3));
        let headers = self.headers(&headers_type)?;
        let meta = self.zeroed("meta", &meta_type)?;
        let standard = self.zeroed("standard", &standard_type)?;
        self.standard = Some(standard.clone());
        self.parser_error = standard.member("parser_error");
        let number = |name: &str| match standard.member(name) {
            Some(Place::Number(number)) => number,
            _ => number::Number { pieces: Vec::new(), header: None },
        };
        let arrived = Words::one(Operand::Field(FieldRef::Meta(PORT.to_owned())), 16);
        let arrived = self.slice(&arrived, 0, 9);
        self.put_number(&number("ingress_port"), &arrived);
        let all = [None, Some(headers.clone()), Some(meta.clone()), Some(standard.clone())];
        let reject = self.label("reject");
        self.in_parser = Some(reject.clone());
        self.stage(parser, &parser_instance, &all, true)?;
        self.in_parser = None;
        // Packets that a parser rejects go on, with their error.
        self.mark(&reject);
        let (spec, port) = (number("egress_spec"), number("egress_port"));
        let drop = self.label("drop");
        for at in 1..=4 {
            let (control, instance) = self.package_part(main, parts.get(at))?;
            let places = match at {
                1 | 4 => &all[1..3],
                _ => &all[1..],
            };
            let dropped = Words::known(&DROP_PORT.into(), 9);
            if at == 3 {
                let chosen = self.load(&spec);
                self.jump_equal(&chosen, &dropped, true, &drop);
                self.put_number(&port, &chosen);
                self.put_number(&spec, &Words::known(&0.into(), 9));
            }
            self.stage(control, &instance, places, false)?;
            if at == 3 {
                let chosen = self.load(&spec);
                self.jump_equal(&chosen, &dropped, true, &drop);
            }
        }
        let (deparser, instance) = self.package_part(main, parts.get(5))?;
        self.stage(deparser, &instance, &all[..2], false)?;
        let port = self.load(&port).low();
        self.put(Op::Transmit { port });
        self.mark(&drop);
        self.put(Op::Drop);
        Ok(())
    }

    /// Checks that an egress passes packets on as they are: it emits what it parses.
    fn check_egress(&mut self, main: &'a Decl, egress: &[Option<Binding>]) -> Result<()> {
        let (parser, parser_instance) = self.package_part(main, egress.first())?;
        let (control, _) = self.package_part(main, egress.get(1))?;
        let (deparser, deparser_instance) = self.package_part(main, egress.get(2))?;
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
        self.stage(parser, &parser_instance, &places, true)?;
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
        self.stage(deparser, &deparser_instance, &others, false)?;
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
        let is_empty = match &*control.kind {
            DeclKind::Control(control) => control.body.statements.is_empty(),
            _ => false,
        };
        self.spec.headers.truncate(headers);
        self.spec.structs.truncate(structs);
        self.header_kinds = kinds;
        (self.emitted, self.known, self.exposed) = Default::default();
        match is_empty && emits_only && parses_only && in_order(&parsed, &names) {
            true => Ok(()),
            false => {
                self.unsupported(control.name.span, "an egress that does more than pass packets on")
            }
        }
    }

    fn psa_switch(&mut self, main: &'a Decl, parts: &[Option<Binding>]) -> Result<()> {
        self.arrival();
        let part = |at: usize| match parts.get(at) {
            Some(Some(Binding::Instance(instance))) => instance.args.clone(),
            _ => Vec::new(),
        };
        let (ingress, egress) = (part(0), part(2));
        let (parser, parser_instance) = self.package_part(main, ingress.first())?;
        let (control, control_instance) = self.package_part(main, ingress.get(1))?;
        let (deparser, deparser_instance) = self.package_part(main, ingress.get(2))?;
        self.check_egress(main, &egress)?;
        let headers = self.headers(&self.param_type(parser, 1))?;
        let meta = self.zeroed("meta", &self.param_type(parser, 2))?;
        let arrival = self.zeroed("arrival", &self.param_type(parser, 3))?;
        let resubmitted = self.zeroed("resubmitted", &self.param_type(parser, 4))?;
        let recirculated = self.zeroed("recirculated", &self.param_type(parser, 5))?;
        let input = self.zeroed("input", &self.param_type(control, 2))?;
        let output = self.zeroed("output", &self.param_type(control, 3))?;
        self.parser_error = input.member("parser_error");
        let arrived = Words::one(Operand::Field(FieldRef::Meta(PORT.to_owned())), 16);
        for place in [&arrival, &input] {
            if let Some(Place::Number(port)) = place.member("ingress_port") {
                let arrived = self.resized(&arrived, port.width(), false);
                self.put_number(&port, &arrived);
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
            Some(resubmitted),
            Some(recirculated),
        ];
        self.stage(parser, &parser_instance, &places, true)?;
        self.in_parser = None;
        // Packets that a parser rejects go on, with their error.
        self.mark(&reject);
        let places = [Some(headers.clone()), Some(meta.clone()), Some(input), Some(output.clone())];
        self.stage(control, &control_instance, &places, false)?;
        let drop = self.label("drop");
        let is_dropped = self.load(&dropped).low();
        self.jump_compared(Relation::Ne, &is_dropped, &Operand::Immediate(0), &drop);
        let mut places = vec![None];
        for at in 1..4 {
            let ty = self.param_type(deparser, at);
            places.push(Some(self.zeroed("unused", &ty)?));
        }
        places.extend([Some(headers), Some(meta), Some(output)]);
        self.stage(deparser, &deparser_instance, &places, false)?;
        let port = self.load(&port).low();
        let actions = self.spec.actions.iter().flat_map(|one| &one.instructions);
        let recirculates = self.unit.code.iter().chain(actions).any(|one| {
            matches!(&one.op, Op::Move { to, from: Operand::Immediate(RECIRCULATE) }
                if Operand::Field(to.clone()) == port)
        });
        if recirculates {
            return self.unsupported(main.span, "a packet that is recirculated");
        }
        self.put(Op::Transmit { port });
        self.mark(&drop);
        self.put(Op::Drop);
        Ok(())
    }
}

/// Returns true if each way through the instructions extracts headers in the order of their names.
fn in_order(unit: &Unit, names: &[String]) -> bool {
    let code = &unit.code;
    let place = |header: &String| names.iter().position(|name| name == header);
    let labels: HashMap<&String, usize> =
        code.iter().enumerate().filter_map(|(at, one)| Some((one.label.as_ref()?, at))).collect();
    let extracts = code.iter().enumerate().filter_map(|(at, one)| match &one.op {
        Op::Extract { header, .. } => Some((at, header)),
        _ => None,
    });
    for (at, first) in extracts {
        let Some(first) = place(first) else { return false };
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![at + 1]);
        while let Some(at) = waiting.pop() {
            let Some(one) = code.get(at).filter(|_| seen.insert(at)) else { continue };
            match &one.op {
                Op::Extract { header, .. } if place(header).is_none_or(|at| at <= first) => {
                    return false;
                }
                Op::Jump { condition, target } => {
                    waiting.extend(labels.get(unit.alias.get(target).unwrap_or(target)));
                    if *condition == Condition::Always {
                        continue;
                    }
                }
                _ => {}
            }
            waiting.push(at + 1);
        }
    }
    true
}
