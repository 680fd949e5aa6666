"""Objects that the API server refuses, each by one value, with what ``podberth check`` says at which field.

Besides, objects that a CRD takes, though the API server refuses what an operator makes from them.
``tests/unit/check/test_refused_objects.py`` checks what podberth says, and ``tests/e2e/test_refused_objects.py`` what a
real API server does with each of them.
"""

from typing import Final, NamedTuple

POD: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  tolerations: []
  volumes: []
  containers:
  - {name: c, image: i}
"""
DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: c, image: i}]}
"""
STATEFUL_SET: Final = DEPLOYMENT.replace("Deployment", "StatefulSet")
JOB: Final = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  template:
    spec: {restartPolicy: OnFailure, containers: [{name: c, image: i}]}
"""
CRON_JOB: Final = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: a}
spec:
  schedule: "@daily"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
"""
RIGHT: Final = (POD, DEPLOYMENT, STATEFUL_SET, JOB, CRON_JOB)
"""The same objects without the values."""


class Refused(NamedTuple):
    """An object that the API server refuses."""

    text: str
    field: str
    """The field at which podberth reports the value."""
    said: str
    """The beginning of podberth's message."""


def _container(parts: str, field: str, said: str) -> Refused:
    return Refused(POD.replace("image: i", f"image: i, {parts}"), f"spec.containers[0]{field}", said)


def _toleration(parts: str, field: str, said: str) -> Refused:
    return Refused(POD.replace("tolerations: []", f"tolerations: [{parts}]"), f"spec.tolerations[0].{field}", said)


def _volume(parts: str, field: str, said: str) -> Refused:
    return Refused(POD.replace("volumes: []", f"volumes: [{parts}]"), f"spec.volumes[0]{field}", said)


def _pod(parts: str, field: str, said: str) -> Refused:
    return Refused(POD.replace("  volumes", f"  {parts}\n  volumes"), f"spec.{field}", said)


def _metadata(text: str, parts: str, field: str, said: str) -> Refused:
    return Refused(text.replace("metadata: {name: a}", f"metadata: {{{parts}}}"), f"metadata.{field}", said)


def _spec(text: str, parts: str, field: str, said: str) -> Refused:
    return Refused(text.replace("\nspec:\n", f"\nspec:\n  {parts}\n"), f"spec{field}", said)


_LABEL: Final = "want at most 63 lower-case letters, digits and '-', with no '-' at an end"
_SUBDOMAIN: Final = "want at most 253 lower-case letters, digits, '-' and '.', with neither at an end"


def _mount(parts: str, field: str, said: str) -> Refused:
    text = POD.replace("volumes: []", "volumes: [{name: v}]").replace("image: i", f"image: i, volumeMounts: [{parts}]")
    return Refused(text, f"spec.containers[0].volumeMounts[0]{field}", said)


_MOUNTS: Final = "volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]"

