"""What a plan sends: what providers charge for."""

from sayagain.records import Benchmark, Record
from sayagain.runner.plan import Plan


class TargetCost(Record, frozen=True, kw_only=True):
    """What is sent to one target when every case succeeds at the first attempt.

    Cases, seconds of audio (speech to text), characters of text (text to speech).
    """

    target: str
    cases: int
    audio_s: float
    characters: int


def cost_of(plan: Plan) -> tuple[TargetCost, ...]:
    """Return what a plan sends, target by target."""
    costs: dict[str, TargetCost] = {}
    for stage in plan.stages:
        for case, _ in stage.cases():
            key, is_speech = case.target.key, stage.benchmark is Benchmark.STT
            so_far = costs.get(key, TargetCost(target=key, cases=0, audio_s=0.0, characters=0))
            costs[key] = TargetCost(
                target=key,
                cases=so_far.cases + 1,
                audio_s=so_far.audio_s + ((case.item.duration_s or 0.0) if is_speech else 0.0),
                characters=so_far.characters + (0 if is_speech else len(case.item.text)),
            )
    return tuple(costs.values())
