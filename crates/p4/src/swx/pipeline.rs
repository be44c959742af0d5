//! Translates the packages of the architectures: v1model's `V1Switch`, `ebpfFilter` and `xdp`. The
//! module [`psa`] translates `PSA_Switch`.
//!
//! [`psa`]: super::psa

use super::number::Words;
use super::place::{Memory, Place};
use super::*;

/// Output port with which v1model drops a packet.
pub(super) const DROP_PORT: u32 = 511;
/// Metadata field that an action sets to 1 when it executes `exit`. The control then ends after the
/// table.
pub(super) const EXITED: &str = "exited";

/// Condition that results state for programs that decide whether a packet passes, but not through
/// which port.
const SAME_PORT: &str = "a packet that passes leaves through the port that it came from";

/// `RECIRCULATED` and `RESUBMITTED`: values of v1model's `instance_type`.
const RECIRCULATED: u64 = 4;
const RESUBMITTED: u64 = 6;

/// Returns the reason why SWX cannot supply a field of an architecture's metadata; `None` if it
/// can.
pub(super) fn unknown(metadata: &str, field: &str) -> Option<&'static str> {
    let of_architecture = metadata == "standard_metadata_t" || metadata.starts_with("psa_");
    match field {
        _ if !of_architecture || is_of_queue(field) => None,
        "packet_length" => Some("which SWX does not tell"),
        _ if field.ends_with("timestamp") => Some("because SWX has no clock"),
        _ => None,
    }
}

/// Returns true for the times and depths of queues in v1model's metadata.
pub(super) fn is_of_queue(field: &str) -> bool {
    field.starts_with("enq_") || field.starts_with("deq_")
}

impl<'a> Generator<'a> {
    /// Emits the pipeline for the package `main`.
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

