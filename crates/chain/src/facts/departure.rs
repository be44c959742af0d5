//! All runs that end with a result after which the next program runs, and the packet as they leave
//! it.
//!
//! Paths that surely lead to another result are left out first, so that most of the others need no
//! choice between paths.

use super::error::FactsError;
use super::results::ResultSet;
use slowpath_bpf::lift::Layout;
use slowpath_exec::{ArcId, Executor, NodeId, SymbolicState, Varying};
use slowpath_ir::RegionId;
use slowpath_search::{Gate, Gated, Head, Unrolled};
use slowpath_smt::TermId;

/// Offsets in `struct xdp_md` (`include/uapi/linux/bpf.h`).
const DATA: u64 = 0;
const DATA_END: u64 = 4;
const DATA_META: u64 = 8;
/// Maximum depth of a phi inside a result.
pub(super) const WRAPPED: u32 = 4;

/// The packet as all of these runs leave it.
pub(super) struct Departure {
    pub gated: Gated,
    /// Conditions for reaching the end with such a result: those of the graph, and one on the
    /// result where necessary.
    pub gates: Vec<Gate>,
    /// Length of the packet, 32 bits.
    pub length: TermId,
    /// Start of the packet, as an offset from the first byte of the packet as received, 64 bits.
    pub start: TermId,
    /// Length of the metadata in front of the packet, 32 bits.
    pub metadata: TermId,
}

impl Departure {
    /// Collects the runs of a program that end with one of `results`; `None` if there are clearly
    /// none.
    pub fn of(
        unrolled: &mut Unrolled,
        layout: &Layout,
        results: &ResultSet,
    ) -> Result<Option<Departure>, FactsError> {
        let alive = alive(unrolled, layout.result, results);
        let Some(mut gated) = Gated::of(unrolled, &alive)? else { return Ok(None) };
        let executor = &mut unrolled.executor;
        let state = gated.state.clone();
        let mut read = |executor: &mut Executor, region, offset| {
            let offset = executor.pool.constant(64, offset);
            let read = gated.paths.content(executor, &state, region, offset, 4)?;
            read.ok_or_else(|| FactsError::NotExpressible("a region has no address".into()))
        };
        let result = read(executor, layout.result, 0)?;
        let data = read(executor, layout.context, DATA)?;
        let end = read(executor, layout.context, DATA_END)?;
        let meta = read(executor, layout.context, DATA_META)?;
        let base = executor.base(layout.packet);
        let base =
            base.ok_or_else(|| FactsError::NotExpressible("the packet has no address".into()))?;
        let pool = &mut executor.pool;
        let mut wanted = pool.bool(false);
        let mask = pool.constant(32, results.mask.into());
        let masked = pool.and(result, mask);
        for &number in &results.values {
            let number = pool.constant(32, number.into());
            let equal = pool.eq(masked, number);
            wanted = pool.or(wanted, equal);
        }
        let base = pool.extract(base, 0, 32);
        let start = pool.sub(data, base);
        let start = pool.sext(start, 64);
        let length = pool.sub(end, data);
        let metadata = pool.sub(data, meta);
        let mut gates = gated.gates.clone();
        if pool.as_const(wanted) != Some(1) {
            gates.push(Gate { term: wanted, arcs: Vec::new() });
        }
        if gates.iter().any(|gate| pool.as_const(gate.term) == Some(0)) {
            return Ok(None);
        }
        Ok(Some(Departure { gated, gates, length, start, metadata }))
    }

    /// Returns the offset in the packet's region of a byte of the packet that leaves.
    pub fn place(&self, executor: &mut Executor, offset: u16) -> TermId {
        let offset = executor.pool.constant(64, offset.into());
        executor.pool.add(self.start, offset)
    }

