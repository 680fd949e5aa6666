"""A MIG layout that changes while it is read is read again, and no failed call of the first reading is reported."""

from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from podberth.agent import nvidia, nvml
from podberth.topology.node import Unseen

_GONE = pynvml.NVML_ERROR_INVALID_ARGUMENT
_BEFORE, _AFTER = ((1, "MIG 1g.5gb"),), ((7, "MIG 2g.10gb"),)


def _read(monkeypatch: pytest.MonkeyPatch, layouts: list[object], placement: Callable[[int], Any]) -> tuple[Any, Any]:
    """Return the result for a GPU whose MIG devices are these layouts, one after the other; None: the list fails."""

    def devices(_: object) -> object:
        found = layouts.pop(0) if len(layouts) > 1 else layouts[0]
        if found is None:
            raise pynvml.NVMLError(_GONE)
        return found

    monkeypatch.setattr(nvml, "mig_mode", lambda _: (True, True))
    monkeypatch.setattr(nvml, "mig_devices", devices)
    monkeypatch.setattr(nvml, "placement", lambda _, instance: placement(instance))
    asking = nvml.NvmlRound()
    asking.unseen.append(Unseen(what="product", why="is not UTF-8", gpus=(0,)))
    _, instances = nvidia._mig(asking, 0, object())
    return [each.id for each in instances], [each.what for each in asking.unseen]


def _of_after(instance: int) -> tuple[int, int]:
    if instance != 7:
        raise pynvml.NVMLError(_GONE)
    return 0, 2


def test_calls_that_met_a_changing_layout_are_not_reported_if_the_next_reading_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _read(monkeypatch, [_BEFORE, _AFTER], _of_after) == ([7], ["product"])
    assert _read(monkeypatch, [None, _AFTER], _of_after) == ([7], ["product"])


def test_what_a_stable_layout_hides_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _read(monkeypatch, [_BEFORE], _of_after) == ([1], ["product", "MIG placements"])
    assert set(_read(monkeypatch, [_BEFORE, None], _of_after)[1]) == {"product", "MIG devices"}


def test_a_layout_that_goes_on_to_change_is_one_report(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts: list[object] = [_BEFORE, None, _BEFORE, None, _BEFORE, None]
    assert _read(monkeypatch, layouts, _of_after) == ([], ["product", "MIG devices"])
