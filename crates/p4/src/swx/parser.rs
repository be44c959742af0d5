//! Translates parsers: a parser state becomes one label for each combination of indices that `next`
//! can have in the header stacks.

use num_traits::ToPrimitive;

use super::number::Words;
use super::place::{Memory, Place, is_number, is_signed, width};
use super::*;

/// Largest number of emitted states. A state is emitted once for each index that `next` of a header
/// stack can have.
const MOST_STATES: usize = 2000;

/// Largest number of bits that `advance` can skip if its argument is not constant.
const MOST_SKIPPED: u32 = 1024;

/// A state to emit: its name, and the index that `next` has in each header stack, by path of the
/// stack.
type Entry = (Rc<str>, BTreeMap<String, u32>);

/// States of a parser while they are emitted.
struct States<'a> {
    parser: &'a Parser,
    accept: String,
    labels: HashMap<Entry, String>,
    waiting: Vec<Entry>,
    accepted: Option<BTreeMap<String, u32>>,
}

impl<'a> Generator<'a> {
    /// Emits a parser whose parameters are already bound. Instructions after it run if the parser
    /// accepts the packet.
    pub(super) fn run_parser(&mut self, parser: &'a Parser, span: Span) -> Result<()> {
        for local in &parser.locals {
            self.local(local)?;
        }
        let mut states = States {
            parser,
            accept: self.label("accept"),
            labels: HashMap::new(),
            waiting: Vec::new(),
            accepted: None,
        };
        let before = self.next.clone();
        let start = self.state_label("start".into(), &mut states, span)?;
        self.jump(&start);
        // Every packet runs the start state, and a jump back to it does not invalidate its headers.
        let known = self.known.clone();
        let mut always = None;
        while let Some(entry) = states.waiting.pop() {
            let label = states.labels[&entry].clone();
            let (name, next) = entry;
            self.next = next;
            let Some(state) = parser.states.iter().find(|state| state.name.text == name) else {
                continue;
            };
            self.here = state.name.span;
            self.known = always.clone().unwrap_or_else(|| known.clone());
            self.mark(&label);
            self.scoped(|this| this.state(state, &mut states, &mut always))?;
            self.check_length()?;
            if states.labels.len() > MOST_STATES {
                return self.unsupported(
                    span,
                    format!(
                        "a parser with more than {MOST_STATES} states after its stacks are expanded"
                    ),
                );
            }
        }
        self.mark(&states.accept);
        self.next = states.accepted.unwrap_or(before);
        self.known = always.unwrap_or(known);
        Ok(())
    }

    fn state(
        &mut self,
        state: &'a State,
        states: &mut States<'a>,
        always: &mut Option<BTreeSet<String>>,
    ) -> Result<()> {
        for statement in &state.body {
            // Statements after a possible rejection do not run for every packet.
            let (before, known) = (self.unit.code.len(), self.known.clone());
            self.statements(std::slice::from_ref(statement))?;
            let jumps =
                self.unit.code[before..].iter().any(|one| matches!(one.op, Op::Jump { .. }));
            if jumps && always.is_none() {
                *always = Some(known);
            }
        }
        if always.is_none() {
            *always = Some(self.known.clone());
        }
        match &state.transition {
            None => self.reject("NoError", state.name.span),
            Some(Transition::Direct(to)) => self.go(to, states),
            Some(Transition::Select { keys, cases, span }) => {
                let mut values = Vec::new();
                for key in keys {
                    values.push(self.key_value(key)?);
                }
                for case in cases {
                    if self.scoped(|this| this.select_case(case, &values, states))? {
                        return Ok(());
                    }
                }
                self.here = *span;
                self.reject("NoMatch", *span)
            }
        }
    }

    /// Emits a case of `select`. Returns true if the case matches every value.
    fn select_case(
        &mut self,
        case: &'a SelectCase,
        values: &[(Place, Type)],
        states: &mut States<'a>,
    ) -> Result<bool> {
        self.here = case.span;
        let next = self.label("next");
        let before = self.unit.code.len();
        let may_fail = self.jump_unless_in(&case.sets, values, case.span, &next)?;
        // A single comparison that skips a jump is replaced by a jump on the opposite comparison.
        if let [Instruction { op: Op::Jump { condition, target }, .. }] = &self.unit.code[before..]
            && *target == next
            && let Some(opposite) = opposite(condition)
            && &*case.state.text != "reject"
        {
            let to = self.target_label(&case.state, states)?;
            if let Some(Instruction { op, .. }) = self.unit.code.last_mut() {
                *op = Op::Jump { condition: opposite, target: to };
            }
            return Ok(false);
        }
        self.go(&case.state, states)?;
        self.mark(&next);
        Ok(!may_fail)
    }

