"""GPUPolicies over the policies of files, as the default install serves both; a broken one replaces no working one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.files.loading import find_policies
from podberth.kube.documents import load_documents
from podberth.kube.yaml_text import as_yaml
from podberth.lint.findings import Level
from podberth.lint.runner import lint
from podberth.telemetry.metrics import POLICY_STATES
from snapshots import environment, policy

from .access import grant
from .following import Following
from .podberth_process import POLICIES, ROOT
from .registration import for_every_pod, pointed, shipped

# Compiling the library takes half a second of a free core; a busy machine has less.
COMPILES_SECONDS = 60.0
POLICIES_PATH = "/apis/podberth.io/v1alpha1/gpupolicies"
_BROKEN = """
  mutations:
  - annotations:
      mark.example/value: |
        gpu.count > 1 ?
          'many' :
          gpu.cuont
"""


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        plane.kubectl("apply", "-f", str(ROOT / "manifests" / "base" / "gpupolicy-crd.yaml"))
        plane.await_crds()
        following = Following(plane, tmp_path_factory.mktemp("following"))
        following.add("hgx-h100-8", "hgx-0")
        with following:
            yield following
        plane.check()


def put(following: Following, text: str) -> None:
    following.control_plane.kubectl("apply", "-f", "-", input=text)


def mark(following: Following) -> str:
    """Return what the policy `mark` writes; empty where nothing does."""
    for each in following.ask(gpu_pod(2))["patch"]:
        if each["path"] == "/metadata/annotations":
            return str(each["value"].get("mark.example/value", ""))
    return ""


def until(following: Following, expected: str) -> None:
    wait_for(lambda: mark(following) == expected, timeout_seconds=COMPILES_SECONDS, what=lambda: mark(following))


def states(following: Following) -> dict[str, float]:
    return {each: following.metric("policy_objects", state=each) for each in POLICY_STATES}


def marking(value: str) -> str:
    return policy("mark", f"  mutations:\n  - annotations:\n      mark.example/value: \"'{value}'\"")


def linted(following: Following, name: str, directory: Path) -> list[str]:
    """Return the errors that lint finds in a policy as kubectl prints it, by the name that podberth gives it."""
    file = directory / "policy.yaml"
    file.write_text(following.control_plane.kubectl("get", "gpupolicy", name, "-o", "yaml").stdout)
    report = lint(find_policies([file]).policies, environment())
    errors = [str(each.problem) for each in report.findings if each.level == Level.ERROR]
    return [each.replace(str(file), f"gpupolicy/{name}") for each in errors]


def test_without_any_object_the_files_decide(following: Following) -> None:
    assert following.answers() == following.built()
    assert following.metric("policies_loaded") >= len(list(POLICIES.glob("*/policy.yaml")))
    assert following.metric("watch_objects", resource="gpupolicies.podberth.io") == 0
    assert set(states(following).values()) == {0}


def test_a_policy_decides_when_it_is_made_changed_and_deleted(following: Following) -> None:
    put(following, marking("first"))
    until(following, "first")
    put(following, marking("second"))
    until(following, "second")
    following.control_plane.kubectl("delete", "gpupolicy", "mark")
    until(following, "")


def test_a_broken_policy_never_replaces_a_working_one_and_costs_no_other(following: Following, tmp_path: Path) -> None:
    put(following, marking("good"))
    until(following, "good")
    put(following, policy("mark", _BROKEN))
    wait_for(lambda: states(following)["outdated"] == 1, timeout_seconds=COMPILES_SECONDS, what="it to be reported")
    assert mark(following) == "good"
    put(following, policy("other", "  mutations:\n  - labels: {other.example/value: \"'there'\"}"))
    wait_for(
        lambda: "other.example" in str(following.ask(gpu_pod(1))),
        timeout_seconds=COMPILES_SECONDS,
        what="the other policy",
    )
    assert mark(following) == "good"
    [line] = following.reported("policies: mark cannot be used; the last good one stays in force")
    assert line["generation"] == 2
    assert line["problems"] == linted(following, "mark", tmp_path)
    assert line["problems"][0].startswith("gpupolicy/mark:")
    put(following, marking("fixed"))
    until(following, "fixed")
    wait_for(lambda: states(following)["outdated"] == 0, timeout_seconds=COMPILES_SECONDS, what="none to be outdated")
    following.control_plane.kubectl("delete", "gpupolicy", "mark", "other")
    until(following, "")
    wait_for(
        lambda: "other.example" not in str(following.ask(gpu_pod(1))),
        timeout_seconds=COMPILES_SECONDS,
        what="the other policy to be gone",
    )


def conditions(following: Following, name: str) -> dict[str, Any]:
    """Return the conditions that speak of a policy as it is now, by type."""
    document = following.control_plane.api.read(f"{POLICIES_PATH}/{name}")
    status, generation = document["status"], document["metadata"]["generation"]
    found = {each["type"]: each for each in status["conditions"]}
    return found if all(each.get("observedGeneration") == generation for each in (status, *found.values())) else {}


def await_condition(following: Following, name: str, status: str) -> dict[str, Any]:
    def reached() -> bool:
        found = conditions(following, name)
        return "Compiled" in found and bool(found["Compiled"]["status"] == status)

    wait_for(reached, timeout_seconds=COMPILES_SECONDS, what=lambda: str(conditions(following, name)))
    return conditions(following, name)


def test_the_status_says_what_became_of_a_policy(following: Following, tmp_path: Path) -> None:
    put(following, marking("good"))
    good = await_condition(following, "mark", "True")
    assert (good["Active"]["status"], good["Active"]["message"]) == ("True", "")
    put(following, policy("mark", _BROKEN))
    broken = await_condition(following, "mark", "False")
    assert broken["Compiled"]["message"].splitlines() == linted(following, "mark", tmp_path)
    assert broken["Active"]["status"] == "False"
    assert following.control_plane.kubectl("get", "gpol", "mark").stdout.split()[-2] == "False"
    document = following.control_plane.api.read(f"{POLICIES_PATH}/mark")
    writers = [each["manager"] for each in document["metadata"]["managedFields"] if each.get("subresource") == "status"]
    assert writers == ["podberth-status"]
    following.control_plane.kubectl("delete", "gpupolicy", "mark")
    until(following, "")


def test_a_policy_is_never_silent_about_that_nobody_reads_it(following: Following) -> None:
    """While podberth is away it says so; then podberth's own word replaces that, of a disabled policy too."""
    kubectl, off = following.control_plane.kubectl, policy("other", "  disabled: true")
    following.podberth.stop()
    put(following, marking("unread"))
    put(following, off)
    for name in ("mark", "other"):
        assert kubectl("get", "gpol", name).stdout.split()[-3:-1] == ["Unknown", "Unknown"]
        said = following.control_plane.api.read(f"{POLICIES_PATH}/{name}")["status"]["conditions"]
        assert {each["message"] for each in said} == {"no replica of podberth has read it"}
    following.podberth.start()
    await_condition(following, "mark", "True")
    compiled = await_condition(following, "other", "Unknown")["Compiled"]
    assert compiled["reason"] == "Disabled"
    assert not compiled["lastTransitionTime"].startswith("1970")
    kubectl("delete", "gpupolicy", "mark", "other")
    until(following, "")


