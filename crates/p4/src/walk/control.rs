//! Runs packages, controls and actions.

use super::*;
use crate::annotations::{control_name, name_of};

/// Output port with which v1model drops a packet.
const DROP_PORT: u32 = 511;

impl<'a> Walker<'a> {
    // --- packages ------------------------------------------------------------------------------

    /// Runs the package `V1Switch`. A packet that the parser rejects still runs through the ingress
    /// control.
    pub(super) fn v1_switch(&mut self, parts: &[Option<&'a Expr>], port: u32) -> Result<()> {
        let [Some(parser), verify, ingress, egress, compute, ..] = parts[..] else { return Ok(()) };
        let Some((decl, _)) = self.part(parser) else { return Ok(()) };
        let [_, headers, meta, standard] = params(decl) else { return Ok(()) };
        let (headers, meta, standard) = (headers.id, meta.id, standard.id);
        self.standard = Some(standard);
        for id in [headers, meta, standard] {
            let data = self.initial(&self.declared(id));
            self.variables.insert(id, data);
        }
        let length = u32::try_from(self.packet.len()).unwrap_or(u32::MAX);
        self.set(standard, "ingress_port", port & DROP_PORT);
        self.set(standard, "packet_length", length);
        self.forget_field(standard, "ingress_global_timestamp");
        self.run_parser(parser, &[None, Some(headers), Some(meta), Some(standard)])?;
        let error = self.walk.error.as_deref().unwrap_or("NoError");
        let error = Data::known(Value::Error(error.into()));
        if let Some(slot) = self.slot(&field(standard, "parser_error")) {
            *slot = error;
        }
        let two = [Some(headers), Some(meta)];
        let three = [Some(headers), Some(meta), Some(standard)];
        self.run_control(verify, &two)?;
        self.run_control(ingress, &three)?;
        if self.is_dropped(standard, ingress)? {
            return Ok(());
        }
        let out = self.slot(&field(standard, "egress_spec")).cloned();
        if let (Some(slot), Some(out)) = (self.slot(&field(standard, "egress_port")), out) {
            *slot = out;
        }
        self.set(standard, "egress_spec", 0);
        self.run_control(egress, &three)?;
        if self.is_dropped(standard, egress)? {
            return Ok(());
        }
        self.run_control(compute, &two)
    }

    /// Runs the package `ebpfFilter` or `xdp`. The run of a packet that the parser rejects ends
    /// after the parser.
    pub(super) fn filter(&mut self, parts: &[Option<&'a Expr>], port: u32) -> Result<()> {
        let [Some(parser), control, ..] = parts[..] else { return Ok(()) };
        let (Some((decl, _)), Some((second, _))) =
            (self.part(parser), control.and_then(|one| self.part(one)))
        else {
            return Ok(());
        };
        let ([_, headers, ..], [_, others @ ..]) = (params(decl), params(second)) else {
            return Ok(());
        };
        let mut given = vec![Some(headers.id)];
        given.extend(others.iter().map(|param| Some(param.id)));
        for id in given.iter().flatten() {
            let data = self.initial(&self.declared(*id));
            self.variables.insert(*id, data);
        }
        if let [input, _] = others {
            self.set(input.id, "input_port", port);
        }
        self.run_parser(parser, &[None, Some(headers.id)])?;
        match self.walk.error {
            None => self.run_control(control, &given),
            Some(_) => Ok(()),
        }
    }

    fn set(&mut self, root: DeclId, name: &str, value: u32) {
        if let Some(slot) = self.slot(&field(root, name)) {
            *slot = Data::known(Value::Number(value.into()));
        }
    }

    pub(super) fn forget_field(&mut self, root: DeclId, name: &str) {
        if let Some(slot) = self.slot(&field(root, name)) {
            slot.forget();
        }
    }

    fn is_dropped(&mut self, standard: DeclId, control: Option<&Expr>) -> Result<bool> {
        match self.slot(&field(standard, "egress_spec")) {
            Some(Data::Leaf(Some(Value::Number(port)))) => Ok(*port == DROP_PORT.into()),
            _ => stop(
                control.map(|one| one.span).unwrap_or_default(),
                "egress_spec, which the packet does not determine",
            ),
        }
    }

    /// Binds the parameters of a parser or control to the variables `roots`; `None` stands for the
    /// packet.
    fn bind_roots(&mut self, decl: &'a Decl, roots: &[Option<DeclId>]) {
        for (param, root) in params(decl).iter().zip(roots) {
            let Some(root) = *root else { continue };
            self.names.entry(root).or_insert_with(|| param.name.text.clone());
            if root != param.id {
                self.variables.remove(&param.id);
                self.aliases.insert(param.id, Place { root, steps: Vec::new() });
            }
        }
    }

    fn run_parser(&mut self, part: &'a Expr, roots: &[Option<DeclId>]) -> Result<()> {
        let Some((decl, args)) = self.part(part) else { return stop(part.span, "this parser") };
        let DeclKind::Parser(parser) = &*decl.kind else { return stop(part.span, "this parser") };
        self.construct(&parser.constructor, args);
        self.bind_roots(decl, roots);
        match self.parser(parser) {
            Ok(()) => self.walk.states.push("accept".to_owned()),
            Err(Halt::Reject(error)) => {
                self.walk.states.push("reject".to_owned());
                self.walk.error = Some(error.to_string());
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    fn run_control(&mut self, part: Option<&'a Expr>, roots: &[Option<DeclId>]) -> Result<()> {
        let Some(part) = part else { return Ok(()) };
        let Some((decl, args)) = self.part(part) else { return stop(part.span, "this control") };
        let DeclKind::Control(control) = &*decl.kind else { return stop(part.span, "this part") };
        self.scope = match &part.kind {
            ExprKind::Name { name, .. } => name.text.to_string(),
            _ => decl.name.text.to_string(),
        };
        self.construct(&control.constructor, args);
        self.bind_roots(decl, roots);
        match self.control(control) {
            Err(Halt::Exit) => Ok(()),
            other => other,
        }
    }

    // --- controls ------------------------------------------------------------------------------

    /// Runs a control whose parameters are already bound.
    pub(super) fn control(&mut self, control: &'a Control) -> Result<()> {
        for local in &control.locals {
            let absolute = name_of(&local.annotations)
                .and_then(|name| name.strip_prefix('.').map(str::to_owned));
            let path =
                absolute.unwrap_or_else(|| format!("{}.{}", self.scope, control_name(local)));
            self.paths.insert(local.id, path);
            self.declare(local)?;
        }
        match self.statements(&control.body.statements) {
            Err(Halt::Return(_)) => Ok(()),
            other => other,
        }
    }

    /// Runs an action: `directed` are the arguments for parameters with a direction, and `values`
    /// the arguments for parameters without one.
    pub(super) fn action(
        &mut self,
        id: DeclId,
        directed: &[Option<&'a Expr>],
        mut values: impl Iterator<Item = Data>,
    ) -> Result<()> {
        let Some(decl) = self.nodes.get(&id).copied() else { return Ok(()) };
        let DeclKind::Action { params, body } = &*decl.kind else { return Ok(()) };
        let count = params.iter().filter(|param| param.direction != Direction::None).count();
        let copies = self.bind(&params[..count], directed)?;
        for param in &params[count..] {
            let data = values.next().unwrap_or(Data::Leaf(None));
            let data = self.converted(data, &self.declared(param.id));
            self.aliases.remove(&param.id);
            self.variables.insert(param.id, data);
        }
        match self.after(copies, |this| this.statements(&body.statements)) {
            Ok(()) | Err(Halt::Return(_)) => Ok(()),
            other => other,
        }
    }

    /// Runs a body, and then copies the parameters in `copies` to their arguments, even after
    /// `exit` (section 12.4 of the specification).
    pub(super) fn after(
        &mut self,
        copies: Vec<(Place, DeclId)>,
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let result = body(self);
        if matches!(result, Ok(()) | Err(Halt::Return(_) | Halt::Exit)) {
            self.copy_out(copies);
        }
        result
    }

    pub(super) fn switch(&mut self, value: &'a Expr, cases: &'a [SwitchCase]) -> Result<()> {
        let Data::Leaf(Some(wanted)) = self.value(value)? else {
            return stop(value.span, "a value that the packet does not determine");
        };
        let is_action = matches!(self.ty(value), Type::ActionRun(_));
        let mut found = None;
        for (at, case) in cases.iter().enumerate() {
            let matches = match (&case.label.kind, is_action) {
                (ExprKind::Default, _) => true,
                (_, true) => match &wanted {
                    Value::Member(id, _) => self.checked.uses.get(&case.label.id) == Some(id),
                    _ => false,
                },
                _ => {
                    let label = self.value(&case.label)?;
                    equal(&label, &Data::known(wanted.clone())) == Some(true)
                }
            };
            if matches {
                found = Some(at);
                break;
            }
        }
        // A label without a block shares the block of the next label.
        let block = found.and_then(|at| cases[at..].iter().find_map(|case| case.body.as_ref()));
        block.map_or(Ok(()), |block| self.statements(&block.statements))
    }
}

fn field(root: DeclId, name: &str) -> Place {
    Place { root, steps: vec![Step::Field(name.into())] }
}

fn params(decl: &Decl) -> &[Param] {
    match &*decl.kind {
        DeclKind::Parser(parser) => &parser.signature.params,
        DeclKind::Control(control) => &control.signature.params,
        _ => &[],
    }
}
