//! Translates further passes of a packet through the pipeline: PSA's egress, resubmission and
//! recirculation.
//!
//! After DPDK's instruction `recirculate`, the next `tx` sends the packet to the start of the
//! pipeline, with the headers that were emitted. Metadata keeps its values; `recircid` gives the
//! number of the pass.

use super::place::Place;
use super::*;
use crate::rounds::{MOST_ROUNDS, field_lists, has_lists, recirculates, resubmits};

/// Value of the stage field in a pass through the egress pipeline.
const EGRESS: u64 = 1;

/// Passes of a packet through the pipeline: the kinds that occur, and the metadata fields with
/// which the pipeline tracks them.
#[derive(Default)]
pub(super) struct Passes {
    /// True if a packet may be resubmitted.
    pub resubmits: bool,
    /// True if a packet may be recirculated.
    pub recirculates: bool,
    /// True if packets run through the egress pipeline in a separate pass.
    pub has_egress: bool,
    /// Label of the egress pipeline.
    pub egress: Option<String>,
    /// Metadata field with the number of the pass.
    pub pass: Option<String>,
    /// Metadata field that is 0 in ingress passes and 1 in egress passes; `None` if the number of
    /// the pass determines this.
    stage: Option<String>,
    /// Metadata field with the number of the round; `None` if the number of the pass determines it.
    round: Option<String>,
    /// Metadata fields that the pipeline sets to 0 at the start of the first pass only.
    pub first: BTreeSet<String>,
    /// Metadata fields that hold requests for a resubmission and for a recirculation: number of the
    /// requested field list plus 1, or 0 without a request.
    flags: [Option<String>; 2],
    /// Field lists that the program requests, each with a flag: true for resubmission, false for
    /// recirculation.
    lists: BTreeSet<(bool, u32)>,
    /// Location of each metadata field with the annotation `@field_list`, and its field lists.
    kept: Vec<(Place, Vec<u32>)>,
}

impl<'a> Generator<'a> {
    /// Declares the fields and labels that the passes of a package need.
    pub(super) fn start_passes(&mut self, package: &str) {
        let (resubmits, recirculates) =
            (resubmits(self.sources, package), recirculates(self.sources, package));
        let has_egress = self.runs_egress;
        self.puts_back = resubmits;
        self.passes = Passes { resubmits, recirculates, has_egress, ..Passes::default() };
        if !resubmits && !recirculates && !has_egress {
            return;
        }
        self.passes.pass = Some(self.field("pass", 8));
        if has_egress {
            self.passes.egress = Some(self.label("egress"));
        }
        if has_egress && (resubmits || recirculates) {
            let stage = self.first_field("stage", 8);
            self.passes.stage = Some(stage);
        }
        if has_egress && resubmits {
            let round = self.first_field("round", 8);
            self.passes.round = Some(round);
        }
        if package == "V1Switch" {
            for (at, name) in ["resubmitted", "recirculated"].into_iter().enumerate() {
                let field = self.field(name, 32);
                self.cleared.insert(field.clone());
                self.passes.flags[at] = Some(field);
            }
        }
        if resubmits || recirculates {
            self.conditions.insert(format!(
                "a packet takes at most {} further rounds; the pipeline drops it if it asks for one \
                 more",
                MOST_ROUNDS - 1
            ));
        }
        self.unit.entry = self.passes.egress.clone();
    }

    /// Adds a metadata field that the pipeline sets to 0 at the start of the first pass only.
    pub(super) fn first_field(&mut self, name: &str, bits: u32) -> String {
        let field = self.field(name, bits);
        self.passes.first.insert(field.clone());
        field
    }

    /// Marks the numbers in a location, so that they keep their values from one pass to the next.
    pub(super) fn keep(&mut self, place: &Place) {
        for number in place.numbers() {
            for piece in &number.pieces {
                if let FieldRef::Meta(name) = &piece.field
                    && self.cleared.remove(name)
                {
                    self.passes.first.insert(name.clone());
                }
            }
        }
    }

