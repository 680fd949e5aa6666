"""A report that has everything: each verdict, unicode, long messages, and manifests that command their reader."""

from pathlib import Path
from typing import Any, Final

from podberth.check.result import DocumentChange, Finding, Report, Result
from podberth.kube.documents import load_documents

GOLDEN: Final = Path(__file__).parent / "unit" / "check" / "golden"
TRAIN: Final = """\
# a training job
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  template:
    spec:
      containers:
        - name: main  # the only one
          image: "registry.example/train:1"
          resources:
            limits:
              nvidia.com/gpu: "1"
      restartPolicy: Never
---
apiVersion: v1
kind: Pod
metadata: {name: notebook}
spec:
  containers: [{name: main, image: jupyter}]
"""
LONG: Final = (
    "container main: resources.limits[nvidia.com/mig-4g.5gb]: no GPU of this cluster has this MIG profile; want one of "
    "1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb; ask for the nearest: nvidia.com/mig-4g.20gb"
)
INJECTION: Final = (
    "\x1b[2J\x1b]0;owned\x07 ::error file=x::forged\n::stop-commands::x\r##[error]y "
    "\u202egnp & <b> ]]> \ud800\ufffe 100%"
)
DESCRIPTIONS: Final = {"gpu-tolerations": "Pods tolerate the taints of the nodes that their GPUs are on."}


def report() -> Report:
    """Return it."""
    (train, notebook), problems = load_documents(TRAIN, "jobs/train.yaml")
    assert problems == []
    spec = "/spec/template/spec"
    results = (
        _result(
            file="jobs/train.yaml",
            line=7,
            api_version="batch/v1",
            kind="Job",
            name="train",
            path="spec.template",
            verdict="mutated",
            warnings=(_found("queue-hint", "no queue is named; the default queue may be full", "metadata.labels", 4),),
            changes=(
                _change("gpu-tolerations", f"{spec}/tolerations", [{"key": "nvidia.com/gpu", "operator": "Exists"}]),
                DocumentChange(
                    policy="mig-right-size",
                    op="remove",
                    path=f"{spec}/containers/0/resources/limits/nvidia.com~1gpu",
                    value=None,
                    reason="nvidia.com/mig-3g.20gb instead of nvidia.com/gpu",
                ),
                DocumentChange(
                    policy="mig-right-size",
                    op="add",
                    path=f"{spec}/containers/0/resources/limits/nvidia.com~1mig-3g.20gb",
                    value="1",
                    reason="nvidia.com/mig-3g.20gb instead of nvidia.com/gpu",
                ),
            ),
            notes=(_found("gang-names", "sets the group's name; not in the document: it is the Job's UID", "", 7),),
            source=train,
        ),
        _result(file="jobs/train.yaml", line=17, name="notebook", verdict="unchanged", source=notebook),
        _result(
            file="pods/größe 1,2:b.yaml",
            line=1,
            name="mig-typo",
            verdict="denied",
            denials=(
                _found("mig-right-size", LONG, "spec.containers[0].resources.limits[nvidia.com/mig-4g.5gb]", 12),
                _found("naming", "der Name enthält \u2603 und 日本語; want ASCII", "metadata.name", 4),
            ),
        ),
        _result(file="pods/größe 1,2:b.yaml", line=20, kind="Service", name="web", verdict="skipped"),
        _result(
            file="pods/größe 1,2:b.yaml",
            line=30,
            api_version="example.com/v1",
            kind="Frobnicator",
            name="f",
            verdict="skipped",
            warnings=(_found("", "podberth knows no pod template of this kind; name it with --template-path", "", 30),),
        ),
        _result(
            file="evil.yaml",
            line=1,
            namespace=INJECTION,
            name=INJECTION,
            kind=f"Pod{INJECTION}",
            verdict="denied",
            denials=(_found("naming", INJECTION, f"metadata.labels[{INJECTION}]", 3),),
            changes=(
                DocumentChange(policy="naming", op="add", path="/metadata/labels/a", value=INJECTION, reason=INJECTION),
            ),
        ),
        _result(
            file="-",
            line=3,
            api_version="",
            kind="",
            namespace="",
            name="",
            verdict="error",
            errors=(_found("", "duplicate key 'resources'; the first is in line 2", "", 3),),
        ),
    )
    return Report(results=results, files=4, documents=7)


def _result(**values: Any) -> Result:
    return Result(**{"api_version": "v1", "kind": "Pod", "namespace": "default", "path": "", **values})


def _found(policy: str, message: str, field: str, line: int) -> Finding:
    return Finding(policy=policy, message=message, field=field, line=line)


def _change(policy: str, path: str, value: Any) -> DocumentChange:
    return DocumentChange(policy=policy, op="add", path=path, value=value, reason="tolerates nvidia.com/gpu:NoSchedule")
