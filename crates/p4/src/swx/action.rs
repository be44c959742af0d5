//! Translates actions of P4 tables to SWX actions.

use super::layout::FieldOfParam;
use super::number::{Number, Piece};
use super::place::{Place, is_number, width};
use super::table::{Made, Properties};
use super::*;
use crate::annotations::control_name;
use crate::xdp::layout::{ActionLayout, Number as Numbered};
use slowpath_swx::spec::{Action, ActionRef as SwxActionRef, DefaultAction, Use};

impl<'a> Generator<'a> {
    /// Emits an action of a table as an SWX action, outside of the pipeline's instruction list.
    pub(super) fn action(&mut self, listed: &'a ActionRef) -> Result<Made> {
        let Some(decl) = self.action_of(&listed.action).and_then(|id| self.nodes.get(&id).copied())
        else {
            return self.unsupported(listed.action.span, "this action");
        };
        let DeclKind::Action { params, .. } = &*decl.kind else {
            return self.unsupported(listed.action.span, "this action");
        };
        let mut fields = Vec::new();
        let mut numbers: Vec<Numbered> = Vec::new();
        let mut given = Vec::new();
        let mut data = Vec::new();
        let mut directed = 0;
        for param in params {
            if param.direction != Direction::None {
                given.push(self.directed(Some(listed), directed));
                directed += 1;
                continue;
            }
            let ty = self.declared(param.id);
            let Some(bits) = width(&ty).filter(|_| is_number(&ty)) else {
                return self
                    .unsupported(param.name.span, format!("an action parameter of type {ty}"));
            };
            let number = self.parameter(&param.name.text, bits, numbers.len(), &mut fields);
            data.extend(number.pieces.iter().map(|piece| (piece.field.clone(), piece.bits)));
            let name = param.name.text.clone();
            numbers.push(Numbered { name, width: bits, offset: 0, size: 0 });
            given.push(Given::Place(Place::Number(number)));
        }
        let instructions = self.action_body(decl, given)?;
        let path = match self.paths.get(&decl.id) {
            Some(path) => path.clone(),
            None => control_name(decl),
        };
        let name = self.define_action(&path, &data, instructions)?;
        let marked = |name: &str| listed.annotations.iter().any(|one| &*one.name.text == name);
        Ok(Made {
            name,
            layout: ActionLayout {
                name: Rc::from(control_name(decl)),
                id: 0,
                params: numbers,
                in_entries: !marked("defaultonly"),
                as_default: !marked("tableonly"),
            },
            fields,
        })
    }

    /// Creates the fields of the action data that hold a parameter, appends them to `fields`, and
    /// returns the location of the parameter.
    fn parameter(
        &self,
        name: &str,
        width: u32,
        at: usize,
        fields: &mut Vec<FieldOfParam>,
    ) -> Number {
        let count = width.div_ceil(64).max(1);
        let mut pieces = Vec::new();
        for part in 0..count {
            let bits = (width - part * 64).min(64);
            let name: String = plain_name(name).chars().take(LONGEST_NAME - 4).collect();
            let name = if count == 1 { name } else { format!("{name}_{part}") };
            fields.push(FieldOfParam { name: name.clone(), param: at, low: part * 64, bits });
            let whole = bits.next_multiple_of(8).max(8);
            let field = FieldRef::Data(name);
            pieces.push(Piece { field, bits: whole, low: 0, width: bits, whole: true });
        }
        Number { pieces, header: None }
    }

    fn action_body(&mut self, decl: &'a Decl, given: Vec<Given<'a>>) -> Result<Vec<Instruction>> {
        let unit = std::mem::replace(&mut self.unit, Unit::new("a"));
        let frames = std::mem::take(&mut self.frames);
        let loops = std::mem::take(&mut self.loops);
        let exit = self.exit.take();
        let (in_action, known) = (self.in_action, self.known.clone());
        self.in_action = true;
        let around = self.here;
        if self.sources.files.get(decl.span.file as usize).is_some_and(|file| !file.is_standard) {
            self.here = decl.name.span;
        }
        let origin = self.origin();
        let done = self.run_action(decl, given);
        self.here = around;
        self.in_action = in_action;
        self.known = known;
        (self.frames, self.loops, self.exit) = (frames, loops, exit);
        let unit = std::mem::replace(&mut self.unit, unit);
        done?;
        Ok(unit.finish(Op::Return, origin))
    }

