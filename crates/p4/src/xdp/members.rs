//! Emits action profiles and selectors: an entry names a member, or a group of members, in an array
//! map.

use num_traits::ToPrimitive;

use super::layout::{GroupsLayout, MembersLayout};
use super::*;
use crate::check::Named;

/// Largest number of members of a group without the annotation `@max_group_size`.
const MOST_IN_GROUP: u32 = 64;

/// Action profile or selector of a table.
#[derive(Clone, Debug)]
pub(super) struct Members {
    /// Name of the array map with the members.
    pub map: String,
    /// Control-plane name of the action profile or selector.
    path: String,
    /// Largest number of members.
    size: u32,
    selector: Option<Selector>,
}

/// Parameters of an action selector, which chooses a member of a group by a hash of the table's
/// selector keys.
#[derive(Clone, Debug)]
struct Selector {
    /// Name of the hash algorithm.
    algorithm: Rc<str>,
    /// Number of low bits of the hash that are used.
    width: u32,
    /// Largest number of members of a group.
    most: u32,
}

impl Members {
    /// Returns the layout of the members' maps, if each member takes `value_size` bytes.
    pub fn layout(&self, value_size: u32) -> MembersLayout {
        let groups = self.selector.as_ref().map(|one| GroupsLayout {
            map: format!("{}_groups", self.map),
            size: self.size,
            most: one.most,
        });
        let (map, name) = (self.map.clone(), self.path.clone());
        MembersLayout { name, map, value_size, size: self.size, groups }
    }
}

impl<'a> Generator<'a> {
    /// Returns the members for a table's property `implementation`. `own` is the path of the
    /// members if no other table can share them.
    pub(super) fn members_of(
        &mut self,
        instance: &Instance,
        own: Option<String>,
        table: &'a Table,
        value: &'a Expr,
    ) -> Result<Members> {
        let selector = match instance.kind() {
            "action_profile" | "ActionProfile" => None,
            "action_selector" | "ActionSelector" => {
                let Some(Some(Binding::Constant(Value::Member(_, algorithm)))) =
                    instance.args.first()
                else {
                    return self.unsupported(value.span, "a selector with this algorithm");
                };
                let most = self.group_size(value).unwrap_or(MOST_IN_GROUP);
                let size = instance.number(1).unwrap_or(1).max(1);
                let width = instance.number(2).unwrap_or(32).min(32);
                Some(Selector { algorithm: algorithm.clone(), width, most: most.min(size).max(1) })
            }
            other => {
                return self.unsupported(value.span, format!("the implementation '{other}'"));
            }
        };
        let size = instance.number(usize::from(selector.is_some())).unwrap_or(1).max(1);
        let path = own.unwrap_or_else(|| instance.path.clone());
        let map = self.map_name(&path);
        // A member contains the number of its action in the list of the table.
        let actions = crate::tables::actions_of(self.checked, table);
        if *self.members.entry(map.clone()).or_insert_with(|| actions.clone()) != actions {
            return self.unsupported(
                value.span,
                format!("'{path}' for tables with different lists of actions"),
            );
        }
        Ok(Members { map, path, size, selector })
    }

    /// Returns the number in the annotation `@max_group_size` of an instance; `None` if it is
    /// missing.
    fn group_size(&self, value: &Expr) -> Option<u32> {
        let decl = self.nodes.get(self.checked.uses.get(&value.id)?)?;
        let marked = decl.annotations.iter().find(|one| &*one.name.text == "max_group_size")?;
        match &marked.body[..] {
            [token] => token.text.parse().ok(),
            _ => None,
        }
    }

    /// Emits code that looks up the member that the entry `entry` names, and stores its address in
    /// `pointer`. The pointer is null for a member or group that the control plane did not set.
    pub(super) fn find_member(
        &mut self,
        members: &Members,
        entry: &str,
        pointer: &str,
        keys: &[(String, Type)],
        span: Span,
    ) -> Result<()> {
        let Members { map, size, selector, .. } = members;
        let value = format!("struct {map}_value");
        self.map(map, "BPF_MAP_TYPE_ARRAY", *size, "u32", &value);
        let member = self.uninitialised("member", &Type::Bit(32))?;
        match selector {
            None => {
                self.put(format!("{member} = {entry}->member;"));
                self.put(format!("{pointer} = bpf_map_lookup_elem(&{map}, &{member});"));
            }
            Some(Selector { algorithm, width, most }) => {
                let groups = format!("{map}_groups");
                self.define(
                    &format!("{map}_group"),
                    &format!(
                        "struct {map}_group {{\n    u32 count;\n    u32 members[{most}];\n}};\n"
                    ),
                );
                self.map(
                    &groups,
                    "BPF_MAP_TYPE_ARRAY",
                    *size,
                    "u32",
                    &format!("struct {map}_group"),
                );
                let group = self.fresh("group");
                self.locals.push(format!("struct {map}_group *{group};"));
                self.put(format!("{member} = {entry}->member;"));
                self.put(format!("{group} = bpf_map_lookup_elem(&{groups}, &{member});"));
                self.put(format!("if ({group} && {group}->count) {{"));
                let hash = self.compute_numbers(algorithm, keys.to_vec(), span)?;
                let bits = (1u64 << width) - 1;
                let chosen = self.save(
                    "chosen",
                    &Type::Bit(64),
                    &format!("((u32){hash} & {bits:#x}U) % {group}->count"),
                )?;
                // Without the assembly, the compiler compares 32 bits, which the verifier forgets.
                self.put(format!("asm volatile(\"\" : \"+r\"({chosen}));"));
                self.put(format!("if ({chosen} < {most}) {{"));
                self.put(format!("{member} = {group}->members[{chosen}];"));
                self.put(format!("{pointer} = bpf_map_lookup_elem(&{map}, &{member});"));
                self.put("}");
                self.put("}");
            }
        }
        self.put(format!("if ({pointer} && !{pointer}->action) {pointer} = 0;"));
        Ok(())
    }
}

impl Instance {
    /// Returns the name of the extern type.
    pub(super) fn kind(&self) -> &str {
        match &self.ty {
            Type::Extern(Named { name, .. }) => name,
            _ => "",
        }
    }

    /// Returns the constructor argument at index `at`; `None` if it is not an integer of 32 bits.
    pub(super) fn number(&self, at: usize) -> Option<u32> {
        match self.args.get(at) {
            Some(Some(Binding::Constant(Value::Number(number)))) => number.to_u32(),
            _ => None,
        }
    }
}
