"""What each ServiceAccount of manifests may do and why, what a thief of its token can do with it, and what narrows it.

By hand, and all of it: a rule that is added to a role has to be added here (test_rights_table.py), with its reason and
with what a thief does with it.
"""

from dataclasses import dataclass
from typing import Final

OPERATORS: Final = """
    jaxjobs.kubeflow.org mpijobs.kubeflow.org paddlejobs.kubeflow.org pytorchjobs.kubeflow.org tfjobs.kubeflow.org
    xgboostjobs.kubeflow.org jobs.batch jobs.batch.volcano.sh jobsets.jobset.x-k8s.io rayclusters.ray.io
    podcliques.grove.io podcliquescalinggroups.grove.io podcliquesets.grove.io sparkapplications.sparkoperator.k8s.io
    rolebasedgroups.workloads.x-k8s.io modelservings.workload.serving.volcano.sh
    ascendjobs.mindxdl.gitee.com rolesets.orchestration.aibrix.ai
"""
ROLE_INSTANCES: Final = """
    roleinstances.workloads.x-k8s.io roleinstancesets.workloads.x-k8s.io podsets.orchestration.aibrix.ai
"""
PLACEMENT: Final = """
    namespaces nodes gpupolicies.podberth.io gpupolicyexceptions.podberth.io namespacedgpupolicies.podberth.io
    deviceclasses.resource.k8s.io resourceclaims.resource.k8s.io
    resourceclaimtemplates.resource.k8s.io computedomains.resource.nvidia.com podgroups.scheduling.k8s.io
    podgroups.scheduling.run.ai podgroups.scheduling.sigs.k8s.io podgroups.scheduling.volcano.sh
    podgroups.scheduling.x-k8s.io priorityclasses.scheduling.k8s.io queues.scheduling.run.ai
    queues.scheduling.volcano.sh clusterqueues.kueue.x-k8s.io localqueues.kueue.x-k8s.io
"""
OTHER_WORKLOADS: Final = """
    pods replicationcontrollers daemonsets.apps deployments.apps replicasets.apps statefulsets.apps cronjobs.batch
    nimpipelines.apps.nvidia.com nimservices.apps.nvidia.com experiments.kubeflow.org trials.kubeflow.org
    paddlejobs.batch.paddlepaddle.org hyperpodpytorchjobs.sagemaker.amazonaws.com
    services.inference.llmaz.io inferencesets.kaito.sh workspaces.kaito.sh clusterservingruntimes.ome.io
    inferenceservices.ome.io servingruntimes.ome.io vllmruntimes.production-stack.vllm.ai
    cronworkflows.argoproj.io rollouts.argoproj.io workflows.argoproj.io notebooks.kubeflow.org
    seldondeployments.machinelearning.seldon.io
    leaderworkersets.leaderworkerset.x-k8s.io dynamocomponentdeployments.nvidia.com dynamographdeployments.nvidia.com
    rayclusterfleets.orchestration.aibrix.ai rayclusterreplicasets.orchestration.aibrix.ai
    podsets.orchestration.aibrix.ai stormservices.orchestration.aibrix.ai raycronjobs.ray.io rayjobs.ray.io
    rayservices.ray.io configurations.serving.knative.dev revisions.serving.knative.dev services.serving.knative.dev
    clusterservingruntimes.serving.kserve.io inferenceservices.serving.kserve.io
    llminferenceservices.serving.kserve.io servingruntimes.serving.kserve.io inferenceservices.serving.kubeflow.org
    clustertrainingruntimes.trainer.kubeflow.org trainingruntimes.trainer.kubeflow.org trainjobs.trainer.kubeflow.org
    appwrappers.workload.codeflare.dev modelboosters.workload.serving.volcano.sh cronjobs.batch.volcano.sh
    rolebasedgroupsets.workloads.x-k8s.io
"""
CONFIGURATIONS: Final = """
    mutatingwebhookconfigurations.admissionregistration.k8s.io/podberth
    validatingwebhookconfigurations.admissionregistration.k8s.io/podberth
"""
GUARDS: Final = " ".join(
    f"{kind}.admissionregistration.k8s.io/podberth-{name}"
    for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
    for name in ("agent", "configurations", "events", "exemption", "shared-ca", "controller", "controller-lease")
)
FLOOR: Final = " ".join(
    f"{kind}admission{each}.admissionregistration.k8s.io/podberth-floor{suffix}"
    for kind, suffixes in (("mutating", ("", "-updates")), ("validating", ("-names", "-names-unknown")))
    for each in ("policies", "policybindings")
    for suffix in suffixes
)
OWN_NAMESPACE: Final = "podberth-system"