    /// Adds an action to the pipeline and returns its name. If the pipeline has an action of the
    /// same path with the same data and instructions, returns this action's name instead.
    pub(super) fn define_action(
        &mut self,
        path: &str,
        data: &[(FieldRef, u32)],
        instructions: Vec<Instruction>,
    ) -> Result<String> {
        let line = Line::default();
        let fields: Vec<Field> = data
            .iter()
            .filter_map(|(field, bits)| match field {
                FieldRef::Data(name) => Some(Field { line, name: name.clone(), bits: *bits }),
                _ => None,
            })
            .collect();
        let same = self.layout.actions.iter().filter(|(of, _)| of == path).find(|(_, name)| {
            self.spec.actions.iter().any(|one| {
                let kind = one
                    .data
                    .as_ref()
                    .and_then(|data| self.spec.structs.iter().find(|kind| kind.name == *data));
                one.name == *name
                    && one.instructions == instructions
                    && kind.map_or(&[][..], |kind| &kind.fields) == fields
            })
        });
        if let Some((_, name)) = same {
            return Ok(name.clone());
        }
        if fields.iter().map(|field| field.bits / 8).sum::<u32>() >= MOST_BYTES {
            return self.unsupported(
                Span::default(),
                format!("an action whose parameters take {MOST_BYTES} bytes or more"),
            );
        }
        let name = self.name(path);
        let data = match fields.is_empty() {
            true => None,
            false => {
                let kind = self.name(&format!("{name}_data"));
                let name = kind.clone();
                self.spec.structs.push(Struct { line, name, fields, variable: false });
                Some(kind)
            }
        };
        self.spec.actions.push(Action { line, name: name.clone(), data, instructions });
        self.layout.actions.push((path.to_owned(), name.clone()));
        Ok(name)
    }

    /// Returns the default action of a table. Adds `NoAction` to `references` if it is the default
    /// action but not in the table's list of actions.
    pub(super) fn default_action(
        &mut self,
        properties: &Properties<'a>,
        made: &[Made],
        references: &mut Vec<SwxActionRef>,
    ) -> Result<DefaultAction> {
        let line = Line::default();
        let constant = properties.table.has_constant_default;
        let at = match properties.table.default {
            Some(default) => {
                self.action_of(default).and_then(|id| self.listed(properties, id)).map(|one| one.0)
            }
            None => self.no_action(properties),
        };
        let Some(at) = at else {
            if let Some(default) = properties.table.default
                && self
                    .action_of(default)
                    .and_then(|id| self.nodes.get(&id))
                    .is_none_or(|decl| &*decl.name.text != "NoAction")
            {
                return self.unsupported(default.span, "a default action outside of the list");
            }
            let origin = self.origin();
            let instructions = vec![Instruction { origin, ..Instruction::new(Op::Return) }];
            let name = self.define_action("NoAction", &[], instructions)?;
            let used = Use::DefaultOnly;
            references.push(SwxActionRef { line, name: name.clone(), used });
            return Ok(DefaultAction { line, name, arguments: Vec::new(), constant });
        };
        let one = &made[at];
        let mut arguments = Vec::new();
        let decl = self.action_of(&properties.table.actions[at].action);
        let Some(DeclKind::Action { params, .. }) =
            decl.and_then(|id| self.nodes.get(&id)).map(|decl| &*decl.kind)
        else {
            return self.unsupported(Span::default(), "this default action");
        };
        let undirected: Vec<usize> = params
            .iter()
            .enumerate()
            .filter(|(_, param)| param.direction == Direction::None)
            .map(|(at, _)| at)
            .collect();
        for field in &one.fields {
            let param = undirected.get(field.param).copied().unwrap_or(0);
            let value = properties.table.default.and_then(|expr| self.entry_argument(expr, param));
            let ty = self.declared(params[param].id);
            let known = match value {
                Some(value) => match self.constant(value) {
                    Some(known) => Some(self.literal(&known, &ty, value.span)?),
                    None => None,
                },
                None => None,
            };
            let Some(words) = known else {
                return self.unsupported(
                    value.map_or(Span::default(), |value| value.span),
                    "an argument of a default action that is not constant",
                );
            };
            let part = words.words.get((field.low / 64) as usize);
            let number = match part {
                Some(Operand::Immediate(number)) => *number,
                _ => 0,
            };
            arguments.push((field.name.clone(), number.to_string()));
        }
        Ok(DefaultAction { line, name: one.name.clone(), arguments, constant })
    }
}
