import pytest

from podberth.workload.models import LONGEST, NamedModel, named


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", 70),
        ("llama3.3:70b", 70),
        ("llama70b", 70),
        ("/models/llama-70b/", 70),
        ("Qwen/Qwen2.5-1.5B", 1.5),
        ("Qwen2.5-0.5b-instruct", 0.5),
        ("Qwen/Qwen3-235B-A22B-FP8", 235),
        ("someone/Llama-3-8B-from-70B", 8),  # the smaller, for certain
        ("meta-llama/Llama-2-7b_hf", 7),
    ],
)
def test_a_size_is_a_little_less_than_its_name_says(name: str, billions: float) -> None:
    assert named(name).millions == int(billions * 960)


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 46_700),
        ("mistralai/Mixtral-8x22B-v0.1", 140_600),
        ("someone/Llama-8X3B-MoE", 16_800),  # 18.4 by its card
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 108_000),
        ("meta-llama/Llama-4-Maverick-17B-128E", 400_000),
    ],
)
def test_a_mixture_is_more_than_one_expert_and_less_than_all_of_them(name: str, millions: int) -> None:
    assert named(name).millions == millions


@pytest.mark.parametrize(
    "name",
    [
        "",
        "ours",
        "Qwen/Qwen1.5-MoE-A2.7B",
        "google/gemma-3n-E4B-it",
        "ours-v2b",
        "ours-8bit",
        "ours-70bits",
        "ours-70b2",
        "ours-2024.70b.5",
        "ours-123456b",
        "ours-5000b",
        "ours-0b",
        "ours-3T",
        "/runs/1f7b23cd-123b-4abc-8def-0123456789ab/checkpoint",
        "models--ours/snapshots/1234567b",
        "models--ours/snapshots/8bffabc70b",
        "\u0667\u0660b",  # 70 in other digits
        "x" * LONGEST + "-70b",
    ],
)
def test_what_is_no_size_is_none(name: str) -> None:
    assert named(name).millions == 0


@pytest.mark.parametrize(
    "name", ["Llama-3.1-8B", "qwen2.5-72b", "gemma-2-27b", "CodeLlama-34b", "falcon-40b", "QwQ-32B"]
)
def test_families_without_experts_are_dense(name: str) -> None:
    assert named(name).is_dense


@pytest.mark.parametrize(
    "name",
    [
        "Qwen3-30B-A3B",
        "Qwen2-57B-A14B",
        "Llama-3-4x8B",
        "Llama-3-MoE-8B",
        "Llama-4-Scout-17B-16E",
        "gpt-oss-120b",
        "x-70b",
    ],
)
def test_others_may_have_some(name: str) -> None:
    assert not named(name).is_dense


def test_nothing_is_known_of_a_name_without_a_size() -> None:
    assert named("ours") == NamedModel(0, is_dense=False)