    pub(super) fn package_part(
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

    /// Returns the type of the parameter at index `at` of a parser or control.
    pub(super) fn param_type(&self, decl: &Decl, at: usize) -> Type {
        let signature = self.checked.signatures.get(&decl.id);
        signature
            .and_then(|one| one.params.get(at))
            .map_or(Type::Unknown, |param| self.resolved(&param.ty))
    }

    /// Emits a parser or control of the package, with its parameters at `places`; `None` stands for
    /// the packet.
    pub(super) fn stage(
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

    /// Creates a location in the metadata, whose numbers are 0 when a packet arrives.
    pub(super) fn zeroed(&mut self, name: &str, ty: &Type) -> Result<Place> {
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

    /// Creates the locations of the headers in a struct. A header is called `prefix` followed by
    /// the name of its field.
    pub(super) fn headers(&mut self, prefix: &str, ty: &Type) -> Result<Place> {
        let mut members = Vec::new();
        for (name, of) in self.members(ty) {
            let place = self.zeroed(&format!("{prefix}{name}"), &of)?;
            members.push((name, place));
        }
        let path = format!("{prefix}headers");
        Ok(Place::Parts(Rc::new(place::Parts { path, members })))
    }

    /// Emits the parser of a filter. Returns the location of its headers, and the label that
    /// `reject` jumps to.
    fn parse_only(&mut self, main: &'a Decl, parts: &[Option<Binding>]) -> Result<(Place, String)> {
        let (parser, instance) = self.package_part(main, parts.first())?;
        let headers = self.headers("", &self.param_type(parser, 1))?;
        let reject = self.label("reject");
        self.in_parser = Some(reject.clone());
        self.stage(parser, &instance, &[None, Some(headers.clone())], true)?;
        self.in_parser = None;
        self.conditions.insert(SAME_PORT.to_owned());
        Ok((headers, reject))
    }

    pub(super) fn arrival(&mut self) {
        self.names.insert(PORT.to_owned());
        self.fields.push((PORT.to_owned(), 16));
    }

    /// Emits the end of the pipeline for a program without output port: the packet leaves through
    /// its input port. `drop` is the label for dropped packets.
    fn send_back(&mut self, drop: &str) {
        self.put(Op::Transmit { port: Operand::Field(FieldRef::Meta(PORT.to_owned())) });
        self.mark(drop);
        self.put(Op::Drop);
    }

    fn ebpf_filter(&mut self, main: &'a Decl, parts: &[Option<Binding>]) -> Result<()> {
        self.arrival();
        self.puts_back = true;
        let (headers, drop) = self.parse_only(main, parts)?;
        let accept = self.zeroed("accept", &Type::Bool)?;
        let (filter, instance) = self.package_part(main, parts.get(1))?;
        let seen = match self.copies_headers {
            true => {
                let copies = self.headers("", &self.param_type(filter, 0))?;
                self.copy_place(&copies, &headers, main.span)?;
                copies
            }
            false => headers.clone(),
        };
        self.stage(filter, &instance, &[Some(seen), Some(accept.clone())], false)?;
        let accepted = self.read_place(&accept, main.span)?;
        self.jump_compared(Relation::Eq, &accepted.low(), &Operand::Immediate(0), &drop);
        // The extracted bytes leave unchanged.
        self.put_back(main.span)?;
        self.send_back(&drop);
        Ok(())
    }

    /// Emits the headers that the parser extracted, unchanged. Returns an error if the program
    /// changes one of them.
    pub(super) fn put_back(&mut self, span: Span) -> Result<()> {
        let names = extraction_order(&self.unit);
        let actions = self.spec.actions.iter().flat_map(|one| &one.instructions);
        let is_extracted = |header: &String| names.iter().flatten().any(|name| name == header);
        let changes = self.unit.code.iter().chain(actions).any(|one| match &one.op {
            Op::Move { to: FieldRef::Header { header, .. }, .. }
            | Op::Alu { to: FieldRef::Header { header, .. }, .. }
            | Op::Validate { header }
            | Op::Invalidate { header } => is_extracted(header),
            _ => false,
        });
        self.changes_headers = changes;
        let (Some(names), false) = (names, changes) else {
            return self.unsupported(
                span,
                "a packet that leaves as it came, after a parser that changes headers, or extracts \
                 one twice,",
            );
        };
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
        self.start_passes("V1Switch");
        let headers = self.headers("", &headers_type)?;
        let meta = self.zeroed("meta", &meta_type)?;
        let standard = self.zeroed("standard", &standard_type)?;
        self.standard = Some(standard.clone());
        self.parser_error = standard.member("parser_error");
        let instance_type = standard.member("instance_type");
        if self.passes.pass.is_some() {
            self.keep_listed(&meta, &meta_type, &[])?;
            self.keep_listed(&standard, &standard_type, &[])?;
            instance_type.iter().for_each(|place| self.keep(place));
        }
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
        self.receives = self.passes.resubmits;
        self.stage(parser, &parser_instance, &all, true)?;
        (self.in_parser, self.receives) = (None, false);
        // A packet that the parser rejects continues, with its parser error.
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
                let again = (instance_type.clone(), RESUBMITTED);
                let put_back = |this: &mut Self| this.put_back(main.span);
                self.next_rounds(true, again, &drop, put_back)?;
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
        self.next_rounds(false, (instance_type, RECIRCULATED), &drop, |_| Ok(()))?;
        let port = self.load(&port).low();
        self.put(Op::Transmit { port });
        self.mark(&drop);
        self.put(Op::Drop);
        Ok(())
    }
}

/// Returns true if every path through the instructions extracts headers in the order of `names`,
/// where it may skip some.
pub(super) fn in_order(unit: &Unit, names: &[String]) -> bool {
    let place = |header: &String| names.iter().position(|name| name == header);
    extractions(unit).iter().all(|(first, later)| {
        place(first).is_some_and(|first| {
            later.iter().all(|header| place(header).is_some_and(|at| at > first))
        })
    })
}

/// Returns an order of the extracted headers that every path through the instructions keeps; `None`
/// if no such order exists.
fn extraction_order(unit: &Unit) -> Option<Vec<String>> {
    let mut left = extractions(unit);
    let mut order = Vec::new();
    while !left.is_empty() {
        let follows = |header: &String| left.values().any(|later| later.contains(header));
        let next = left.keys().find(|header| !follows(header))?.clone();
        left.remove(&next);
        order.push(next);
    }
    Some(order)
}

/// Returns, for each extracted header, the headers that some path extracts after it.
fn extractions(unit: &Unit) -> BTreeMap<String, BTreeSet<String>> {
    let code = &unit.code;
    let labels: HashMap<&String, usize> =
        code.iter().enumerate().filter_map(|(at, one)| Some((one.label.as_ref()?, at))).collect();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (at, one) in code.iter().enumerate() {
        let Op::Extract { header: first, .. } = &one.op else { continue };
        let later = found.entry(first.clone()).or_default();
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![at + 1]);
        while let Some(at) = waiting.pop() {
            let Some(one) = code.get(at).filter(|_| seen.insert(at)) else { continue };
            match &one.op {
                Op::Extract { header, .. } => {
                    later.insert(header.clone());
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
    found
}