    /// Returns the first bytes of the packet that leaves, one term each.
    pub fn bytes(
        &mut self,
        executor: &mut Executor,
        packet: RegionId,
        count: u16,
    ) -> Result<Vec<TermId>, FactsError> {
        let mut bytes = Vec::with_capacity(count.into());
        for offset in 0..count {
            let at = self.place(executor, offset);
            let byte = self.gated.paths.content(executor, &self.gated.state, packet, at, 1)?;
            bytes.push(
                byte.ok_or_else(|| FactsError::NotExpressible("the packet has no address".into()))?,
            );
        }
        Ok(bytes)
    }

    /// Returns the minimum and maximum length that need no proof.
    pub fn lengths(&self, executor: &Executor) -> (u16, u16) {
        let domain = executor.pool.domain(self.length);
        let number = |length: u64| u16::try_from(length).unwrap_or(u16::MAX);
        (number(domain.lo()), number(domain.hi()))
    }
}

/// Returns the result at an exit, 32 bits, as a term that may have to be resolved.
pub(super) fn result(
    executor: &mut Executor,
    state: &SymbolicState,
    region: RegionId,
) -> Option<TermId> {
    let zero = executor.pool.constant(64, 0);
    executor.content(state, region, zero, 4)
}

/// Returns, by number, the arcs over which a run may reach an end with one of `results`.
///
/// Works backwards and keeps, for each node, the result term that all paths from there share, if
/// there is one. Over an arc to a merge, a phi is the value that arrives over this arc.
fn alive(unrolled: &mut Unrolled, region: RegionId, results: &ResultSet) -> Vec<bool> {
    let mut alive = vec![false; unrolled.dag.arcs.len()];
    let mut behind: Vec<Option<CommonResult>> = vec![None; unrolled.dag.nodes.len()];
    let exits = unrolled.exits.clone();
    let mut ends: Vec<Option<TermId>> = vec![None; unrolled.dag.arcs.len()];
    for (arc, state) in &exits {
        ends[arc.index()] = result(&mut unrolled.executor, state, region);
    }
    for node in (0..unrolled.dag.nodes.len()).rev() {
        let out = unrolled.dag.nodes[node].out.clone();
        let mut found: Option<CommonResult> = None;
        for arc in out {
            let way = match unrolled.dag[arc].head {
                Head::Exit(_) => ends[arc.index()]
                    .map_or(Some(CommonResult::Any), |r| Some(CommonResult::Result(r))),
                Head::Node(next) => match behind.get(next.index()).copied().flatten() {
                    Some(CommonResult::Result(term)) => {
                        let executor = &mut unrolled.executor;
                        Some(CommonResult::Result(arriving(executor, term, next, arc, WRAPPED)))
                    }
                    other => other,
                },
            };
            let Some(way) = way else { continue };
            if let CommonResult::Result(term) = way
                && let Some(value) = unrolled.executor.pool.as_const(term)
                && !results.contain(value as u32)
            {
                continue;
            }
            alive[arc.index()] = true;
            found = match (found, way) {
                (None, way) => Some(way),
                (Some(CommonResult::Result(a)), CommonResult::Result(b)) if a == b => {
                    Some(CommonResult::Result(a))
                }
                _ => Some(CommonResult::Any),
            };
        }
        behind[node] = found;
    }
    alive
}

/// Common property of paths to the end.
#[derive(Clone, Copy, Debug)]
enum CommonResult {
    /// The same result.
    Result(TermId),
    /// Nothing in common.
    Any,
}

/// Returns the value of a term in runs that take an arc to a node.
pub(super) fn arriving(
    executor: &mut Executor,
    term: TermId,
    node: NodeId,
    arc: ArcId,
    deep: u32,
) -> TermId {
    if let Some(varying) = executor.path_dependence(term) {
        return match varying {
            Varying::Merged { node: merged, incoming } if merged == node => {
                incoming.iter().find(|(from, _)| *from == arc).map_or(term, |&(_, value)| value)
            }
            _ => term,
        };
    }
    let children: Vec<TermId> = executor.pool.children(term).collect();
    if deep == 0 || children.is_empty() {
        return term;
    }
    let values: Vec<TermId> =
        children.iter().map(|&child| arriving(executor, child, node, arc, deep - 1)).collect();
    if values == children { term } else { executor.pool.rebuild(term, &values) }
}
