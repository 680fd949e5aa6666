"""docs/README.md leads from a reader's question to the section that answers it."""

import pytest

from pages import page, rows

QUESTIONS = rows(page("docs/README.md"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How do I keep podberth away from a namespace or a pod?", "install.md#exempt-a-namespace"),
        (
            "What happens when podberth is down, and how many replicas make it highly available?",
            "operating.md#when-podberth-is-down",
        ),
        ("How do I try a policy that refuses nobody yet, and go from Warn to Deny?", "check.md#before-you-turn-it-on"),
        (
            "Why was my pod not changed? How do I debug a policy that does nothing?",
            "troubleshooting.md#a-pod-comes-out-as-it-was-written",
        ),
        ("How do I check a Helm chart in GitLab CI?", "ci.md#gitlab-ci"),
        ("Which rights in RBAC do webhook, controller and agent have, and why?", "security.md#rights"),
        ("Who renews the webhook's certificate before it expires, and what if nobody does?", "operating.md#tls"),
        ("How do I stop podberth at once, in an incident or another emergency?", "upgrade.md#break-glass"),
        ("How do I rotate certificates by hand?", "../certs/README.md#runbook-rotate"),
        ("How do I rotate the key of records?", "operating.md#the-key-of-records"),
        ("Which labels and annotations may a user write?", "labels.md#podberths-own"),
        ("Does it work with Kueue, Volcano, KAI, KubeRay …?", "systems.md"),
        ("What is a gang?", "concepts-gangs.md"),
        ("How does podberth know the topology?", "concepts-topology.md#where-the-facts-are-from"),
        ("Can podberth read Secrets, and can that right be taken away?", "security.md#rights"),
        ("Which nodes have NVLink, and how is that known?", "concepts-topology.md#where-the-facts-are-from"),
        ("How is a MIG slice chosen?", "concepts-mig.md#how-a-slice-is-chosen"),
        ("What does it remember between reviews?", "concepts-memory.md#what-is-remembered"),
        ("How do pods tolerate our own taint?", "operating.md#own-taints-and-labels"),
        ("How do I upgrade, roll back or remove it?", "upgrade.md#uninstall"),
    ],
)
def test_a_question_leads_to_the_section_that_answers_it(question: str, answer: str) -> None:
    assert f"]({answer})" in QUESTIONS[question][1]
