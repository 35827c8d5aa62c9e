"""Scale-out: parts of a store on the workers of a Ray cluster, or of this machine; lost ones are done again."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cls_probe.errors import ClsProbeError, EncoderError, InputError, MissingDependencyError
from cls_probe.store.manifest import Part

_ATTEMPTS = 3
"""How often a part is begun before its loss ends the run."""
_log = logging.getLogger("cls_probe")


def need_ray() -> None:
    """Refuse before the work when Ray is not installed."""
    try:
        import ray  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("the engine ray needs the package ray; pip install 'cls-probe[ray]'") from error


def threads_of(workers: int, here: int) -> int:
    """Threads of one worker: $OMP_NUM_THREADS, else those of this process divided among the workers."""
    named = os.environ.get("OMP_NUM_THREADS", "")
    return int(named) if named.isdecimal() and int(named) else max(1, here // workers)


def run_parts(
    worker: type,
    options: Mapping[str, Any],
    parts: Sequence[range],
    *,
    address: str | None,
    workers: int,
    gpus: int,
) -> Iterator[Part]:
    """Give every part to one of the actors `worker(**options)`, whose `encode(part)` writes it; yield what they wrote.

    An actor that dies is replaced and its part begun again. What an actor raises of our own errors is raised here.
    """
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ours = not ray.is_initialized()
    if ours:
        _connect(address, workers)
    try:
        _check_room(ray.cluster_resources(), workers, gpus)
        yield from _hand_out(ray.remote(num_cpus=1, num_gpus=gpus)(worker), options, parts, workers)
    finally:
        if ours:
            ray.shutdown()


def _connect(address: str | None, workers: int) -> None:
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        ray.init(address="local", num_cpus=workers, include_dashboard=False, **quiet)
        return
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        line = str(error).split("\n")[0]
        raise InputError(f"no Ray cluster at {address!r} ({line}); start one with: ray start --head") from error


def _check_room(there: Mapping[str, float], workers: int, gpus: int) -> None:
    """Refuse more workers than there are cores or GPUs for, since they would wait without end."""
    for name, each in (("CPU", 1), ("GPU", gpus)):
        if there.get(name, 0) < workers * each:
            raise InputError(f"{workers} workers need {workers * each} {name}s; Ray has {there.get(name, 0):g}")


def _hand_out(actor: Any, options: Mapping[str, Any], parts: Sequence[range], workers: int) -> Iterator[Part]:
    import ray

    waiting, begun = list(reversed(parts)), dict.fromkeys(parts, 0)
    running: dict[Any, tuple[Any, range]] = {}

    def give(hand: Any) -> None:
        part = waiting.pop()
        begun[part] += 1
        running[hand.encode.remote(part)] = hand, part

    for _ in range(min(workers, len(parts))):
        give(actor.remote(**options))
    while running:
        (finished,), _ = ray.wait(list(running))
        hand, part = running.pop(finished)
        try:
            yield ray.get(finished)
        except ray.exceptions.RayActorError as error:
            if begun[part] == _ATTEMPTS or _refused(error):
                raise _lost(part, error) from error
            _log.info("a worker died; rows %d to %d are begun again", part.start, part.stop - 1)
            waiting.append(part)
            hand = actor.remote(**options)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, ClsProbeError):
                raise error.cause from error
            raise
        if waiting:
            give(hand)


def _refused(error: Exception) -> bool:
    """Say whether the actor could not even be made, as another would not be."""
    return isinstance(getattr(error, "cause", None), ClsProbeError)


def _lost(part: range, error: Exception) -> ClsProbeError:
    cause = getattr(error, "cause", None)
    if isinstance(cause, ClsProbeError):
        return cause
    return EncoderError(
        f"the workers at rows {part.start} to {part.stop - 1} died {_ATTEMPTS} times; the parts before are kept, "
        "and the same command resumes (with fewer workers, where memory ran out)"
    )