def test_who_finds_a_status_that_is_right_leaves_it_alone(following: Following) -> None:
    def versions() -> dict[str, str]:
        found = following.control_plane.api.read(POLICIES_PATH)["items"]
        return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}

    for name in ("mark", "other"):
        put(following, marking(name).replace("name: mark", f"name: {name}"))
        await_condition(following, name, "True")
    before = versions()
    following.podberth.stop()
    following.podberth.start()
    # Looked at in order of name: when the last one has its status, the others have been looked at.
    put(following, marking("last").replace("name: mark", "name: zz-last"))
    await_condition(following, "zz-last", "True")
    assert {name: version for name, version in versions().items() if name != "zz-last"} == before
    following.control_plane.kubectl("delete", "gpupolicy", "mark", "other", "zz-last")
    until(following, "")


def test_a_broken_policy_is_refused_at_kubectl_apply_in_the_words_of_lint(following: Following, tmp_path: Path) -> None:
    [entry] = [each for each in shipped()[1]["webhooks"] if each["name"].startswith("policies.")]
    configuration = pointed({**shipped()[1], "webhooks": [entry]}, following.podberth.endpoint)
    following.control_plane.apply(configuration)
    kubectl = following.control_plane.kubectl
    file = tmp_path / "mark.yaml"
    file.write_text(as_yaml(load_documents(policy("mark", _BROKEN), "")[0][0].document))
    report = lint(find_policies([file]).policies, environment())
    said = [str(each.problem) for each in report.findings if each.level == Level.ERROR]
    [expected] = [each.replace(str(file), "gpupolicy/mark") for each in said]

    def refusal() -> str:
        return kubectl("apply", "--dry-run=server", "-f", str(file), check=False).stderr

    wait_for(lambda: expected in refusal(), timeout_seconds=COMPILES_SECONDS, what=lambda: expected + refusal())
    assert kubectl("apply", "-f", str(file), check=False).returncode
    assert not kubectl("get", "gpupolicy", "mark", "--ignore-not-found").stdout
    # A good one is let in, and is not replaced by a broken one.
    put(following, marking("good"))
    until(following, "good")
    assert expected in kubectl("apply", "-f", str(file), check=False).stderr
    assert states(following)["outdated"] == 0
    kubectl("delete", "gpupolicy", "mark")
    # With podberth away it fails open: policies can still be written.
    following.podberth.stop()
    put(following, policy("mark", _BROKEN))
    kubectl("delete", "gpupolicy", "mark")
    kubectl("delete", configuration["kind"], configuration["metadata"]["name"])
    following.podberth.start()