_GRANTED: Final = "tests/e2e/test_granted_rights.py::test_what_is_not_granted_is_refused"
"""Sends every verb that a bound role does not grant, with the token of each ServiceAccount."""


@dataclass(frozen=True, slots=True)
class Row:
    """Verbs of a role on resources, as ``PLURAL.GROUP/NAME``; without a namespace in all of them."""

    role: str
    verbs: str
    resources: str
    why: str
    """What the role needs it for."""
    thief: str
    """What a thief can do with it."""
    namespace: str = ""
    guard: str = ""
    """The ValidatingAdmissionPolicy that narrows it; empty: none does."""
    proof: str = _GRANTED
    """The tests that a thief can do no more, of the guard if there is one."""

    @property
    def rights(self) -> set[tuple[str, str, str, str]]:
        """Each as role, namespace, resource, verb."""
        return {
            (self.role, self.namespace, resource, verb)
            for resource in self.resources.split()
            for verb in self.verbs.split()
        }


_EVENTS: Final = ("podberth-events", "tests/deployment/test_event_guard.py")
_AGENT: Final = ("podberth-agent", "tests/e2e/agent/test_rights.py")
_AUDIT: Final = ("podberth-audit", "tests/deployment/test_audit_guard.py")
_CONTROLLER: Final = ("podberth-controller", "tests/deployment/test_controller_guard.py")
_LEASE: Final = ("podberth-controller-lease", "tests/deployment/test_controller_guard.py")
_CONFIGURED: Final = ("podberth-configurations", "tests/deployment/test_guards.py")
_SECRET: Final = ("podberth-shared-ca", "tests/deployment/test_guards.py")
_VIEWER: Final = "tests/deployment/test_status.py::test_a_viewer_may_read_no_secret_and_of_other_namespaces_lists_alone"
_STATUS: Final = "tests/e2e/test_cluster_policies.py::test_it_may_write_the_status_and_nothing_else_of_a_policy"
_TENANTS: Final = (
    "tests/e2e/test_tenant_params.py::"
    "test_without_the_right_the_policy_fails_and_with_it_each_namespace_decides_for_itself"
)
_READ: Final = "read them in every namespace: pod templates with their environment among them"

