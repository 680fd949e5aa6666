"""Never a lost pod: each row of docs/never-lost.md, for a few seconds, on one real API server with two replicas."""

from collections.abc import Iterator
from typing import Any

import pytest

from .load import Verdict
from .never_lost.judge import MARK, PODS
from .never_lost.local import Local, local
from .never_lost.scenarios import SCENARIOS, Scenario, broken, play
from .registration import altered

# What a disturbance lasts that has no length of its own; the longer figures come from `python -m bench.never_lost`.
SECONDS = 2.0


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with local(tmp_path_factory.mktemp("never-lost")) as made:
        yield made


def test_nothing_but_where_a_webhook_leads_is_other_than_shipped(stage: Local) -> None:
    assert altered(stage.control_plane) == {"clientConfig"}


def test_the_judge_distinguishes_what_is_right_wrong_and_as_its_user_wrote_it(stage: Local) -> None:
    judge = stage.ground.judge
    for written in PODS:
        status, made = stage.dry_run(written)
        metadata, spec = made["metadata"], made["spec"]
        assert (status, judge(made)) == (201, Verdict.RIGHT)
        wrong: list[dict[str, Any]] = [{"tolerations": []}, {"affinity": {"nodeAffinity": {}}}, {"containers": []}]
        for other in wrong:
            assert judge({**made, "spec": {**spec, **other}}) is Verdict.WRONG
        labels = {**metadata["labels"], MARK: "another"}
        assert judge({**made, "metadata": {**metadata, "labels": labels}}) is Verdict.WRONG
        assert judge(written) is Verdict.UNMUTATED


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.name))
def test_a_promise_is_kept(stage: Local, scenario: Scenario[Local]) -> None:
    outcome = play(stage, scenario, SECONDS)
    assert broken(scenario, outcome) == []