REFUSED: Final = (
    _container(
        "resources: {requests: {cpu: 1500m}, limits: {cpu: 1}}",
        ".resources.requests.cpu",
        "got 1500m, above the limit of 1; want no more than the limit",
    ),
    _container(
        "resources: {requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 1}}",
        ".resources.requests[nvidia.com/gpu]",
        "got 2, above the limit of 1; want no more than the limit",
    ),
    _container(
        "resources: {claims: [{name: gpu}]}",
        ".resources.claims[0].name",
        "got gpu, which is none of the pod's resourceClaims",
    ),
    Refused(
        POD.replace("tolerations: []", "resourceClaims: [{name: gpus, resourceClaimName: mine}]").replace(
            "image: i", "image: i, resources: {claims: [{name: gpu}]}"
        ),
        "spec.containers[0].resources.claims[0].name",
        "got gpu, which is none of the pod's resourceClaims; did you mean gpus?",
    ),
    _pod(
        "resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}",
        "resources.limits[nvidia.com/gpu]",
        "got nvidia.com/gpu for the pod as a whole, want it in the resources of a container",
    ),
    _container("ports: [{containerPort: 70000}]", ".ports[0].containerPort", "got 70000, want a port from 1 to 65535"),
    _container("ports: [{containerPort: 0}]", ".ports[0].containerPort", "got 0, want a port from 1 to 65535"),
    _container("ports: [{name: http}]", ".ports[0]", "got no containerPort, want one"),
    _container("ports: [{containerPort: 1, hostPort: -1}]", ".ports[0].hostPort", "got -1, want a port"),
    _container("ports: [{containerPort: 1, name: over-fifteen-characters}]", ".ports[0].name", "got 'over-fifteen-"),
    _container(
        "ports: [{containerPort: 1, name: http}, {containerPort: 2, name: http}]",
        ".ports[1].name",
        "got http for two ports of the container, want a name for each",
    ),
    _container("env: [{value: a}]", ".env[0]", "got no name, want one"),
    _container("env: [{name: A=B}]", ".env[0].name", "got 'A=B', want printable ASCII characters without '='"),
    _container("env: [{name: A, valueFrom: {}}]", ".env[0].valueFrom", "got no source, want fieldRef, "),
    _container(
        "env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
        ".env[0].valueFrom",
        "got valueFrom beside a value, want one of them",
    ),
    _container("envFrom: [{prefix: A}]", ".envFrom[0]", "got no source, want configMapRef or secretRef"),
    Refused(POD.replace("name: c", "name: C_1"), "spec.containers[0].name", f"got 'C_1', {_LABEL}"),
    Refused(
        POD.replace("volumes: []", "volumes: [{name: v}]").replace("image: i", f"image: i, {_MOUNTS}"),
        "spec.containers[0].volumeMounts[1].mountPath",
        "got /a for two volumeMounts of the container, want a path for each",
    ),
    _mount("{name: v}", "", "got no mountPath, want one"),
    _mount("{mountPath: /a}", "", "got no name, want that of a volume"),
    _mount("{name: w, mountPath: /a}", ".name", "got w, which no volume of the pod has"),
    _mount("{name: v, mountPath: /a, subPath: /b}", ".subPath", "got /b, want a relative path without"),
    _mount("{name: v, mountPath: /a, subPathExpr: b/../..}", ".subPathExpr", "got b/../.., want a relative path"),
    _mount("{name: v, mountPath: /a, subPath: b, subPathExpr: c}", ".subPathExpr", "got c beside subPath b, want one"),
    _toleration("{key: a, operator: Exists, value: b}", "value", "got b beside operator Exists, want no value, or"),
    _toleration("{operator: Equal}", "operator", "got Equal without a key, want a key, or Exists for all taints"),
    _toleration("{key: a b, operator: Exists}", "key", "got 'a b', want a key such as"),
    _toleration("{key: a, value: b c}", "value", "got 'b c', want at most 63 letters"),
    _toleration(
        "{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 3}",
        "effect",
        "got NoSchedule beside tolerationSeconds, want NoExecute",
    ),
    _volume("{name: v, emptyDir: {}, configMap: {name: m}}", "", "got emptyDir and configMap, want one of them"),
    _volume("{emptyDir: {}}", "", "got no name, want one"),
    _volume("{name: ''}", "", "got no name, want one"),
    Refused(
        POD.replace("volumes: []", "volumes: [{name: v}, {name: v}]"),
        "spec.volumes[1].name",
        "got v for two volumes, want a name for each",
    ),
    _volume("{name: v, secret: {}}", ".secret", "got no secretName, want one"),
    _volume("{name: v, configMap: {}}", ".configMap", "got no name, want one"),
    _volume("{name: v, persistentVolumeClaim: {}}", ".persistentVolumeClaim", "got no claimName, want one"),
    _volume("{name: v, hostPath: {}}", ".hostPath", "got no path, want one"),
    _volume("{name: v, csi: {}}", ".csi", "got no driver, want one"),
    _volume("{name: v, nfs: {server: s}}", ".nfs", "got no path, want one"),
    _volume("{name: V_1}", ".name", f"got 'V_1', {_LABEL}"),
    _pod("restartPolicy: never", "restartPolicy", "got 'never'; did you mean Never?"),
    _pod("hostname: a.b", "hostname", f"got 'a.b', {_LABEL}"),
    _pod("serviceAccountName: a_b", "serviceAccountName", f"got 'a_b', {_SUBDOMAIN}"),
    _pod("nodeSelector: {a b: c}", "nodeSelector[a b]", "got 'a b', want a key such as"),
    _pod("activeDeadlineSeconds: 0", "activeDeadlineSeconds", "got 0, want 1 to 2147483647"),
    _metadata(POD, "name: a_b", "name", f"got 'a_b', {_SUBDOMAIN}"),
    _metadata(POD, "name: a, labels: {app: a b}", "labels.app", "got 'a b', want at most 63 letters"),
    _metadata(POD, "name: a, annotations: {-a: b}", "annotations[-a]", "got '-a', want a key such as"),
    _metadata(DEPLOYMENT, "name: a, labels: {a b: c}", "labels[a b]", "got 'a b', want a key such as"),
    _metadata(STATEFUL_SET, "name: a.b", "name", f"got 'a.b', {_LABEL}"),
    _metadata(CRON_JOB, f"name: {'a' * 53}", "name", "got 53 characters, want 52 at most: its Jobs have 11 more"),
    _spec(DEPLOYMENT, "replicas: -1", ".replicas", "got -1, want 0 or more"),
    _spec(DEPLOYMENT, "minReadySeconds: -1", ".minReadySeconds", "got -1, want 0 or more"),
    _spec(JOB, "parallelism: -1", ".parallelism", "got -1, want 0 or more"),
    _spec(JOB, "backoffLimit: -1", ".backoffLimit", "got -1, want 0 or more"),
    _spec(JOB, "completionMode: Indexed\n  parallelism: 2", "", "got no completions, want the number of pods"),
    _spec(JOB, "backoffLimitPerIndex: 1", ".backoffLimitPerIndex", "got backoffLimitPerIndex, want completionMode"),
    Refused(
        _spec(
            JOB, "podFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, values: [1]}}]}", "", ""
        ).text,
        "spec.template.spec.restartPolicy",
        "got OnFailure, want Never: the Job has a podFailurePolicy",
    ),
    Refused(JOB.replace("OnFailure", "never"), "spec.template.spec.restartPolicy", "got 'never'; did you mean Never?"),
    _spec(CRON_JOB, "failedJobsHistoryLimit: -1", ".failedJobsHistoryLimit", "got -1, want 0 or more"),
    Refused(
        CRON_JOB.replace("{spec: {template", "{spec: {completions: -1, template"),
        "spec.jobTemplate.spec.completions",
        "got -1, want 0 or more",
    ),
)

JOB_SET: Final = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a}
spec:
  replicatedJobs:
  - name: w
    template: {spec: {template: {spec: {restartPolicy: never, containers: [{name: c, image: i}]}}}}
"""
PYTORCH_JOB: Final = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  pytorchReplicaSpecs:
    Worker: {restartPolicy: never, template: {spec: {containers: [{name: pytorch, image: i}]}}}
"""
REFUSED_LATER: Final = (
    Refused(
        JOB_SET,
        "spec.replicatedJobs[0].template.spec.template.spec.restartPolicy",
        "got 'never'; did you mean Never?",
    ),
    Refused(PYTORCH_JOB, "spec.pytorchReplicaSpecs.Worker.restartPolicy", "got 'never'; did you mean Never?"),
)
"""Objects that a CRD takes; the API server refuses what the operator makes from them: a Job of a JobSet
(kubernetes-sigs/jobset pkg/controllers/jobset_controller.go createJobs), a pod of a PyTorchJob
(kubeflow/training-operator pkg/core/pod.go SetRestartPolicy).
"""