ROWS: Final = (
    # ---- the webhook: manifests/base/rbac.yaml, components/shared-ca
    Row(
        "podberth",
        "list watch",
        PLACEMENT,
        "where pods can run, and what policies, exceptions, claims, groups and queues say",
        "read them in every namespace",
    ),
    Row("podberth", "list watch", OPERATORS + ROLE_INSTANCES, "how many pods a gang has: its owners say so", _READ),
    Row("podberth", "get", CONFIGURATIONS, "the condition EveryPodSent of policies", "read which reviews are sent"),
    Row(
        "podberth",
        "patch",
        "gpupolicies/status.podberth.io namespacedgpupolicies/status.podberth.io",
        "whether a policy compiles and counts",
        "lie about whether a policy is in force",
        proof=f"{_STATUS} {_GRANTED}",
    ),
    Row(
        "podberth",
        "create patch",
        "events.events.k8s.io",
        "warnings and errors of policies, for owners of pods",
        "say anything in its own Events, where pods are sent to podberth; never in kube-system, and of nobody else's",
        "",
        *_EVENTS,
    ),
    Row(
        "podberth",
        "list watch",
        "configmaps leases.coordination.k8s.io",
        "params, and what agents publish and renew",
        "read params and nodes",
        OWN_NAMESPACE,
    ),
    Row(
        "podberth-shared-ca",
        "get patch",
        CONFIGURATIONS,
        "caBundle",
        "have the API server trust another CA, or none: GPU pods are then refused, or pass unseen, by failurePolicy",
        "",
        *_CONFIGURED,
    ),
    Row(
        "podberth-shared-ca",
        "create",
        "secrets",
        "the authority that the replicas share",
        "make the Secret podberth-ca, and no other: no token of another ServiceAccount",
        OWN_NAMESPACE,
        *_SECRET,
    ),
    Row(
        "podberth-shared-ca",
        "get update",
        "secrets/podberth-ca",
        "the same; rotation",
        "sign a certificate that the API server trusts for podberth's Service, and for nothing else",
        OWN_NAMESPACE,
        proof="tests/e2e/test_shared_ca.py::test_the_service_account_can_do_this_and_no_more",
    ),
    # ---- the agent: manifests/base/agent.yaml, components/agent-labels, components/agent-nfd-labels
    Row("podberth-agent", "get", "nodes", "the uid of its node, which owns what it publishes", "read them"),
    Row(
        "podberth-agent",
        "get",
        "configmaps",
        "whether what it published is still there",
        "read policies, params and what other nodes publish",
        OWN_NAMESPACE,
    ),
    Row(
        "podberth-agent",
        "create patch",
        "configmaps leases.coordination.k8s.io",
        "the topology of its node, and its heartbeat",
        "lie about the GPUs of the node whose token it is, and about no other",
        OWN_NAMESPACE,
        *_AGENT,
    ),
    Row(
        "podberth-agent-labels",
        "patch",
        "nodes",
        "the node's labels, with the component agent-labels",
        "set labels of podberth.io/ on its own node",
        "",
        *_AGENT,
    ),
    Row(
        "podberth-agent-labels",
        "create patch",
        "nodefeatures.nfd.k8s-sigs.io",
        "the same by Node Feature Discovery",
        "have labels of podberth.io/ set on its own node",
        OWN_NAMESPACE,
        *_AGENT,
    ),
    # ---- the controller: manifests/components/controller
    Row("podberth-controller", "get list watch", "pods", "gangs and claims that wait", _READ),
    Row(
        "podberth-controller",
        "get",
        f"{OPERATORS} {ROLE_INSTANCES} statefulsets.apps leaderworkersets.leaderworkerset.x-k8s.io",
        "whose a gang is, and how many pods it has",
        _READ,
    ),
    Row(
        "podberth-controller",
        "list watch",
        "gpupolicies.podberth.io podgroups.scheduling.run.ai podgroups.scheduling.volcano.sh",
        "policies with claimTemplates or gang.system; an Event if a group of KAI or Volcano does not come",
        "read them in every namespace",
    ),
    Row(
        "podberth-controller",
        "list watch create patch",
        """podgroups.scheduling.k8s.io podgroups.scheduling.sigs.k8s.io podgroups.scheduling.x-k8s.io
        resourceclaimtemplates.resource.k8s.io""",
        "the groups and claim templates that it makes and resizes",
        "keep gangs waiting, or start them in parts, by groups and templates that podberth made; of nobody else's",
        "",
        *_CONTROLLER,
    ),
    Row(
        "podberth-controller",
        "create patch",
        "events.events.k8s.io",
        "why a group or a claim template was not made",
        "say anything in its own Events, as the webhook; none of the webhook's",
        "",
        *_EVENTS,
    ),
    Row(
        "podberth-controller",
        "create",
        "leases.coordination.k8s.io",
        "one replica acts",
        "make its own Lease, and no heartbeat of a node",
        OWN_NAMESPACE,
        *_LEASE,
    ),
    Row(
        "podberth-controller",
        "get patch",
        "leases.coordination.k8s.io/podberth-controller",
        "one replica acts",
        "keep the controller from acting: gangs wait",
        OWN_NAMESPACE,
        *_LEASE,
    ),
    # ---- the controller with the floor: manifests/components/floor
    Row(
        "podberth-controller-floor",
        "list watch",
        "nodes deviceclasses.resource.k8s.io",
        "the cluster's accelerators and their taints",
        "read them",
    ),
    Row(
        "podberth-controller-floor",
        "list watch patch",
        "configmaps/podberth-floor",
        "the params of the floor's policies",
        "have new pods tolerate any taint while podberth does not answer, or deny names of devices; by no other object",
        OWN_NAMESPACE,
        proof="tests/e2e/test_floor.py::test_the_service_account_writes_this_config_map_and_no_other",
    ),
    # ---- the audit: manifests/components/audit
    Row("podberth-audit", "list", PLACEMENT, "judges as the webhook does", "read them in every namespace"),
    Row(
        "podberth-audit",
        "get",
        "validatingwebhookconfigurations.admissionregistration.k8s.io/podberth",
        "which namespaces the webhook leaves out",
        "read which reviews are sent",
    ),
    Row(
        "podberth-audit",
        "list",
        " ".join(
            f"{each}.admissionregistration.k8s.io"
            for each in (
                "mutatingadmissionpolicies",
                "mutatingadmissionpolicybindings",
                "validatingadmissionpolicies",
                "validatingadmissionpolicybindings",
            )
        ),
        "native policies judge, too",
        "read what the cluster's native policies refuse",
    ),
    Row("podberth-audit", "list", OPERATORS + OTHER_WORKLOADS, "the workloads that are judged", _READ),
    Row(
        "podberth-audit",
        "list",
        "configmaps leases.coordination.k8s.io",
        "params, and what agents publish",
        "read params and nodes",
        OWN_NAMESPACE,
    ),
    Row(
        "podberth-audit",
        "list create patch delete",
        "policyreports.wgpolicyk8s.io reports.openreports.io",
        "the reports that it keeps",
        "read all reports, and change or delete podberth's own; of nobody else's",
        "",
        *_AUDIT,
    ),
    # ---- params of tenants: manifests/components/namespace-params
    Row(
        "podberth-namespace-params",
        "list watch",
        "configmaps",
        "params of each namespace, with the component namespace-params",
        "read every ConfigMap of the cluster; it is not part of the default installation",
        proof=f"{_TENANTS} {_GRANTED}",
    ),
    Row(
        "podberth-audit-namespace-params",
        "list",
        "configmaps",
        "the same",
        "read every ConfigMap of the cluster; it is not part of the default installation",
    ),
    # ---- whoever asks for the status, bound to nobody: manifests/base/viewer.yaml
    Row(
        "podberth-viewer",
        "list",
        "nodes namespaces pods events gpupolicies.podberth.io gpupolicyexceptions.podberth.io "
        "namespacedgpupolicies.podberth.io resourceslices.resource.k8s.io resourceclaims.resource.k8s.io",
        "policies and topology; slices and claims: what is free; pods and namespaces: who was let through; events: who "
        "was denied",
        "read them in every namespace: pods with their environment among them",
        proof=_VIEWER,
    ),
    Row(
        "podberth-viewer", "get", f"{CONFIGURATIONS} {GUARDS} {FLOOR}", "what is installed", "read them", proof=_VIEWER
    ),
    Row(
        "podberth-viewer",
        "list",
        "pods configmaps leases.coordination.k8s.io",
        "replicas; policies of files, params and topology",
        "read podberth's own pods, policies and nodes",
        OWN_NAMESPACE,
        proof=_VIEWER,
    ),
    Row(
        "podberth-viewer",
        "get",
        "deployments.apps/podberth deployments.apps/podberth-controller",
        "what is installed",
        "read",
        OWN_NAMESPACE,
        proof=_VIEWER,
    ),
    Row(
        "podberth-viewer",
        "get",
        "pods/proxy",
        "the replicas' metrics",
        "GET any path of any port of podberth's own pods",
        OWN_NAMESPACE,
        proof=_VIEWER,
    ),
    Row(
        "podberth-viewer",
        "get",
        "daemonsets.apps/podberth-agent",
        "what is installed",
        "read it",
        "podberth-agent",
        proof=_VIEWER,
    ),
    # ---- whoever may exempt a namespace, bound to nobody: manifests/base/exemption.yaml
    Row(
        "podberth-exempt",
        "exempt",
        "namespaces",
        "whoever may exempt a namespace",
        "take namespaces out of podberth",
        proof="tests/deployment/test_guards.py::test_who_has_the_verb_on_a_namespace_exempts_that_one",
    ),
    # ---- whoever may except pods from policies, bound to nobody: manifests/base/exceptions.yaml
    Row(
        "podberth-exceptions",
        "get list watch create update patch delete",
        "gpupolicyexceptions.podberth.io",
        "whoever may except pods",
        "except pods from policies, each time for a year at most and with a name in the audit log",
        proof="tests/e2e/test_exceptions.py::test_the_webhook_refuses_more_than_a_year_and_a_broken_expression "
        "tests/unit/admission/test_excepting.py::test_another_policy_still_denies_and_the_audit_annotation_stays",
    ),
    # ---- whoever may write policies of their namespace, bound to nobody: manifests/base/namespaced-policies.yaml
    Row(
        "podberth-namespaced-policies",
        "get list watch create update patch delete",
        "namespacedgpupolicies.podberth.io",
        "whoever writes policies of their own namespace",
        "deny pods with GPUs where it is bound, and warn of them; nothing else",
        proof="tests/e2e/test_namespaced.py::test_a_namespaces_admin_tightens_their_own_namespace_and_no_other",
    ),
)