    fn go(&mut self, to: &'a Ident, states: &mut States<'a>) -> Result<()> {
        if &*to.text == "reject" {
            return self.reject("", to.span);
        }
        let label = self.target_label(to, states)?;
        self.jump(&label);
        Ok(())
    }

    fn target_label(&mut self, to: &'a Ident, states: &mut States<'a>) -> Result<String> {
        self.state_label(to.text.clone(), states, to.span)
    }

    fn state_label(
        &mut self,
        name: Rc<str>,
        states: &mut States<'a>,
        span: Span,
    ) -> Result<String> {
        if &*name == "accept" {
            match &states.accepted {
                Some(known) if *known != self.next && self.frames.len() > 1 => {
                    return self.unsupported(
                        span,
                        "a parser in a parser that leaves stacks at different indices",
                    );
                }
                _ => states.accepted = Some(self.next.clone()),
            }
            return Ok(states.accept.clone());
        }
        let entry = (name, self.next.clone());
        if let Some(label) = states.labels.get(&entry) {
            return Ok(label.clone());
        }
        if !states.parser.states.iter().any(|state| state.name.text == entry.0) {
            return self.unsupported(span, format!("state '{}'", entry.0));
        }
        let label = self.label(&entry.0);
        states.labels.insert(entry.clone(), label.clone());
        states.waiting.push(entry);
        Ok(label)
    }

    /// Emits code that rejects the packet with a parser error. An empty name keeps the current
    /// error.
    pub(super) fn reject(&mut self, error: &str, span: Span) -> Result<()> {
        let Some(label) = self.in_parser.clone() else {
            return self.unsupported(span, "this construct outside of a parser");
        };
        if !error.is_empty() {
            let at = self.checked.errors.iter().position(|one| &**one == error).unwrap_or(0);
            if let Some(Place::Number(number)) = self.parser_error.clone() {
                self.put_number(&number, &Words::known(&at.into(), number.width()));
            }
        }
        self.jump(&label);
        Ok(())
    }

    // --- the packet ----------------------------------------------------------------------------

    /// Emits `extract(header)`, or `extract(header, width)` with the width of a `varbit` in bits.
    pub(super) fn extract(&mut self, target: &'a Expr, width: Option<&'a Expr>) -> Result<()> {
        let span = target.span;
        let ty = self.ty(target);
        let Type::Fields(FieldsKind::Header, _) = ty else {
            return self.unsupported(span, format!("extract of {ty}"));
        };
        let (place, to) = match &target.kind {
            // `extract(_)` skips a header.
            ExprKind::DontCare => (self.new_place("skipped", &ty, Memory::Named)?, None),
            _ => {
                let to = self.target(target)?;
                match &to.choices[..] {
                    [only] if only.when.is_empty() => (only.place.clone(), Some(to)),
                    // If the index is not constant, the header is extracted elsewhere and copied to
                    // the index.
                    _ => (self.new_place("extracted", &ty, Memory::Named)?, Some(to)),
                }
            }
        };
        let Place::Header(header) = &place else {
            return self.unsupported(span, format!("extract of {ty}"));
        };
        let length = match width {
            None if header.varies => return self.unsupported(span, "a varbit without a width"),
            None => None,
            Some(_) if !header.varies => None,
            Some(width) => Some(self.length_in_bytes(width, header.most)?),
        };
        let is_received = self.receives && to.as_ref().is_some_and(|to| to.only().is_some());
        match header.is_empty {
            true => self.put(Op::Validate { header: header.name.clone() }),
            false if is_received => self.receive(header, &ty, span)?,
            false => self.put(Op::Extract { header: header.name.clone(), length }),
        }
        match to {
            Some(to) if to.only_place().is_none() && to.choices.len() != 1 => {
                let known = self.known.clone();
                self.known.insert(header.name.clone());
                self.store_place(&to, &place)?;
                self.known = known;
                self.forget(&header.name);
            }
            Some(to) => {
                self.known.insert(header.name.clone());
                for sibling in &to.choices[0].siblings {
                    self.invalidate(sibling);
                }
            }
            None => self.forget(&header.name),
        }
        self.move_on(target)
    }

    /// Emits code that extracts a header into a separate location, and copies it to the header that
    /// the program can change. A resubmitted packet gets the extracted bytes from the separate
    /// location.
    fn receive(&mut self, header: &Rc<place::Header>, ty: &Type, span: Span) -> Result<()> {
        let known = self.received.get(&header.name).cloned();
        let received = match known {
            Some(place) => place,
            None => {
                let name = format!("received_{}", header.name);
                let place = self.new_place(&name, ty, Memory::Named)?;
                self.received.insert(header.name.clone(), place.clone());
                place
            }
        };
        let Place::Header(from) = &received else { return Ok(()) };
        if header.varies {
            return self.unsupported(span, "a resubmission after a parser of a varbit");
        }
        self.put(Op::Extract { header: from.name.clone(), length: None });
        self.validate(header)?;
        let known = self.known.clone();
        self.known.extend([header.name.clone(), from.name.clone()]);
        for ((_, to), (_, from)) in header.fields.iter().zip(&from.fields) {
            self.copy_place(to, from, span)?;
        }
        self.known = known;
        Ok(())
    }

