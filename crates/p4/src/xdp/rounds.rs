//! Translates further rounds of a packet through the program: resubmission and recirculation.
//!
//! The C program contains the code of all rounds in sequence, so that it needs no loop. It drops a
//! packet that requests more rounds.

use std::collections::BTreeSet;

use super::*;
use crate::rounds::{MOST_ROUNDS, field_lists, has_lists, recirculates, resubmits};

/// State of the round that is being emitted.
#[derive(Default)]
pub(super) struct Rounds {
    /// Field lists that the current parser or control requests, each with a flag: true for
    /// resubmission, false for recirculation.
    lists: BTreeSet<(bool, u32)>,
    /// Metadata fields with the annotation `@field_list`.
    kept: Vec<Kept>,
    /// Label of the next round; `None` in the last round.
    next: Option<String>,
}

/// A metadata field that keeps its value in the next round: its lvalue, its type, the variable that
/// stores it between rounds, and its field lists.
struct Kept {
    place: String,
    ty: Type,
    variable: String,
    lists: Vec<u32>,
}

impl<'a> Generator<'a> {
    /// Returns true if a source file of the program contains one of these words.
    pub(super) fn mentions(&self, words: &[&str]) -> bool {
        crate::rounds::mentions(self.sources, words)
    }

    /// Returns the largest number of rounds of a packet, including the first.
    pub(super) fn number_of_rounds(&self, package: &str) -> u32 {
        let sources = self.sources;
        let has_rounds = resubmits(sources, package) || recirculates(sources, package);
        if has_rounds { MOST_ROUNDS } else { 1 }
    }

    /// Emits the label and the variables of a round.
    pub(super) fn label_round(&mut self, round: u32, is_last: bool) {
        if round == 0 {
            for local in ["u32 path;", "u32 resubmitted;", "u32 recirculated;"] {
                self.locals.push(local.into());
            }
            self.put("path = 0;");
        } else {
            self.put(format!("round_{round}:;"));
        }
        self.put("resubmitted = 0;");
        self.put("recirculated = 0;");
        let next = (!is_last).then(|| format!("round_{}", round + 1));
        self.rounds = Some(Rounds { next, ..Rounds::default() });
    }

    /// Returns the C variable that keeps the metadata in `place` for the next round.
    pub(super) fn kept_variable(&mut self, place: &str, ty: &Type) -> Result<String> {
        if let Some(known) = self.kept.get(place) {
            return Ok(known.clone());
        }
        let variable = self.fresh("kept");
        let c = self.c_type(ty)?;
        let zero = if storage::is_scalar(ty) { "0" } else { "{0}" };
        self.locals.push(format!("{c} {variable} = {zero};"));
        self.kept.insert(place.to_owned(), variable.clone());
        Ok(variable)
    }

    /// Emits code that requests another round of the packet, in which the metadata of the field
    /// list `list` keep their values.
    pub(super) fn request_round(&mut self, list: u32, resubmits: bool, span: Span) -> Result<()> {
        let Some(rounds) = &mut self.rounds else {
            return self.unsupported(span, "a further round here");
        };
        rounds.lists.insert((resubmits, list));
        let flag = if resubmits { "resubmitted" } else { "recirculated" };
        self.put(format!("{flag} = {};", u64::from(list) + 1));
        Ok(())
    }

    /// Emits code that copies the values kept from the previous round to the metadata in `place`.
    pub(super) fn restore(&mut self, place: &str, ty: &Type) -> Result<()> {
        let mut kept = Vec::new();
        self.find_kept(place, ty, &[], &mut kept)?;
        for one in &kept {
            self.put(format!("{} = {};", one.place, one.variable));
        }
        if let Some(rounds) = &mut self.rounds {
            rounds.kept.extend(kept);
        }
        Ok(())
    }

    /// Returns the fields of a struct: names, types and annotations.
    fn annotated(&self, ty: &Type) -> Vec<(Rc<str>, Type, &'a [Annotation])> {
        let Type::Fields(FieldsKind::Struct, named) = ty else { return Vec::new() };
        let Some(DeclKind::Fields(decl)) = self.nodes.get(&named.id).map(|decl| &*decl.kind) else {
            return Vec::new();
        };
        let fields = self.fields(ty).into_iter().zip(&decl.fields);
        fields.map(|((name, of), field)| (name, of, &*field.annotations)).collect()
    }

    /// Appends the metadata fields with the annotation `@field_list` to `kept`. `outer` are the
    /// field lists of the enclosing struct; they apply to each of its fields, too.
    fn find_kept(
        &mut self,
        place: &str,
        ty: &Type,
        outer: &[u32],
        kept: &mut Vec<Kept>,
    ) -> Result<()> {
        for (name, of, annotations) in self.annotated(ty) {
            let place = format!("{place}.{}", field_name(&name));
            let lists = field_lists(annotations, outer);
            let fields = |ty: &Type| -> Vec<_> {
                self.annotated(ty).into_iter().map(|(_, of, notes)| (of, notes)).collect()
            };
            if lists.is_empty() || has_lists(&of, &fields) {
                self.find_kept(&place, &of, &lists, kept)?;
                continue;
            }
            let variable = self.kept_variable(&place, &of)?;
            kept.push(Kept { place, ty: of, variable, lists });
        }
        Ok(())
    }

    /// Emits code that starts the rounds of v1model that the program requested: resubmissions after
    /// the ingress control, recirculations after the deparser. `path` is the `instance_type` of
    /// these packets.
    pub(super) fn next_rounds(&mut self, resubmits: bool, path: u32) {
        let Some(rounds) = self.rounds.take() else { return };
        let next = rounds.next.clone();
        let flag = if resubmits { "resubmitted" } else { "recirculated" };
        for (_, list) in rounds.lists.iter().filter(|one| one.0 == resubmits) {
            self.put(format!("if ({flag} == {}) {{", u64::from(*list) + 1));
            for Kept { place, ty, variable, lists } in &rounds.kept {
                self.put(match lists.contains(list) {
                    true => format!("{variable} = {place};"),
                    false => self.zero(variable, ty),
                });
            }
            self.put(match &next {
                Some(next) => format!("path = {path}; goto {next};"),
                None => "return XDP_DROP;".to_owned(),
            });
            self.put("}");
        }
        self.rounds = Some(rounds);
    }

    /// Emits code that jumps to the next round, or drops the packet after the last one. `path` is
    /// the packet path that the program reads in the next round.
    pub(super) fn next_round(&mut self, path: u32) {
        match self.rounds.as_ref().and_then(|rounds| rounds.next.clone()) {
            Some(next) => {
                self.put(format!("path = {path};"));
                self.put(format!("goto {next};"));
            }
            None => self.put("return XDP_DROP;"),
        }
    }
}
