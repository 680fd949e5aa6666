"""Native policies come to what a real API server makes of them: a part of the differential run; the table of kinds."""

from collections.abc import Iterator

import yaml

from controlplane.api import Api
from controlplane.cluster import ControlPlane
from differential import authorizer, expressions, mutating, rows
from differential.run import compare
from podberth.native.as_created import as_created
from podberth.native.resources import BUILT_IN, Resources
from podberth.workload.templates import templates

_POLICIES = 40
_PAIRS = 1000
_METADATA_OF_A_CLUSTER = ("creationTimestamp", "managedFields", "uid")
_EMPTY_FIELDS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a, namespace: default, annotations: {}}
spec:
  minReadySeconds: 0
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      {hostNetwork: false, hostPID: false, hostIPC: false, nodeName: "", hostname: "", subdomain: "", nodeSelector: {},
       serviceAccountName: "", priorityClassName: "", schedulerName: "", tolerations: [], shareProcessNamespace: false,
       containers: [{name: c, image: i, command: [], args: [], workingDir: "", stdin: false, tty: false}]}
  volumeClaimTemplates:
  - metadata: {name: v}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: a, namespace: default, annotations: {x: y}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: 0, hostIP: ""}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: default}
spec:
  paused: false
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: c
        image: i
        imagePullPolicy: ""
        terminationMessagePath: ""
        terminationMessagePolicy: ""
        env: [{name: a, value: ""}]
        resources: {limits: {}}
        volumeMounts: [{name: v, mountPath: /v, readOnly: false, subPath: "", subPathExpr: ""}]
      volumes: [{name: v, emptyDir: {}}]
"""


_COMPLETED = """
apiVersion: v1
kind: Pod
metadata:
  name: profiles
  annotations:
    container.apparmor.security.beta.kubernetes.io/a: unconfined
    container.apparmor.security.beta.kubernetes.io/b: runtime/default
    container.apparmor.security.beta.kubernetes.io/c: localhost/mine
    container.apparmor.security.beta.kubernetes.io/first: runtime/default
spec:
  automountServiceAccountToken: false
  securityContext: {appArmorProfile: {type: RuntimeDefault}}
  initContainers: [{name: first, image: i}]
  containers:
  - {name: a, image: i}
  - {name: b, image: i}
  - {name: c, image: i, securityContext: {privileged: false}}
  - {name: d, image: i}
---
apiVersion: v1
kind: Pod
metadata: {name: selectors, labels: {a: x, b: y}}
spec:
  automountServiceAccountToken: false
  containers: [{name: a, image: i}]
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {a: x}}
    matchLabelKeys: [b]
  affinity:
    podAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm: {topologyKey: zone, labelSelector: {}, matchLabelKeys: [a], mismatchLabelKeys: [b, c]}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {matchExpressions: [{key: d, operator: Exists}]}, matchLabelKeys: [a, c]}
---
apiVersion: v1
kind: Pod
metadata: {name: defaults}
spec:
  automountServiceAccountToken: false
  containers:
  - name: a
    image: i
    env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]
    lifecycle: {preStop: {httpGet: {port: 80}}, postStart: {exec: {command: [x]}}}
    livenessProbe: {grpc: {port: 90}}
    readinessProbe: {httpGet: {port: 80, path: ""}}
  volumes:
  - name: a
    projected:
      sources:
      - serviceAccountToken: {path: t}
      - downwardAPI: {items: [{path: q, fieldRef: {fieldPath: metadata.name}}]}
  - {name: b, downwardAPI: {items: [{path: q, resourceFieldRef: {containerName: a, resource: limits.cpu}}]}}
  - name: c
    ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ki}}}}}
  - {name: d, image: {reference: "r:5000/i:v1"}}
  - {name: e, image: {reference: r}}
  - {name: f, iscsi: {targetPortal: 1.2.3.4, iqn: "iqn.2000-01.a:b", lun: 0}}
  - {name: g, rbd: {monitors: [a], image: x}}
  - {name: h, scaleIO: {gateway: g, system: s, secretRef: {name: a}, volumeName: v}}
  - {name: i, azureDisk: {diskName: a, diskURI: "https://a.blob.core.windows.net/b/c.vhd"}}