    /// Emits code that invalidates a header which only serves to skip bytes, unless the packet may
    /// leave with these bytes.
    fn forget(&mut self, header: &str) {
        if !self.puts_back {
            self.invalidate(header);
        }
    }

    /// Increments the index that `next` has in a header stack, after the program extracted
    /// `stack.next`, or a member of it if it is a header union.
    fn move_on(&mut self, target: &'a Expr) -> Result<()> {
        let mut at = target;
        while let ExprKind::Member { base, name } = &at.kind {
            if &*name.text == "next"
                && let ty @ Type::Stack(_, size) = &self.ty(base)
            {
                if let Place::Parts(parts) = self.place_as(base, ty)? {
                    let next = self.next.entry(parts.path.clone()).or_insert(0);
                    *next = (*next + 1).min(*size);
                }
                return Ok(());
            }
            at = base;
        }
        Ok(())
    }

    /// Emits code that converts a length in bits to bytes. Returns the metadata field with the
    /// result. The code rejects the packet if the length is above `most` bits or not a number of
    /// whole bytes.
    fn length_in_bytes(&mut self, bits: &'a Expr, most: u32) -> Result<String> {
        let value = self.value_as(bits, &Type::Bit(32))?;
        let length = self.saved(value.low(), 32);
        let rest = self.word(Alu::And, &value.low(), &Operand::Immediate(7), 32);
        let whole = self.label("whole_bytes");
        self.jump_compared(Relation::Eq, &rest, &Operand::Immediate(0), &whole);
        self.reject("ParserInvalidArgument", bits.span)?;
        self.mark(&whole);
        let fits = self.label("fits");
        let limit = Operand::Immediate(u64::from(most) + 1);
        self.jump_compared(Relation::Lt, &Operand::Field(length.clone()), &limit, &fits);
        self.reject("HeaderTooShort", bits.span)?;
        self.mark(&fits);
        self.alu(Alu::Shr, &length, Operand::Immediate(3));
        let FieldRef::Meta(name) = length else {
            return self.unsupported(bits.span, "this width");
        };
        Ok(name)
    }

    /// Emits `lookahead<type>()`, and returns the location of the value.
    pub(super) fn lookahead(&mut self, ty: &Type, span: Span) -> Result<Place> {
        let (bytes, bits) = match width(ty) {
            Some(bits) => (bits.div_ceil(8), bits),
            None => (0, 0),
        };
        let to = self.new_place("ahead", ty, Memory::Temporary)?;
        if let Place::Header(header) = &to {
            if header.varies {
                return self.unsupported(span, "lookahead of a varbit");
            }
            self.put(match header.is_empty {
                true => Op::Validate { header: header.name.clone() },
                false => Op::Lookahead { header: header.name.clone() },
            });
            self.known.insert(header.name.clone());
            return Ok(to);
        }
        // A header of the pipeline with the bits of the value.
        let whole = match bytes {
            0 => ty.clone(),
            bytes => Type::Bit(bytes * 8),
        };
        let ahead = self.bare_header(&whole, span)?;
        let Place::Header(header) = &ahead else {
            return self.unsupported(span, format!("lookahead of {ty}"));
        };
        self.put(Op::Lookahead { header: header.name.clone() });
        let known = self.known.clone();
        self.known.insert(header.name.clone());
        match (&to, bits) {
            (Place::Number(number), 1..) => {
                if let Some(Place::Number(all)) = header.fields.first().map(|one| &one.1) {
                    let value = self.load(&all.slice(bytes * 8 - bits, bits));
                    self.put_number(number, &value);
                }
            }
            (Place::Parts(parts), _) => {
                for ((_, to), (_, from)) in parts.members.iter().zip(&header.fields) {
                    self.copy_place(to, from, span)?;
                }
            }
            _ => return self.unsupported(span, format!("lookahead of {ty}")),
        }
        self.known = known;
        self.invalidate(&header.name);
        Ok(to)
    }

