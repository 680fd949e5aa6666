"""The mutations of policies and their modules are the same, each called as policies call it."""

import pkgutil
import re

from podberth.mutation import concerns
from podberth.mutation.pipeline import PIPELINE
from podberth.policy.model import CONCERNS


def test_each_mutation_of_a_policy_has_its_place_in_the_pipeline() -> None:
    assert [concern.name for concern in PIPELINE] == list(CONCERNS)


def test_each_mutation_has_a_module_of_its_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(concerns.__path__)}
    assert modules == {re.sub("([A-Z])", r"_\1", concern.name).lower() for concern in PIPELINE}