---
apiVersion: v1
kind: Pod
metadata: {name: zero}
spec:
  automountServiceAccountToken: false
  containers:
  - {name: a, image: i, resources: {limits: {cpu: "1", memory: 1Gi}}}
  - {name: b, image: i, resources: {limits: {cpu: "0", memory: "0"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: own-amounts}
spec:
  automountServiceAccountToken: false
  resources: {limits: {cpu: "2", memory: 1Gi}, requests: {cpu: "2"}}
  containers: [{name: a, image: i}]
---
apiVersion: v1
kind: Pod
metadata: {name: sums}
spec:
  automountServiceAccountToken: false
  resources: {limits: {cpu: "4", memory: 4Gi}}
  initContainers:
  - {name: s, image: i, restartPolicy: Always, resources: {requests: {cpu: 100m}}}
  - {name: t, image: i, resources: {requests: {cpu: "2", memory: 1Mi}}}
  containers:
  - {name: a, image: i, resources: {requests: {cpu: 500m, memory: 512Mi}}}
  - {name: b, image: i, resources: {limits: {cpu: 500m, memory: 512Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: decimal}
spec:
  automountServiceAccountToken: false
  resources: {limits: {memory: 4G}}
  containers: [{name: a, image: i, resources: {requests: {cpu: 500m, memory: 5M}}}, {name: b, image: i}]
"""


def test_generated_policies_are_judged_alike(control_plane: ControlPlane) -> None:
    tally = compare(control_plane.api, policies=_POLICIES, seed=20)
    assert not tally.differing
    assert tally.pairs > _POLICIES
    # A run in which nothing is denied, warned of or refused would prove little.
    assert {"allowed", "denied", "denied, with an error", "warned", "policy refused"} == set(tally.outcomes)


def test_generated_mutations_make_the_same_objects(control_plane: ControlPlane) -> None:
    tally = mutating.compare(control_plane.api, policies=_POLICIES, seed=1)
    assert not tally.differing
    assert tally.pairs > _POLICIES
    assert {"changed", "unchanged", "denied", "policy refused"} <= set(tally.outcomes)


def test_generated_expressions_have_the_same_values(control_plane: ControlPlane) -> None:
    tally = expressions.compare(control_plane.api, pairs=_PAIRS, seed=20)
    assert not tally.differing
    assert {"a value", "no value", "refused"} <= set(tally.outcomes)


def test_each_row_is_judged_alike(control_plane: ControlPlane) -> None:
    tally = rows.compare(control_plane.api)
    assert not tally.differing
    assert tally.pairs == len(rows.ROWS)


def test_authorizer_answers_as_the_api_server_with_its_rbac_objects(control_plane: ControlPlane) -> None:
    found = authorizer.compare(control_plane.api)
    assert [each for each in found if each.ours != each.theirs] == []
    assert len(found) == len(authorizer.USERS) * len(authorizer.QUESTIONS)
    # The answers differ between users, and some questions are errors.
    assert len({each.theirs for each in found}) > len(authorizer.USERS)


def test_the_table_of_kinds_is_what_the_api_server_serves(control_plane: ControlPlane) -> None:
    served = set(_served(control_plane.api))
    assert {(each.api_version, each.kind, each.plural, each.namespaced) for each in BUILT_IN} <= served
    # What is served besides is of a gate of this control plane's, or of an operator's, as the groups of x-k8s.io are.
    own = {each for each in served if "." not in each[0].partition("/")[0] or each[0].endswith(".k8s.io/v1")}
    own = {each for each in own if not each[0].endswith(".x-k8s.io/v1")}
    left_out = {"ComponentStatus"}
    assert {kind for _, kind, _, _ in own} - {each.kind for each in BUILT_IN} <= left_out


def test_empty_and_absent_fields_are_those_of_the_api_server(control_plane: ControlPlane) -> None:
    for document in yaml.safe_load_all(_EMPTY_FIELDS):
        known = Resources().of(document["apiVersion"], document["kind"])
        assert known is not None
        path = f"/apis/apps/v1/namespaces/default/{known.plural}?dryRun=All"
        theirs, (ours, problems) = control_plane.api.request("POST", path, document), as_created(document, known, "")
        assert not problems
        for each in (theirs, ours):
            for key in _METADATA_OF_A_CLUSTER:
                each["metadata"].pop(key, None)
        assert ours == theirs


def test_a_pod_is_completed_as_the_api_server_does_at_its_creation(control_plane: ControlPlane) -> None:
    for given in yaml.safe_load_all(_COMPLETED):
        document = templates(given, namespace="default")[0].pod
        known = Resources().of("v1", "Pod")
        assert known is not None
        theirs = control_plane.api.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", given)
        ours, problems = as_created(document, known, "")
        assert not problems
        for each in (theirs, ours):
            each["metadata"] = {
                key: each["metadata"][key] for key in ("labels", "annotations") if key in each["metadata"]
            }
            each["status"].pop("conditions", None)
        assert ours == theirs


def _served(api: Api) -> Iterator[tuple[str, str, str, bool]]:
    versions = ["v1", *(each["groupVersion"] for group in api.read("/apis")["groups"] for each in group["versions"])]
    for version in versions:
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for each in api.read(path)["resources"]:
            if "/" not in each["name"]:
                yield version, each["kind"], each["name"], each["namespaced"]