def test_it_may_write_the_status_and_nothing_else_of_a_policy(following: Following) -> None:
    token = following.token_file.read_text().strip()
    api = Api(following.control_plane.url, token, following.control_plane.ca_file)
    try:
        put(following, marking("good"))
        until(following, "good")
        name = "mark"
        assert api.raw("PATCH", f"{POLICIES_PATH}/{name}")[0] == 403
        assert api.raw("DELETE", f"{POLICIES_PATH}/{name}")[0] == 403
        assert api.raw("POST", POLICIES_PATH)[0] == 403
    finally:
        api.close()
        following.control_plane.kubectl("delete", "gpupolicy", "mark")
        until(following, "")


# ---- over files -----------------------------------------------------------------------------------------------------


def seen(following: Following) -> str:
    """Return what the policy `seen` writes, which a file has; empty where nothing does."""
    for each in following.ask(gpu_pod(2))["patch"]:
        if each["path"] == "/metadata/annotations":
            return str(each["value"].get("seen.example/nodes", ""))
    return ""


def until_seen(following: Following, expected: str) -> None:
    wait_for(lambda: seen(following) == expected, timeout_seconds=COMPILES_SECONDS, what=lambda: seen(following))


def replacing(value: str) -> str:
    return policy("seen", f"  mutations:\n  - annotations:\n      seen.example/nodes: {value}", order=1)


