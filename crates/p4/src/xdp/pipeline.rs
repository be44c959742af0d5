//! Translates the packages of the architectures: v1model's `V1Switch`, `ebpfFilter` and `xdp`. The
//! module `psa` translates `PSA_Switch`.

use super::*;

/// Output port with which v1model drops a packet.
pub(super) const DROP_PORT: u32 = 511;

/// `RECIRCULATED` and `RESUBMITTED`: values of v1model's `instance_type` in further rounds, as in
/// BMv2.
const RECIRCULATED: u32 = 4;
const RESUBMITTED: u32 = 6;

/// Returns the constructor arguments of a package inside another package, such as PSA's ingress
/// pipeline; `None` for an argument that is not an instance.
pub(super) fn parts_of(package: &Instance) -> Vec<Option<Instance>> {
    let instance = |binding: &Option<Binding>| match binding {
        Some(Binding::Instance(instance)) => Some(instance.clone()),
        _ => None,
    };
    package.args.iter().map(instance).collect()
}

impl<'a> Generator<'a> {
    /// Emits the C function for the package `main`.
    pub(super) fn program(&mut self, program: &'a Program) -> Result<()> {
        let main = program.declarations.iter().rev().find(|decl| &*decl.name.text == "main");
        let Some(main) = main else {
            // The end of the program's own file, where the package belongs.
            let own = program.declarations.iter().rev().find(|decl| decl.span.file == 0);
            let start = Span { line: 1, column: 1, ..Span::default() };
            return Err(P4Error::new(
                slowpath_codes::P4_UNSUPPORTED,
                own.map_or(start, |decl| decl.span),
                "the program has no package 'main', so it does not run on a device; add one at \
                 the end, such as V1Switch(...) main;",
            ));
        };
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
        let signature = self.checked.signatures.get(&package.id).cloned();
        let names: Vec<Rc<str>> = signature
            .iter()
            .flat_map(|one| one.params.iter().map(|param| param.name.clone()))
            .collect();
        let mut parts: Vec<Option<Instance>> = vec![None; names.len()];
        for (at, arg) in args.iter().enumerate() {
            let to = arg
                .name
                .as_ref()
                .and_then(|name| names.iter().position(|one| *one == name.text))
                .unwrap_or(at);
            if let Some(Binding::Instance(instance)) = self.object_of(&arg.value)
                && let Some(slot) = parts.get_mut(to)
            {
                *slot = Some(instance);
            }
        }
        self.main = (main.span.file, main.span.line);
        self.at(main.span);
        self.start();
        let rounds = self.number_of_rounds(&package.name);
        for round in 0..rounds {
            self.start_round(round, rounds)?;
            self.package(&package.name, main, &parts)?;
        }
        Ok(())
    }

    /// Emits the parsers and controls of a package, for one round of a packet.
    fn package(&mut self, name: &str, main: &'a Decl, parts: &[Option<Instance>]) -> Result<()> {
        match name {
            "V1Switch" => self.v1_switch(main, parts),
            "PSA_Switch" => self.psa_switch(main, parts),
            "ebpfFilter" => self.ebpf_filter(main, parts),
            "xdp" => self.xdp(main, parts),
            other => self.unsupported(main.span, format!("architecture '{other}'")),
        }
    }

    /// Declares the variables for the packet's limits, and the storage of headers and metadata.
    fn start(&mut self) {
        for local in [
            "u8 *data;",
            "u8 *end;",
            "u8 *pos;",
            "u32 parsed;",
            "u32 length;",
            "u32 packet_length;",
            "u32 parser_error;",
            "struct state *s;",
        ] {
            self.locals.push(local.into());
        }
        if self.options.scratch {
            self.locals.push("u32 scratch_at;".into());
            self.put("scratch_at = 0;");
            self.put("s = bpf_map_lookup_elem(&scratch, &scratch_at);");
            self.put("if (!s) return XDP_ABORTED;");
        } else {
            self.locals.push("struct state state;".into());
            self.put("s = &state;");
        }
        if self.options.scratch {
            self.state.push("    volatile u32 length_;\n".into());
        }
        self.parser_error = Some("parser_error".into());
    }

    /// Emits the start of a round: sets the limits of the packet, and resets headers and metadata
    /// to zero.
    fn start_round(&mut self, round: u32, rounds: u32) -> Result<()> {
        if rounds > 1 {
            self.label_round(round, round + 1 == rounds);
        }
        self.next.clear();
        self.checksums.clear();
        self.colours.clear();
        self.put("__builtin_memset(s, 0, sizeof(*s));");
        self.put("data = (u8 *)(u64)ctx->data;");
        self.put("end = (u8 *)(u64)ctx->data_end;");
        self.put("packet_length = ctx->data_end - ctx->data;");
        self.put("pos = data;");
        self.put("parsed = 0;");
        self.put("length = 0;");
        self.put("parser_error = 0;");
        Ok(())
    }

