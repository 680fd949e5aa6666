"""A folder is applied as a whole: what claims, groups and classes in it say counts for the pods beside them."""

from checking import checked
from snapshots import policy, snapshot

SEEN = snapshot(
    policy(
        "seen",
        """
  validations:
  - expression: "false"
    messageExpression: >-
      gang.source + ' of ' + string(gang.size) + ', ' + gpu.kind + ' ' + string(gpu.count) + ', '
      + gpu.claims.map(c, c.deviceClass + ' ' + string(c.count)).join(', ')
  validationActions: [Warn]
""",
    )
)
TEMPLATE = """
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata: {name: two}
    spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}
"""
CLASS = """
    apiVersion: resource.k8s.io/v1
    kind: DeviceClass
    metadata: {name: own}
    spec:
      extendedResourceName: example.com/gpu
      selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]
"""
GROUP = """
    apiVersion: scheduling.volcano.sh/v1beta1
    kind: PodGroup
    metadata: {name: ring}
    spec: {minMember: 3}
"""
POD = """
    apiVersion: v1
    kind: Pod
    metadata: {name: p, annotations: {scheduling.k8s.io/group-name: ring}}
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: two}]
      containers:
      - {name: main, image: i, resources: {claims: [{name: gpu}], limits: {example.com/gpu: 4}}}
"""


def said(*texts: str) -> str:
    return " ".join(finding.message for result in checked(*texts, by=SEEN).results for finding in result.warnings)


def test_what_stands_beside_a_pod_counts_for_it() -> None:
    assert "PodGroup of 0, claim 0, 0" in said(POD)
    assert "PodGroup of 3, whole 4, gpu.nvidia.com 2" in said(TEMPLATE, CLASS, GROUP, POD)