def active(following: Following) -> tuple[str, str, str]:
    """Return what the condition Active says about the object `seen`, where it speaks of its generation."""
    found = conditions(following, "seen").get("Active", {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def until_active(following: Following, *expected: str) -> None:
    wait_for(
        lambda: active(following) == expected,
        timeout_seconds=COMPILES_SECONDS,
        what=lambda: f"{expected}; got {active(following)}",
    )


def test_an_object_replaces_the_policy_of_its_name_and_its_deletion_brings_it_back(following: Following) -> None:
    of_file, kubectl = seen(following), following.control_plane.kubectl
    place = f"the policy of this name in {following.policy_file}"
    assert of_file
    put(following, replacing("\"'replaced'\""))
    until_seen(following, "replaced")
    until_active(following, "True", "Replaces", f"replaces {place}")
    assert following.reported(f"policies: seen of {following.policy_file}: a GPUPolicy replaces it")
    # A broken object: the last good one decides, and, where there was none, that of the file.
    put(following, replacing("gpu.cuont"))
    wait_for(lambda: states(following)["outdated"] == 1, timeout_seconds=COMPILES_SECONDS, what="it to be reported")
    kept = "not compiled; where an earlier generation was in force, that one stays in force"
    until_active(following, "False", "NotCompiled", f"{kept}, else {place}")
    assert seen(following) == "replaced"
    following.podberth.stop()
    following.podberth.start()
    assert seen(following) == of_file
    assert states(following)["outdated"] == 1
    kubectl("delete", "gpupolicy", "seen")
    wait_for(lambda: states(following)["outdated"] == 0, timeout_seconds=COMPILES_SECONDS, what="it to be gone")
    assert seen(following) == of_file


def test_a_disabled_object_switches_off_the_policy_of_its_name(following: Following) -> None:
    before, kubectl = following.answers(), following.control_plane.kubectl
    put(following, policy("seen", "  disabled: true"))
    until_seen(following, "")
    place = f"the policy of this name in {following.policy_file}"
    until_active(following, "False", "Disabled", f"spec.disabled is true; it switches off {place}")
    assert kubectl("get", "gpol", "seen").stdout.split()[-3:-1] == ["Unknown", "False"]
    assert states(following)["disabled"] == 1
    # What is switched off need not compile, and is compiled as soon as it is switched on.
    put(following, policy("seen", f"  disabled: true{_BROKEN}"))
    assert seen(following) == ""
    kubectl("patch", "gpupolicy", "seen", "--type=merge", "-p", '{"spec": {"disabled": false}}')
    wait_for(lambda: states(following)["outdated"] == 1, timeout_seconds=COMPILES_SECONDS, what="it to be reported")
    assert seen(following) == ""
    kubectl("delete", "gpupolicy", "seen")
    wait_for(lambda: following.answers() == before, timeout_seconds=COMPILES_SECONDS, what="the file to decide again")


def test_a_file_that_appears_turns_what_an_object_says(following: Following) -> None:
    put(following, marking("object"))
    until(following, "object")
    assert await_condition(following, "mark", "True")["Active"]["reason"] == "InForce"
    file = following.policies / "mark.yaml"
    file.write_text(marking("file"))

    def reason() -> str:
        return str(conditions(following, "mark")["Active"]["reason"])

    wait_for(lambda: reason() == "Replaces", timeout_seconds=COMPILES_SECONDS, what=reason)
    assert mark(following) == "object"
    file.unlink()
    wait_for(lambda: reason() == "InForce", timeout_seconds=COMPILES_SECONDS, what=reason)
    following.control_plane.kubectl("delete", "gpupolicy", "mark")
    until(following, "")


def test_without_the_definition_the_files_decide(following: Following) -> None:
    plane, before = following.control_plane, following.answers()
    put(following, policy("seen", "  disabled: true"))
    until_seen(following, "")
    plane.kubectl("delete", "crd", "gpupolicies.podberth.io")
    wait_for(lambda: following.answers() == before, timeout_seconds=COMPILES_SECONDS, what="the file to decide again")
    following.podberth.stop()
    following.podberth.start()
    assert following.answers() == before
    assert following.metric("watch_kinds", resource="gpupolicies.podberth.io", state="not served") == 1
    plane.kubectl("apply", "-f", str(ROOT / "manifests" / "base" / "gpupolicy-crd.yaml"))
    plane.await_crds()
    following.podberth.stop()
    following.podberth.start()


def test_a_policy_that_was_never_good_has_nothing_in_its_place(following: Following) -> None:
    before = following.answers()
    put(following, policy("mark", _BROKEN))
    wait_for(lambda: states(following)["broken"] == 1, timeout_seconds=COMPILES_SECONDS, what="it to be reported")
    assert following.answers() == before
    assert following.reported("policies: mark cannot be used; nothing is in its place")
    # Who has just started knows no last good version either, and serves the others.
    following.podberth.stop()
    following.podberth.start()
    assert following.answers() == before
    assert states(following)["broken"] == 1
    following.control_plane.kubectl("delete", "gpupolicy", "mark")
    wait_for(lambda: states(following)["broken"] == 0, timeout_seconds=COMPILES_SECONDS, what="it to be gone")


# ---- PriorityClasses ------------------------------------------------------------------------------------------------


def created(following: Following) -> tuple[int, str, int, list[str]]:
    """Return the status of a creation that goes through podberth, the pod's class and priority, and what is said."""
    answer = following.control_plane.api.ask("POST", "/api/v1/namespaces/default/pods?dryRun=All", gpu_pod())
    spec = answer.document.get("spec", {})
    said = [each for each in answer.warnings if "PriorityClass" in each]
    return answer.status, spec.get("priorityClassName", ""), spec.get("priority", 0), said


def test_no_pod_is_refused_for_a_priority_class_that_the_cluster_does_not_have(following: Following) -> None:
    plane = following.control_plane
    configurations = [pointed(each, following.podberth.endpoint) for each in shipped()]
    training = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "training"}}
    without = (
        201,
        "",
        0,
        ["podberth urgent: priorityClassName left as it is: the cluster has no PriorityClass training"],
    )
    with_it: tuple[int, str, int, list[str]] = (201, "training", 7, [])

    def until_created(expected: tuple[int, str, int, list[str]]) -> None:
        wait_for(
            lambda: created(following) == expected,
            timeout_seconds=COMPILES_SECONDS,
            what=lambda: f"{expected}; got {created(following)}",
        )

    plane.apply(*configurations)
    try:
        put(following, policy("urgent", "  mutations: [{priorityClassName: \"'training'\"}]"))
        until_created(without)
        plane.apply({**training, "value": 7})
        until_created(with_it)
        plane.kubectl("delete", "priorityclass", "training")
        until_created(without)
    finally:
        plane.kubectl("delete", "gpupolicy", "urgent", "--ignore-not-found")
        plane.kubectl("delete", "priorityclass", "training", "--ignore-not-found")
        for each in configurations:
            plane.kubectl("delete", each["kind"], each["metadata"]["name"])


