"""Solves a closed queueing network of cores, with four threads each, and shared resources.

Every thread processes packets one by one. A packet of class j (the class is the network function
that processes it) takes C_j ns of computation, M_j ns of waiting without contention, and D_jk ns of
service by the shared resource k. The throughputs T_j solve, for each class,

    M_j + C_j / (1 - 3/4 u_j) + sum_k D_jk c_k r_k / (1 - r_k) = N_j / T_j

where u_j = T_j C_j / n_j is the utilisation of a core, r_k = sum_j T_j D_jk that of a resource, and
N_j = 4 n_j the number of threads on n_j cores. The left side is the time of a packet. Its second
term is Schweitzer's approximation of mean value analysis for four customers at one server. The
third term is a queue of length c r^2 / (1 - r) at a resource with utilisation r. The asymptotic
bounds follow: T_j < N_j / (M_j + C_j), and r_k < 1.

These equations are the derivatives of

    sum_j (T_j M_j - N_j log T_j - (4/3) n_j log(1 - 3/4 u_j)) - sum_k c_k (r_k + log(1 - r_k))

This function is strictly convex where all r and u are below 1, so the solution is unique, and
Newton's method finds it. Lazowska et al., Quantitative System Performance, ch. 5 to 7, describes
these building blocks.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

THREADS = 4
"""Number of threads of a core (a microengine)."""
_OTHERS = (THREADS - 1) / THREADS
_NEAR = 0.97
_BOUNDARY = 0.95
_TOLERANCE = 1e-11
_ROUNDS = 100


class Demands(NamedTuple):
    """The time in ns that a packet of each class needs on cores, memories and shared resources.

    A class is one of the functions that share the SmartNIC in a setting.
    """

    waiting: Array  # M: waiting without contention, shape (settings, classes)
    computing: Array  # C: time on a core, shape (settings, classes)
    shared: Array  # D: service by shared resources, shape (settings, classes, resources)
    queueing: Array  # c: queue length factors, shape (resources,)


class State(NamedTuple):
    """Utilisations (0 to 1) of shared resources and cores at given throughputs."""

    resources: Array  # r: utilisation of resources, shape (settings, resources)
    cores: Array  # u: utilisation of cores, shape (settings, classes)


def busy(demands: Demands, cores: Array, throughput: Array) -> State:
    """Return the utilisations of resources and cores at given throughputs in packets/ns."""
    used = np.asarray(np.einsum("sj,sjk->sk", throughput, demands.shared))
    return State(used, throughput * demands.computing / cores)


def solve(demands: Demands, cores: Array, near: Array | None = None) -> Array:
    """Solve the queueing network for the throughput of each class, in packets/ns.

    The shape of the result is (settings, classes).

    Args:
        demands: times that packets need on cores and resources.
        cores: number of cores of each class, shape (settings, classes).
        near: approximate throughputs from which the iteration starts, if known.
    """
    throughput = _inside(demands, cores, near)
    found = throughput.copy()
    active = np.arange(len(cores))
    part, number = demands, cores
    for _ in range(_ROUNDS):
        step, close = _step(part, number, throughput)
        throughput = throughput + step
        found[active] = throughput
        continuing = ~close
        if not continuing.any():
            break
        active, throughput, number = active[continuing], throughput[continuing], number[continuing]
        part = Demands(
            part.waiting[continuing], part.computing[continuing], part.shared[continuing], part[3]
        )
    return found


def _inside(demands: Demands, cores: Array, near: Array | None) -> Array:
    """Return start values of Newton's method: throughputs at which all utilisations are below 1.

    `near` are approximate throughputs, if known.
    """
    alone = THREADS * cores / (demands.waiting + demands.computing)
    throughput = alone if near is None else near
    state = busy(demands, cores, throughput)
    largest = np.maximum(state.resources.max(1, initial=0.0), state.cores.max(1))
    return np.asarray(throughput * np.minimum(1, _NEAR / largest)[:, None])


def _step(demands: Demands, cores: Array, throughput: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the next step of Newton's method, and true for each setting that has converged.

    The step is shortened where it would leave the range of valid throughputs and utilisations.
    """
    state = busy(demands, cores, throughput)
    room = 1 - state.resources
    queues = demands.queueing * state.resources / room
    slope = (
        demands.waiting
        + demands.computing / (1 - _OTHERS * state.cores)
        + np.einsum("sjk,sk->sj", demands.shared, queues)
        - THREADS * cores / throughput
    )
    full = -np.linalg.solve(curvature(demands, cores, throughput, state), slope[..., None])[..., 0]
    used = np.einsum("sj,sjk->sk", full, demands.shared)
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = (
            np.where(used > 0, room / used, np.inf).min(1, initial=np.inf),
            np.where(full < 0, -throughput / full, np.inf).min(1),
            np.where(full > 0, (1 - state.cores) * cores / (full * demands.computing), np.inf).min(
                1
            ),
        )
    share = np.minimum(1, _BOUNDARY * np.minimum.reduce(limits))
    return share[:, None] * full, (np.abs(full) / throughput).max(1) < _TOLERANCE


def curvature(demands: Demands, cores: Array, throughput: Array, state: State) -> Array:
    """Return the second derivatives of the convex function that the module's docstring defines.

    The shape is (settings, classes, classes).
    """
    bend = demands.queueing / (1 - state.resources) ** 2
    found = np.einsum("sjk,sk,slk->sjl", demands.shared, bend, demands.shared)
    classes = np.arange(cores.shape[1])
    own = _OTHERS * demands.computing**2 / cores / (1 - _OTHERS * state.cores) ** 2
    found[:, classes, classes] += own + THREADS * cores / throughput**2
    return np.asarray(found)


def wait_at(demands: Demands, cores: Array, throughput: Array, resource: int) -> Array:
    """Return the time that a packet waits at a shared resource, in ns, shape (settings, classes).

    `resource` is the index of the resource.
    """
    used = busy(demands, cores, throughput).resources[:, resource]
    queue = demands.queueing[resource] * used / (1 - used)
    return np.asarray(demands.shared[:, :, resource] * queue[:, None])