    /// Adds a field to `struct state`, and returns its lvalue.
    pub(super) fn state_place(&mut self, name: &str, ty: &Type) -> Result<String> {
        let c = self.c_type(ty)?;
        let field = format!("    {c} {name};\n");
        if !self.state.contains(&field) {
            self.state.push(field);
        }
        Ok(format!("s->{name}"))
    }

    pub(super) fn package_part(
        &mut self,
        main: &Decl,
        part: Option<&Option<Instance>>,
    ) -> Result<(&'a Decl, Instance)> {
        let Some(Some(instance)) = part else {
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

    /// Emits a parser or control of the package, with the lvalues of its parameters in `places`;
    /// `None` stands for the packet.
    pub(super) fn stage(
        &mut self,
        decl: &'a Decl,
        instance: &Instance,
        places: &[Option<&str>],
        is_parser: bool,
    ) -> Result<()> {
        let signature = match &*decl.kind {
            DeclKind::Parser(parser) => &parser.signature,
            DeclKind::Control(control) => &control.signature,
            _ => return self.unsupported(decl.span, format!("'{}'", decl.name.text)),
        };
        for (param, place) in signature.params.iter().zip(places) {
            let binding = match place {
                Some(place) => Binding::Place((*place).to_owned()),
                None if is_parser => Binding::PacketIn,
                None => Binding::PacketOut,
            };
            self.bindings.insert(param.id, binding);
        }
        let label = self.fresh("exit");
        self.exit_label = Some(label.clone());
        self.run_bound(decl, instance)?;
        if self.options.scratch {
            // Otherwise, the compiler would keep all fields in registers and spill them to the
            // stack.
            self.put("__asm__ volatile(\"\" ::: \"memory\");");
        }
        self.put(format!("{label}:;"));
        Ok(())
    }

    /// Emits code that writes the deparser's headers to the packet. It first grows or shrinks the
    /// packet by the difference to the parsed headers.
    pub(super) fn deparse(&mut self) -> Result<()> {
        if self.options.scratch {
            self.put("length = s->length_;");
        }
        self.put("if (length != parsed) {");
        self.put("if (bpf_xdp_adjust_head(ctx, (int)parsed - (int)length)) return XDP_ABORTED;");
        self.put("}");
        self.put("end = (u8 *)(u64)ctx->data_end;");
        self.put("data = (u8 *)(u64)ctx->data;");
        self.put("pos = data;");
        self.write_headers()
    }

    fn v1_switch(&mut self, main: &'a Decl, parts: &[Option<Instance>]) -> Result<()> {
        let (parser, parser_instance) = self.package_part(main, parts.first())?;
        let (headers_type, meta_type, standard_type) =
            (self.param_type(parser, 1), self.param_type(parser, 2), self.param_type(parser, 3));
        let headers = self.state_place("hdr", &headers_type)?;
        let meta = self.state_place("meta", &meta_type)?;
        let standard = self.state_place("standard", &standard_type)?;
        self.standard_metadata = Some(standard.clone());
        self.put(format!("{standard}.ingress_port = (u16)(ctx->ingress_ifindex & 511);"));
        self.put(format!("{standard}.packet_length = packet_length;"));
        // Microseconds, as in BMv2. XDP has no queue, so the other times and depths stay zero.
        let name = "ingress_global_timestamp";
        if self.mentions(&[name]) {
            let now = self.fit("bpf_ktime_get_ns() / 1000", &Type::Bit(48));
            self.put(format!("{standard}.{name} = {now};"));
        }
        if self.rounds.is_some() {
            self.put(format!("{standard}.instance_type = path;"));
            self.restore(&meta, &meta_type)?;
            self.restore(&standard, &standard_type)?;
        }
        let (headers, meta, standard) = (Some(&*headers), Some(&*meta), Some(&*standard));
        let reject = self.fresh("reject");
        self.in_parser = Some(reject.clone());
        self.stage(parser, &parser_instance, &[None, headers, meta, standard], true)?;
        self.in_parser = None;
        // A packet that the parser rejects continues, with its parser error.
        self.put(format!("{reject}:;"));
        let metadata = standard.unwrap_or_default().to_owned();
        self.put(format!("{metadata}.parser_error = parser_error;"));
        let places: [(usize, &[Option<&str>]); 4] = [
            (1, &[headers, meta]),
            (2, &[headers, meta, standard]),
            (3, &[headers, meta, standard]),
            (4, &[headers, meta]),
        ];
        for (at, places) in places {
            let (control, instance) = self.package_part(main, parts.get(at))?;
            if at == 3 {
                self.at(main.span);
                self.next_rounds(true, RESUBMITTED);
                self.put(format!("if ({metadata}.egress_spec == {DROP_PORT}) return XDP_DROP;"));
                self.put(format!("{metadata}.egress_port = {metadata}.egress_spec;"));
                self.put(format!("{metadata}.egress_spec = 0;"));
            }
            self.stage(control, &instance, places, false)?;
            if at == 3 {
                self.put(format!("if ({metadata}.egress_spec == {DROP_PORT}) return XDP_DROP;"));
            }
        }
        let (deparser, instance) = self.package_part(main, parts.get(5))?;
        self.stage(deparser, &instance, &[None, headers], false)?;
        self.deparse()?;
        self.at(main.span);
        self.next_rounds(false, RECIRCULATED);
        self.output(&format!("{metadata}.egress_port"))
    }

    /// Emits code that redirects the packet to an output port.
    pub(super) fn output(&mut self, port: &str) -> Result<()> {
        self.record(port)?;
        self.layout.redirects = true;
        self.map("ports", "BPF_MAP_TYPE_DEVMAP", DROP_PORT + 1, "u32", "u32");
        self.put(format!("return bpf_redirect_map(&ports, {port}, XDP_DROP);"));
        Ok(())
    }

    fn record(&mut self, port: &str) -> Result<()> {
        if self.options.record {
            self.map("record", "BPF_MAP_TYPE_ARRAY", 1, "u32", "u32");
            let at = self.save("record_at", &Type::Bit(32), "0")?;
            self.local_once("u32 *recorded;");
            self.put(format!("recorded = bpf_map_lookup_elem(&record, &{at});"));
            self.put(format!("if (recorded) *recorded = {port};"));
        }
        Ok(())
    }

    fn ebpf_filter(&mut self, main: &'a Decl, parts: &[Option<Instance>]) -> Result<()> {
        let (parser, parser_instance) = self.package_part(main, parts.first())?;
        let (filter, filter_instance) = self.package_part(main, parts.get(1))?;
        let ty = self.param_type(parser, 1);
        let headers = self.state_place("hdr", &ty)?;
        let accept = self.state_place("accept", &Type::Bool)?;
        let reject = self.fresh("reject");
        self.in_parser = Some(reject.clone());
        self.stage(parser, &parser_instance, &[None, Some(&headers)], true)?;
        self.in_parser = None;
        self.stage(filter, &filter_instance, &[Some(&headers), Some(&accept)], false)?;
        self.at(main.span);
        self.put(format!("return {accept} ? XDP_PASS : XDP_DROP;"));
        self.put(format!("{reject}:;"));
        self.put("return XDP_DROP;");
        Ok(())
    }

    fn xdp(&mut self, main: &'a Decl, parts: &[Option<Instance>]) -> Result<()> {
        let (parser, parser_instance) = self.package_part(main, parts.first())?;
        let (switch, switch_instance) = self.package_part(main, parts.get(1))?;
        let (deparser, deparser_instance) = self.package_part(main, parts.get(2))?;
        let ty = self.param_type(parser, 1);
        let (input_type, output_type) = (self.param_type(switch, 1), self.param_type(switch, 2));
        let headers = self.state_place("hdr", &ty)?;
        let input = self.state_place("input", &input_type)?;
        let output = self.state_place("output", &output_type)?;
        self.put(format!("{input}.input_port = ctx->ingress_ifindex;"));
        let reject = self.fresh("reject");
        self.in_parser = Some(reject.clone());
        self.stage(parser, &parser_instance, &[None, Some(&headers)], true)?;
        self.in_parser = None;
        self.stage(
            switch,
            &switch_instance,
            &[Some(&headers), Some(&input), Some(&output)],
            false,
        )?;
        self.stage(deparser, &deparser_instance, &[Some(&headers), None], false)?;
        self.deparse()?;
        self.at(main.span);
        self.record(&format!("{output}.output_port"))?;
        self.put(format!("if ({output}.output_action == XDP_REDIRECT) return bpf_redirect({output}.output_port, 0);"));
        self.put(format!("return {output}.output_action;"));
        self.put(format!("{reject}:;"));
        self.put("return XDP_ABORTED;");
        Ok(())
    }
}