# ---- policies for every pod -----------------------------------------------------------------------------------------


def every_pod_sent(following: Following, name: str) -> tuple[str, str]:
    """Return status and message of what is said about a policy of scope All; empty: nothing is."""
    status = following.control_plane.api.read(f"{POLICIES_PATH}/{name}").get("status", {})
    found = {each["type"]: each for each in status.get("conditions", ())}
    condition = found.get("EveryPodSent", {"status": "", "message": ""})
    return condition["status"], condition["message"]


def until_said(following: Following, name: str, expected: str) -> str:
    """Return the message once the condition has this status."""
    wait_for(
        lambda: every_pod_sent(following, name)[0] == expected,
        timeout_seconds=COMPILES_SECONDS,
        what=lambda: f"{name} to be {expected!r}; got {every_pod_sent(following, name)}",
    )
    return every_pod_sent(following, name)[1]


def test_a_policy_for_every_pod_says_whether_it_is_sent_them(following: Following) -> None:
    plane = following.control_plane
    narrow = [pointed(each, following.podberth.endpoint) for each in shipped()]
    wide = [pointed(each, following.podberth.endpoint) for each in for_every_pod()]
    plane.apply(*narrow)
    try:
        put(following, policy("everyone", "  scope: All\n  mutations:\n  - labels: {everyone.example/is: \"'here'\"}"))
        said = until_said(following, "everyone", "False")
        assert said.startswith(
            "scope All, and the MutatingWebhookConfiguration sends pods with GPUs and of gangs only;"
        )
        # Nobody touches the policy: what podberth reads of the configurations decides.
        plane.apply(*wide)
        assert until_said(following, "everyone", "True") == ""
        plane.apply(*narrow)
        until_said(following, "everyone", "False")
        put(following, policy("everyone", "  mutations:\n  - labels: {everyone.example/is: \"'here'\"}"))
        until_said(following, "everyone", "")
    finally:
        plane.kubectl("delete", "gpupolicy", "everyone", "--ignore-not-found")
        for each in narrow:
            plane.kubectl("delete", each["kind"], each["metadata"]["name"])
