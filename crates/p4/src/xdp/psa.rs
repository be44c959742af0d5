//! Translates the package `PSA_Switch`: the ingress pipeline, then the egress pipeline of unicast
//! packets, which parses the bytes that the ingress deparser wrote. The packet leaves through the
//! map `ports`.

use super::pipeline::parts_of;
use super::*;
use crate::rounds::{recirculates, resubmits};

/// The port `PSA_PORT_RECIRCULATE`.
pub(super) const RECIRCULATE: &str = "0xfffffffaU";

/// `UNICAST`, `RESUBMIT` and `RECIRCULATED`: values of `PSA_PacketPath_t`.
const UNICAST: u32 = 1;
const RESUBMIT: u32 = 5;
const RECIRCULATED: u32 = 6;

impl<'a> Generator<'a> {
    pub(super) fn psa_switch(&mut self, main: &'a Decl, parts: &[Option<Instance>]) -> Result<()> {
        let pipeline = |at: usize| -> Vec<Option<Instance>> {
            parts.get(at).and_then(Option::as_ref).map(parts_of).unwrap_or_default()
        };
        let (ingress, egress) = (pipeline(0), pipeline(2));
        let (parser, parser_instance) = self.package_part(main, ingress.first())?;
        let (control, control_instance) = self.package_part(main, ingress.get(1))?;
        let (deparser, deparser_instance) = self.package_part(main, ingress.get(2))?;

        // The metadata for further rounds keeps its values between rounds.
        let (egress_deparser, _) = self.package_part(main, egress.get(2))?;
        let resubmit_type = self.param_type(deparser, 2);
        let recirculate_type = self.param_type(egress_deparser, 2);
        let resubmit = self.state_place("resubmit", &resubmit_type)?;
        let recirculate = self.state_place("recirculate", &recirculate_type)?;
        let (headers_type, meta_type) = (self.param_type(parser, 1), self.param_type(parser, 2));
        let headers = self.state_place("hdr", &headers_type)?;
        let meta = self.state_place("meta", &meta_type)?;
        let input = self.state_place("parser_input", &self.param_type(parser, 3))?;
        let control_input = self.state_place("input", &self.param_type(control, 2))?;
        let output = self.state_place("output", &self.param_type(control, 3))?;
        let clone_meta = self.state_place("clone_i2e", &self.param_type(deparser, 1))?;
        let normal_type = self.param_type(deparser, 3);
        let normal = self.state_place("normal", &normal_type)?;

        let mut kept = Vec::new();
        if self.rounds.is_some() {
            for (place, ty) in [(&resubmit, resubmit_type), (&recirculate, recirculate_type)] {
                let variable = self.kept_variable(place, &ty)?;
                self.put(format!("{place} = {variable};"));
                kept.push(format!("{variable} = {place};"));
            }
        }
        let path = if self.rounds.is_some() { "path" } else { "0" };
        // A resubmitted packet keeps its port, so the port of an earlier recirculation stays.
        let (sources, mut recirculated) = (self.sources, format!("path == {RECIRCULATED}"));
        if resubmits(sources, "PSA_Switch") && recirculates(sources, "PSA_Switch") {
            let before = self.kept_variable("recirculated before", &Type::Bit(8))?;
            self.put(format!("if ({recirculated}) {before} = 1;"));
            recirculated = before;
        }
        for place in [&input, &control_input] {
            self.put(format!("{place}.ingress_port = ctx->ingress_ifindex;"));
            self.put(format!("{place}.packet_path = {path};"));
            if self.rounds.is_some() {
                self.put(format!("if ({recirculated}) {place}.ingress_port = {RECIRCULATE};"));
            }
        }
        if self.mentions(&["ingress_timestamp"]) {
            self.put(format!("{control_input}.ingress_timestamp = bpf_ktime_get_ns();"));
        }
        let reject = self.fresh("reject");
        self.in_parser = Some(reject.clone());
        let places = [
            None,
            Some(headers.as_str()),
            Some(meta.as_str()),
            Some(&*input),
            Some(&*resubmit),
            Some(&*recirculate),
        ];
        self.stage(parser, &parser_instance, &places, true)?;
        self.in_parser = None;
        // A packet that the parser rejects continues, with its parser error.
        self.put(format!("{reject}:;"));
        self.put(format!("{control_input}.parser_error = parser_error;"));
        self.put(format!("{output}.drop = 1;"));
        let places =
            [Some(headers.as_str()), Some(meta.as_str()), Some(&*control_input), Some(&*output)];
        self.stage(control, &control_instance, &places, false)?;
        self.at(main.span);
        self.put(format!("if ({output}.drop) return XDP_DROP;"));
        let places = [
            None,
            Some(&*clone_meta),
            Some(&*resubmit),
            Some(&*normal),
            Some(headers.as_str()),
            Some(meta.as_str()),
            Some(&*output),
        ];
        self.stage(deparser, &deparser_instance, &places, false)?;
        if self.rounds.is_some() {
            self.put(format!("if ({output}.resubmit) {{"));
            self.put(&*kept[0]);
            self.next_round(RESUBMIT);
            self.put("}");
        }
        self.deparse()?;
        let port = self.psa_egress(
            main,
            &egress,
            (&headers, &headers_type),
            (&meta, &meta_type),
            &output,
        )?;
        if self.rounds.is_some() {
            self.put(format!("if ({port} == {RECIRCULATE}) {{"));
            self.put(&*kept[1]);
            self.next_round(RECIRCULATED);
            self.put("}");
        }
        self.output(&port)
    }

