"""Accounts, fragmentation and figures, by examples that can be worked out by hand."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET  # of our own drawings

import pytest
from bench.placement import plots, report
from bench.placement.accounts import Account, Ask
from bench.placement.fragments import Fragmentation
from bench.placement.outcome import Trial, work_out
from bench.placement.overlay import RACK, WHOLE, Machine, Unit
from bench.placement.replay import allocated, ask_of, trial
from bench.placement.trace import TracePod

LARGE, SMALL = "nvidia.com/mig-3g.20gb", "nvidia.com/mig-2g.10gb"
MEMORY_MIB = {LARGE: 19968, SMALL: 9856}
CPU_ONLY = Ask(cpu_milli=1000, memory_mib=1)


def machine(
    name: str = "m", *, whole: int = 0, parts: Sequence[tuple[str, float]] = (), domains: Sequence[Sequence[int]] = ()
) -> Machine:
    units = [Unit(gpu=number, resource=WHOLE, size=1.0) for number in range(whole)]
    units += [
        Unit(gpu=whole, resource=resource, size=size, memory_mib=MEMORY_MIB[resource]) for resource, size in parts
    ]
    return Machine(
        name=name,
        kind="kind",
        cpu_milli=8000,
        memory_mib=100,
        gpus=sum(unit.size for unit in units),
        units=tuple(units),
        domains=tuple(map(tuple, domains)),
        node={"metadata": {"name": name, "labels": {"name": name}}},
        config_map={},
    )


def whole(count: int = 1, **other: int | str) -> Ask:
    return Ask(**{"cpu_milli": 1000, "memory_mib": 1, "resource": WHOLE, "count": count, **other})  # type: ignore[arg-type]


def pod(gpus: int = 1, milli: int = 1000, name: str = "p") -> TracePod:
    return TracePod(name=name, cpu_milli=1000, memory_mib=1, gpus=gpus, gpu_milli=milli if gpus else 0, created=0)


def placed(one: TracePod, resource: str = WHOLE, node: str = "m") -> Trial:
    return Trial(pod=one, ask=Ask(cpu_milli=1000, memory_mib=1, resource=resource, count=one.gpus), node=node)


# ---- accounts -------------------------------------------------------------------------------------------------------


def test_a_pod_takes_cpu_memory_and_devices() -> None:
    account = Account(machine(whole=3))
    held = account.place(whole(2, cpu_milli=3000, memory_mib=40))
    assert (account.cpu_milli, account.memory_mib, len(account.free), held.size) == (5000, 60, 1, 2.0)


@pytest.mark.parametrize("ask", [whole(3), whole(cpu_milli=8001), whole(memory_mib=101), whole(resource=LARGE)])
def test_what_does_not_fit_is_refused(ask: Ask) -> None:
    account = Account(machine(whole=2))
    assert not account.hosts(ask)
    with pytest.raises(ValueError, match=r"^m: got a pod that asks for "):
        account.place(ask)


def test_several_gpus_are_taken_from_the_domain_that_has_the_fewest_that_are_enough() -> None:
    account = Account(machine(whole=7, domains=[(0, 1, 2, 3), (4, 5)]))
    held = account.place(whole(2))
    assert {unit.gpu for unit in held.units} == {4, 5}
    assert held.together


def test_one_gpu_comes_from_outside_the_domains_while_there_is_one() -> None:
    account = Account(machine(whole=3, domains=[(0, 1)]))
    assert [unit.gpu for unit in account.place(whole()).units] == [2]


def test_gpus_of_several_domains_are_not_together() -> None:
    account = Account(machine(whole=4, domains=[(0, 1), (2, 3)]))
    assert not account.place(whole(3)).together
    assert not Account(machine(whole=2)).place(whole(2)).together
    assert Account(machine(whole=1)).place(whole()).together


def dra_machine(gpus: int = 1) -> Machine:
    """Return a machine of GPUs that are cut as pods come, in two halves or four quarters."""
    cuts = [(WHOLE, 40960, 8, (0,)), (LARGE, 19968, 4, (0, 4)), (SMALL, 9856, 2, (0, 2, 4, 6))]
    units = tuple(
        Unit(
            gpu=gpu,
            resource=resource if resource == WHOLE else f"driver {resource}",
            size=size / 8,
            memory_mib=memory,
            device=f"{gpu}:{size}:{start}",
            slices=frozenset(range(start, start + size)),
        )
        for gpu in range(gpus)
        for resource, memory, size, starts in cuts
        for start in starts
    )
    return replace(machine(), gpus=gpus, units=units)


def claim(mib: int) -> Ask:
    return Ask(cpu_milli=1000, memory_mib=1, count=1, claim_mib=mib)


def test_a_device_that_is_allocated_takes_all_that_overlap_it() -> None:
    account = Account(dra_machine())
    held = account.place(claim(9800), ["0:2:2"])
    assert (held.size, account.free_gpus) == (0.25, 0.75)
    assert sorted(unit.device for unit in account.free) == ["0:2:0", "0:2:4", "0:2:6", "0:4:4"]
    assert [account.hosts(ask) for ask in (whole(), claim(19900), claim(40960))] == [False, True, False]
    with pytest.raises(ValueError, match=r"^m: got a pod that asks for "):
        account.place(claim(9800), ["0:4:0"])


def test_a_claim_is_for_devices_of_a_driver_alone() -> None:
    assert not Account(machine(whole=1, parts=[(LARGE, 0.5)])).hosts(claim(4800))
    assert Account(dra_machine(2)).hosts(whole(2))


# ---- fragmentation --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workload", "fragmented"),
    [
        ([whole()], 0.75),  # what is cut serves nobody who wants a whole one
        ([whole(2)], 0.75),
        ([whole(3)], 2.75),  # it cannot run here: all of it
        ([whole(cpu_milli=8001)], 2.75),
        ([whole(memory_mib=101)], 2.75),
        ([CPU_ONLY], 2.75),  # the paper's x-axis: who wants no GPU cannot be given any
        ([whole(resource=LARGE)], 2.25),
        ([whole(resource=SMALL)], 2.5),
        ([whole(resource="nvidia.com/mig-7g.40gb")], 2.75),
        ([whole(), whole(resource=LARGE)], (0.75 + 2.25) / 2),
        ([whole(), whole(), whole(), CPU_ONLY], (3 * 0.75 + 2.75) / 4),
        ([whole(terms=json.dumps([{"matchExpressions": [{"key": "name", "operator": "In", "values": ["m"]}]}]))], 0.75),
        ([whole(terms=json.dumps([{"matchExpressions": [{"key": "name", "operator": "In", "values": ["n"]}]}]))], 2.75),
    ],
)
def test_fragmentation_by_hand(workload: list[Ask], fragmented: float) -> None:
    one = machine(whole=2, parts=[(LARGE, 0.5), (SMALL, 0.25)])
    assert Fragmentation(workload, [one]).of(Account(one)) == pytest.approx(fragmented)


def test_fragmentation_follows_what_is_placed() -> None:
    one = machine(whole=2)
    account, fragmentation = Account(one), Fragmentation([whole(2)], [one])
    assert fragmentation.of(account) == 0
    account.place(whole())
    assert fragmentation.of(account) == 1.0
    account.place(whole())
    assert fragmentation.of(account) == 0
    other = Account(one)
    other.place(Ask(cpu_milli=8000, memory_mib=1))
    assert fragmentation.of(other) == 2.0


@pytest.mark.parametrize(
    ("workload", "fragmented"),
    [
        ([claim(9800)], 0),
        ([claim(19900)], 0.5),  # the first GPU has half of its memory free, in two places
        ([claim(23300)], 0.5),
        ([whole()], 0.5),
        ([whole(2)], 1.5),
        ([claim(9800), whole()], 0.25),
        ([claim(9800), whole(resource=LARGE)], 0.75),  # nobody is given instances by name here
    ],
)
def test_fragmentation_of_gpus_that_are_cut_as_pods_come(workload: list[Ask], fragmented: float) -> None:
    one = dra_machine(2)
    account = Account(one)
    for device in ("0:2:0", "0:2:4"):
        account.place(claim(9800), [device])
    assert account.free_gpus == 1.5
    assert Fragmentation(workload, [one]).of(account) == pytest.approx(fragmented)


def test_what_a_layout_leaves_of_a_gpu_is_a_fragment_to_everybody() -> None:
    one = replace(machine(parts=[(SMALL, 0.25)]), gpus=1)
    assert Fragmentation([whole(resource=SMALL)], [one]).of(Account(one)) == 0.75


# ---- figures --------------------------------------------------------------------------------------------------------


def test_figures_at_the_first_refusal_and_at_the_end() -> None:
    machines = [machine(whole=2, parts=[(LARGE, 0.5), (SMALL, 0.25)], domains=[(0, 1)])]
    part = pod(milli=600)
    outcome = work_out(
        [
            placed(part, SMALL),
            Trial(pod=pod(8), ask=whole(8), reason="0/1 nodes"),
            placed(pod(2)),
            placed(part, LARGE),
            Trial(pod=pod(), ask=whole(), reason="0/1 nodes"),
            placed(pod(0), ""),
        ],
        machines,
    )
    assert (outcome.capacity_gpus, outcome.pods, outcome.first, outcome.first_small) == (2.75, 6, 1, 4)
    assert outcome.reason == "0/1 nodes"
    early, late = outcome.at_first, outcome.at_end
    assert (early.placed_pods, early.used_gpus, early.held_gpus, early.free_gpus) == (1, 0.6, 0.25, 2.5)
    assert (late.placed_pods, late.arrived_gpus, late.held_gpus, late.free_gpus) == (4, 12.2, 2.75, 0.0)
    assert late.used_gpus == pytest.approx(3.2)
    assert (late.multi, late.together, late.fragmentation) == (1, 1, 0.0)
    # 600 of 1,000 are 9,216 MiB: 2g.10gb is enough.
    assert [late.got(fit) for fit in ("right", "larger", "whole")] == [1, 1, 0]
    assert [moment.arrived_gpus for moment in outcome.curve] == pytest.approx([0, 0.6, 8.6, 10.6, 11.2, 12.2, 12.2])


def test_where_all_are_placed_the_first_moment_is_the_last() -> None:
    outcome = work_out([placed(pod(milli=100))], [machine(whole=1)])
    assert outcome.first is None
    assert outcome.at_first == outcome.at_end
    assert outcome.at_end.got("whole") == 1


def test_a_refusal_that_the_accounts_do_not_see_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^p: got refused \(no\), want a place on m$"):
        work_out([Trial(pod=pod(), ask=whole(), reason="no")], [machine(whole=1)])


def test_gangs_are_counted_by_their_pods_and_racks() -> None:
    machines = [replace(machine(name, whole=2), node=in_rack(name, rack)) for name, rack in ("ar", "br", "cs")]
    trials = [
        member("one-rack", "a"),
        member("one-rack", "b"),
        member("two-racks", "a"),
        member("two-racks", "c"),
        member("half", "b"),
        member("half", ""),
        member("none", ""),
        member("none", ""),
    ]
    outcome = work_out(trials, machines)
    end = outcome.at_end
    assert (end.gangs, end.whole_gangs, end.racked_gangs, end.half_gangs) == (4, 2, 1, 1)
    rows = {row[0]: row[1] for row in report.moments({"on": outcome}, "at_end")[1]}
    assert rows["gangs of which all pods are placed"] == "2 of 4"


def in_rack(name: str, rack: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {RACK: rack}}}


def member(gang: str, node: str) -> Trial:
    return Trial(pod=replace(pod(), gang=gang), ask=whole(), node=node)


def test_a_share_of_the_gpus_has_arrived_when_pods_have_use_for_it() -> None:
    outcome = work_out([placed(pod()), placed(pod(2)), placed(pod())], [machine(whole=4)])
    half, most = outcome.arrived(0.5), outcome.arrived(1.0)
    assert half is not None
    assert (half.placed_pods, most) == (2, outcome.at_end)
    assert outcome.arrived(1.1) is None


def test_claims_are_counted_by_what_they_were_given() -> None:
    claimed = pod(milli=600)  # 9,216 MiB
    given = [("0:2:0", 9800), ("0:4:4", 9800), ("1:8:0", 9800)]
    trials = [Trial(pod=claimed, ask=claim(mib), node="m", devices=(device,)) for device, mib in given]
    end = work_out(trials, [dra_machine(2)]).at_end
    assert [end.got(fit) for fit in ("right", "larger", "whole")] == [1, 1, 1]
    assert (end.held_gpus, end.free_gpus) == (1.75, 0.25)


def stored(**spec: object) -> dict[str, object]:
    requests = {"cpu": "1500m", "memory": "2Gi", LARGE: "1"}
    container = {"name": "main", "resources": {"requests": requests}}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}, "status": {}}


def test_what_a_stored_pod_asks_for() -> None:
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = ask_of(stored(affinity={"nodeAffinity": required}))
    assert found == Ask(cpu_milli=1500, memory_mib=2048, resource=LARGE, count=1, terms=json.dumps(terms))
    assert ask_of(stored()).terms == ""


def test_a_claim_of_a_stored_pod_is_known_by_the_name_of_its_template() -> None:
    document = stored(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "memory-9800-0a1b2c3d"}])
    del document["spec"]["containers"][0]["resources"]["requests"][LARGE]  # type: ignore[index]
    assert ask_of(document) == Ask(cpu_milli=1500, memory_mib=2048, count=1, claim_mib=9800)


def test_devices_belong_to_the_pods_that_own_the_claims() -> None:
    metadata = {"ownerReferences": [{"kind": "Pod", "name": "p"}]}
    results = [{"device": "gpu-0"}, {"device": "gpu-1"}]
    waiting = {"metadata": {"ownerReferences": [{"kind": "Pod", "name": "q"}]}}
    made = {"metadata": metadata, "status": {"allocation": {"devices": {"results": results}}}}
    assert allocated([made, waiting]) == {"p": ("gpu-0", "gpu-1")}
    assert trial(pod(), stored(nodeName="m"), ("gpu-0",)).devices == ("gpu-0",)
    assert trial(pod(), stored(), ("gpu-0",)).devices == ()


def test_what_became_of_a_stored_pod() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    refused = trial(pod(), {**stored(), "status": {"conditions": [condition]}})
    assert (refused.node, refused.reason) == ("", "0/1 nodes")
    bound = trial(pod(), stored(nodeName="m"))
    assert (bound.node, bound.reason) == ("m", "")


# ---- tables and pictures --------------------------------------------------------------------------------------------


def test_tables_and_pictures_of_a_replay() -> None:
    trials = [placed(pod(milli=600), SMALL), Trial(pod=pod(8), ask=whole(8), reason="0/1 <nodes>")]
    outcomes = {
        "off": work_out(trials, [machine(whole=2, parts=[(SMALL, 0.25)])]),
        "on": work_out(trials[:1], [machine(parts=[(SMALL, 0.25)])]),
    }
    header, rows = report.moments(outcomes, "at_first")
    assert header == ("", "off", "on")
    cells = {row[0]: tuple(row[1:]) for row in rows}
    assert cells["pods before it"] == ("1", "all were placed")
    assert cells["GPUs allocated"] == ("0 (11%)", "0 (100%)")
    assert list(report.reasons(outcomes)) == ["- off: 0/1 <nodes>", "- on: every pod was placed"]
    drawn = plots.drawings(outcomes)
    assert sorted(drawn) == ["allocated.svg", "fragmentation.svg", "parts.svg", "placed.svg"]
    for drawing in drawn.values():
        texts = [each.text for each in ET.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
        assert {"off", "on"} <= set(texts)