    /// Emits `advance(bits)`.
    pub(super) fn advance(&mut self, bits: &'a Expr) -> Result<()> {
        let span = bits.span;
        if let Some(Value::Number(number)) = self.constant(bits) {
            let bits = number.to_u32().unwrap_or(u32::MAX);
            if bits % 8 != 0 || bits / 8 >= MOST_BYTES {
                return self.unsupported(
                    span,
                    format!("an advance that is not of whole bytes below {MOST_BYTES}"),
                );
            }
            if bits > 0 {
                let Place::Header(header) = self.bare_header(&Type::Bit(bits), span)? else {
                    return Ok(());
                };
                self.skip(&header.name, None);
            }
            return Ok(());
        }
        // A longer one leads beyond each packet that a header can hold.
        let length = self.length_in_bytes(bits, MOST_SKIPPED)?;
        let Place::Header(header) = self.bare_header(&Type::Varbit(MOST_SKIPPED), span)? else {
            return Ok(());
        };
        self.skip(&header.name, Some(length));
        Ok(())
    }

    /// Emits code that skips bytes of the packet by extracting them into a header that is used for
    /// nothing else.
    fn skip(&mut self, header: &str, length: Option<String>) {
        self.put(Op::Extract { header: header.to_owned(), length });
        self.forget(header);
    }

    // --- sets ----------------------------------------------------------------------------------

    /// Returns the location and type of a key of `select` or of constant entries.
    pub(super) fn key_value(&mut self, key: &'a Expr) -> Result<(Place, Type)> {
        let ty = match self.ty(key) {
            Type::ListLiteral(types, _) => Type::Tuple(types),
            Type::Integer => Type::Bit(32),
            ty => ty,
        };
        Ok((self.place_as(key, &ty)?, ty))
    }

    /// Emits code that jumps to `target` if any value is outside of its set. Returns false if the
    /// sets contain all values, so that no jump is needed.
    pub(super) fn jump_unless_in(
        &mut self,
        sets: &'a [Expr],
        values: &[(Place, Type)],
        span: Span,
        target: &str,
    ) -> Result<bool> {
        let sets = match sets {
            [Expr { kind: ExprKind::List { items, .. }, .. }]
                if items.len() == values.len() && values.len() != 1 =>
            {
                items
            }
            _ => sets,
        };
        if let [set] = sets
            && values.len() != 1
        {
            return match set.kind {
                ExprKind::Default | ExprKind::DontCare => Ok(false),
                _ => self.look_up_set(set, values, target).map(|()| true),
            };
        }
        if sets.len() != values.len() {
            return self.unsupported(span, "this number of sets");
        }
        let mut may_fail = false;
        for (set, (place, ty)) in sets.iter().zip(values) {
            may_fail |= self.jump_unless_in_set(set, place, ty, target)?;
        }
        Ok(may_fail)
    }

    fn jump_unless_in_set(
        &mut self,
        set: &'a Expr,
        place: &Place,
        ty: &Type,
        target: &str,
    ) -> Result<bool> {
        match (&set.kind, place) {
            (ExprKind::Default | ExprKind::DontCare, _) => return Ok(false),
            (ExprKind::Mask { value, mask }, Place::Number(number)) => {
                let (value, mask) = (self.value_as(value, ty)?, self.value_as(mask, ty)?);
                let found = self.load(number);
                let found = self.bitwise(Alu::And, &found, &mask);
                let wanted = self.bitwise(Alu::And, &value, &mask);
                self.jump_equal(&found, &wanted, false, target);
            }
            (ExprKind::Range { low, high }, Place::Number(number)) if !is_signed(ty) => {
                let (low, high) = (self.value_as(low, ty)?, self.value_as(high, ty)?);
                let found = self.load(number);
                self.jump_less(&found, &low, true, target);
                self.jump_less(&high, &found, true, target);
            }
            (ExprKind::List { items, .. }, Place::Parts(parts)) => {
                let mut may_fail = false;
                for (item, (name, of)) in items.iter().zip(self.members(ty)) {
                    let member = parts.members.iter().find(|one| one.0 == name);
                    if let Some((_, member)) = member {
                        may_fail |= self.jump_unless_in_set(item, member, &of, target)?;
                    }
                }
                return Ok(may_fail);
            }
            (ExprKind::List { items, .. }, _) if items.len() == 1 => {
                return self.jump_unless_in_set(&items[0], place, ty, target);
            }
            _ if matches!(self.ty(set), Type::Set(_)) => {
                self.look_up_set(set, &[(place.clone(), ty.clone())], target)?;
            }
            (_, Place::Number(number)) if is_number(ty) => {
                let wanted = self.value_as(set, ty)?;
                let found = self.load(number);
                self.jump_equal(&found, &wanted, false, target);
            }
            _ => {
                let wanted = self.place_as(set, ty)?;
                self.jump_same(place, &wanted, false, target, set.span)?;
            }
        }
        Ok(true)
    }
}

/// Returns the opposite of a jump condition, if SWX has one.
fn opposite(condition: &Condition) -> Option<Condition> {
    match condition {
        Condition::Compare { relation: Relation::Ne, left, right } => Some(Condition::Compare {
            relation: Relation::Eq,
            left: left.clone(),
            right: right.clone(),
        }),
        _ => None,
    }
}
