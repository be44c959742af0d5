//! Describes the packets that leave a program as terms: the condition under which a run ends with
//! one of the wanted results, and the packet at the end of the run.
//!
//! Paths that certainly end with another result are removed first, so that most terms need no
//! choice between paths.

use super::error::FactsError;
use super::results::ResultSet;
use slowpath_bpf::lift::Layout;
use slowpath_exec::{ArcId, Executor, NodeId, SymbolicState, Varying};
use slowpath_ir::RegionId;
use slowpath_search::{Gate, Gated, Head, Unrolled};
use slowpath_smt::TermId;

/// Offset in bytes of the field `data` in `struct xdp_md` (`include/uapi/linux/bpf.h`). The next
/// constants are the offsets of `data_end` and `data_meta`.
const DATA: u64 = 0;
const DATA_END: u64 = 4;
const DATA_META: u64 = 8;
/// Maximum depth below the root of a program's result term at which phis (values that depend on the
/// path) are looked for.
pub(super) const WRAPPED: u32 = 4;

/// The packet that leaves the program, as terms that are valid for all runs with one of the given
/// results.
pub(super) struct Departure {
    pub gated: Gated,
    /// Conditions under which a run ends with one of the given results: it takes certain paths and,
    /// if necessary, its result has certain values.
    pub gates: Vec<Gate>,
    /// Length of the packet, as a term of 32 bits.
    pub length: TermId,
    /// Start of the packet as a term of 64 bits: the offset from the first byte of the packet as it
    /// was received.
    pub start: TermId,
    /// Length of the metadata in front of the packet, as a term of 32 bits.
    pub metadata: TermId,
}

impl Departure {
    /// Collects the runs of a program that end with one of `results`. Returns `None` if it is clear
    /// that every run ends with another result.
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

    /// Returns the offset, in the packet's memory region, of a byte of the leaving packet. `offset`
    /// is the offset of the byte from the start of that packet.
    pub fn place(&self, executor: &mut Executor, offset: u16) -> TermId {
        let offset = executor.pool.constant(64, offset.into());
        executor.pool.add(self.start, offset)
    }

    /// Returns the first `count` bytes of the packet that leaves the program, one term for each
    /// byte.
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

    /// Returns bounds on the length in bytes of the packet that leaves the program: the minimum and
    /// maximum of the length's term, without a solver query.
    pub fn lengths(&self, executor: &Executor) -> (u16, u16) {
        let domain = executor.pool.domain(self.length);
        let number = |length: u64| u16::try_from(length).unwrap_or(u16::MAX);
        (number(domain.lo()), number(domain.hi()))
    }
}

/// Returns the result of the program at an exit, as a term of 32 bits. The term may contain phis,
/// whose value depends on the path.
pub(super) fn result(
    executor: &mut Executor,
    state: &SymbolicState,
    region: RegionId,
) -> Option<TermId> {
    let zero = executor.pool.constant(64, 0);
    executor.content(state, region, zero, 4)
}

/// Finds the edges of the path graph over which a run may still end with one of `results`. The
/// returned list has a flag for each edge, by edge index.
///
/// The search works backwards from the exits. For each node, it keeps the result term that all
/// paths from the node to an exit have in common, if there is one. On an edge into a node where
/// paths merge, a phi is replaced by its value for this edge.
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

/// The results of all paths from a node of the path graph to the exits of the program.
#[derive(Clone, Copy, Debug)]
enum CommonResult {
    /// All paths have the result that this term describes.
    Result(TermId),
    /// The paths have different results, so the result may be any.
    Any,
}

/// Returns the value of a term in runs that arrive at `node` over the edge `arc`: a phi of this
/// node is replaced by its value for the edge. Phis more than `deep` levels below the root of the
/// term are left as they are.
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