    /// Emits the egress pipeline, and returns the lvalue of its output port. Values whose types
    /// occur in the ingress pipeline, too, share its storage.
    fn psa_egress(
        &mut self,
        main: &'a Decl,
        parts: &[Option<Instance>],
        headers: (&str, &Type),
        meta: (&str, &Type),
        output: &str,
    ) -> Result<String> {
        let (parser, parser_instance) = self.package_part(main, parts.first())?;
        let (control, control_instance) = self.package_part(main, parts.get(1))?;
        let (deparser, deparser_instance) = self.package_part(main, parts.get(2))?;
        let mut places = Vec::new();
        for (at, name, (place, before)) in [(1, "egress_hdr", headers), (2, "egress_meta", meta)] {
            let ty = self.param_type(parser, at);
            let place = match ty == *before {
                true => place.to_owned(),
                false => self.state_place(name, &ty)?,
            };
            let zero = self.zero(&place, &ty);
            self.put(zero);
            places.push(place);
        }
        let (headers, meta) = (&places[0], &places[1]);
        let input = self.state_place("egress_parser_input", &self.param_type(parser, 3))?;
        let control_input = self.state_place("egress_input", &self.param_type(control, 2))?;
        let egress_output = self.state_place("egress_output", &self.param_type(control, 3))?;
        let clone_i2e = self.state_place("egress_i2e", &self.param_type(parser, 5))?;
        let clone_e2e = self.state_place("egress_e2e", &self.param_type(parser, 6))?;
        let clone_meta = self.state_place("clone_e2e", &self.param_type(deparser, 1))?;
        let port = self.state_place("egress_port", &self.param_type(deparser, 6))?;

        self.put("pos = data;");
        self.put("parsed = 0;");
        self.put("length = 0;");
        self.put("packet_length = ctx->data_end - ctx->data;");
        if self.options.scratch {
            self.put("s->length_ = 0;");
        }
        self.put("parser_error = 0;");
        self.next.clear();
        for place in [&input, &control_input] {
            self.put(format!("{place}.egress_port = {output}.egress_port;"));
            self.put(format!("{place}.packet_path = {UNICAST};"));
        }
        self.put(format!("{port}.egress_port = {output}.egress_port;"));
        self.put(format!("{control_input}.class_of_service = {output}.class_of_service;"));
        if self.mentions(&["egress_timestamp"]) {
            self.put(format!("{control_input}.egress_timestamp = bpf_ktime_get_ns();"));
        }
        let reject = self.fresh("reject");
        self.in_parser = Some(reject.clone());
        let places = [
            None,
            Some(headers.as_str()),
            Some(meta.as_str()),
            Some(&*input),
            Some("s->normal"),
            Some(&*clone_i2e),
            Some(&*clone_e2e),
        ];
        self.stage(parser, &parser_instance, &places, true)?;
        self.in_parser = None;
        self.put(format!("{reject}:;"));
        self.put(format!("{control_input}.parser_error = parser_error;"));
        let places = [
            Some(headers.as_str()),
            Some(meta.as_str()),
            Some(&*control_input),
            Some(&*egress_output),
        ];
        self.stage(control, &control_instance, &places, false)?;
        self.at(main.span);
        self.put(format!("if ({egress_output}.drop) return XDP_DROP;"));
        let places = [
            None,
            Some(&*clone_meta),
            Some("s->recirculate"),
            Some(headers.as_str()),
            Some(meta.as_str()),
            Some(&*egress_output),
            Some(&*port),
        ];
        self.stage(deparser, &deparser_instance, &places, false)?;
        self.deparse()?;
        self.at(main.span);
        Ok(format!("{port}.egress_port"))
    }
}