    /// Returns an error if a location that is kept between passes contains headers: `rx` makes all
    /// headers invalid.
    pub(super) fn refuse_headers(&self, place: &Place, span: Span) -> Result<()> {
        match place.headers().is_empty() {
            true => Ok(()),
            false => self.unsupported(span, "a header in metadata of a further pass"),
        }
    }

    /// Returns the fields of a struct: names, types, source positions and annotations.
    fn annotated(&self, ty: &Type) -> Vec<(Rc<str>, Type, Span, &'a [Annotation])> {
        let Type::Fields(FieldsKind::Struct, named) = ty else { return Vec::new() };
        let Some(DeclKind::Fields(decl)) = self.nodes.get(&named.id).map(|decl| &*decl.kind) else {
            return Vec::new();
        };
        let members = self.members(ty).into_iter().zip(&decl.fields);
        members
            .map(|((name, of), field)| (name, of, field.name.span, &*field.annotations))
            .collect()
    }

    /// Marks the metadata fields with the annotation `@field_list` as kept between passes. `outer`
    /// are the field lists of the enclosing struct; each of its fields is in them, too.
    pub(super) fn keep_listed(&mut self, place: &Place, ty: &Type, outer: &[u32]) -> Result<()> {
        if self.passes.pass.is_none() {
            return Ok(());
        }
        for (name, of, span, annotations) in self.annotated(ty) {
            let Some(part) = place.member(&name) else { continue };
            let lists = field_lists(annotations, outer);
            let fields = |ty: &Type| -> Vec<_> {
                self.annotated(ty).into_iter().map(|(_, of, _, notes)| (of, notes)).collect()
            };
            if lists.is_empty() || has_lists(&of, &fields) {
                self.keep_listed(&part, &of, &lists)?;
                continue;
            }
            self.refuse_headers(&part, span)?;
            self.keep(&part);
            self.passes.kept.push((part, lists));
        }
        Ok(())
    }

    /// Emits code that requests another round of the packet, in which the metadata of the field
    /// list `list` keep their values.
    pub(super) fn request_round(&mut self, list: u32, resubmits: bool, span: Span) -> Result<()> {
        let Some(flag) = self.passes.flags[usize::from(!resubmits)].clone() else {
            return self.unsupported(span, "a further round here");
        };
        self.passes.lists.insert((resubmits, list));
        self.copy(FieldRef::Meta(flag), Operand::Immediate(u64::from(list) + 1));
        Ok(())
    }

    /// Emits the rounds of v1model that the program requested: resubmissions, or recirculations.
    /// The second argument consists of the metadata field `instance_type` and its value in these
    /// rounds. `emit` emits the headers of the packet.
    pub(super) fn next_rounds(
        &mut self,
        resubmits: bool,
        (instance_type, number): (Option<Place>, u64),
        drop: &str,
        mut emit: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let lists: Vec<u32> =
            self.passes.lists.iter().filter(|one| one.0 == resubmits).map(|one| one.1).collect();
        for list in lists {
            let Some(flag) = self.passes.flags[usize::from(!resubmits)].clone() else { continue };
            let (next, wanted) = (self.label("no_round"), u64::from(list) + 1);
            let flag = Operand::Field(FieldRef::Meta(flag));
            self.jump_compared(Relation::Ne, &flag, &Operand::Immediate(wanted), &next);
            let others = self.passes.kept.iter().filter(|(_, lists)| !lists.contains(&list));
            let others: Vec<Place> = others.map(|one| one.0.clone()).collect();
            others.iter().for_each(|place| self.clear(place));
            if let Some(Place::Number(to)) = &instance_type {
                self.put_number(to, &number::Words::known(&number.into(), to.width()));
            }
            self.again(drop, &mut emit)?;
            self.mark(&next);
        }
        Ok(())
    }

    /// Emits code that starts another round of the packet, or drops the packet after the last
    /// allowed round.
    pub(super) fn again(
        &mut self,
        drop: &str,
        emit: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let most = u64::from(MOST_ROUNDS - 1);
        if let Some(round) = self.passes.round.clone() {
            let round = FieldRef::Meta(round);
            let last = Operand::Immediate(most);
            self.jump_compared(Relation::Eq, &Operand::Field(round.clone()), &last, drop);
            self.alu(Alu::Add, &round, Operand::Immediate(1));
        }
        // With an egress, each round has two passes at most.
        let last = if self.passes.has_egress { 2 * most } else { most - 1 };
        self.drop_after(last, drop);
        if let Some(stage) = self.passes.stage.clone() {
            self.copy(FieldRef::Meta(stage), Operand::Immediate(0));
        }
        self.put(Op::Recirculate);
        emit(self)?;
        self.return_to_start();
        Ok(())
    }

    /// Emits code that drops a packet whose pass number is above `pass`.
    fn drop_after(&mut self, pass: u64, drop: &str) {
        if let Some(field) = self.passes.pass.clone() {
            let field = Operand::Field(FieldRef::Meta(field));
            self.jump_compared(Relation::Gt, &field, &Operand::Immediate(pass), drop);
        }
    }

    /// Emits the start of the egress pass, which follows once the headers are emitted.
    pub(super) fn continue_in_egress(&mut self, drop: &str) {
        if let Some(stage) = self.passes.stage.clone() {
            // No packet takes more passes. The comparison states this limit for analyses of the
            // pipeline.
            self.drop_after(2 * u64::from(MOST_ROUNDS - 1), drop);
            self.copy(FieldRef::Meta(stage), Operand::Immediate(EGRESS));
        }
        self.put(Op::Recirculate);
    }

    /// Emits the end of a pass after which the packet returns to the start of the pipeline.
    pub(super) fn return_to_start(&mut self) {
        self.put(Op::Transmit { port: Operand::Field(FieldRef::Meta(PORT.to_owned())) });
    }

    /// Returns the metadata fields that the instructions at the start of each pass read.
    pub(super) fn fields_of_passes(&self) -> impl Iterator<Item = String> {
        self.passes.pass.iter().chain(&self.passes.stage).cloned().collect::<Vec<_>>().into_iter()
    }

    /// Returns the instructions at the start of each pass. They set fields to 0 in the first pass,
    /// and jump to the egress. `rest` are the instructions that follow, and `read` are the metadata
    /// fields that any instruction reads.
    pub(super) fn start_of_passes(
        &mut self,
        read: &BTreeSet<String>,
        rest: &mut [Instruction],
    ) -> Vec<Instruction> {
        let Some(pass) = self.passes.pass.clone() else { return Vec::new() };
        let field = FieldRef::Meta(pass.clone());
        let compare = |relation| Condition::Compare {
            relation,
            left: field.clone(),
            right: Operand::Immediate(0),
        };
        let mut start = vec![Instruction::new(Op::RecirculationId { pass })];
        let stage = self.passes.stage.clone();
        let first = self.passes.first.iter().filter(|name| read.contains(*name));
        let mut first: Vec<Instruction> = first
            .map(|name| {
                let to = FieldRef::Meta(name.clone());
                Instruction::new(Op::Move { to, from: Operand::Immediate(0) })
            })
            .collect();
        let mut label = None;
        if !first.is_empty() {
            let later = match (&self.passes.egress, rest.first_mut()) {
                (None, Some(next)) => {
                    let name = || "LATER_PASS".to_owned();
                    next.label.get_or_insert_with(name).clone()
                }
                _ => "LATER_PASS".to_owned(),
            };
            let jump = Op::Jump { condition: compare(Relation::Ne), target: later.clone() };
            start.push(Instruction::new(jump));
            start.append(&mut first);
            label = self.passes.egress.is_some().then_some(later);
        }
        if let Some(target) = self.passes.egress.clone() {
            let condition = match stage {
                Some(stage) => Condition::Compare {
                    relation: Relation::Eq,
                    left: FieldRef::Meta(stage),
                    right: Operand::Immediate(EGRESS),
                },
                None => compare(Relation::Ne),
            };
            let jump = Op::Jump { condition, target };
            start.push(Instruction { label: label.take(), ..Instruction::new(jump) });
        }
        start
    }
}
