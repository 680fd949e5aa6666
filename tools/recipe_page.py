"""Write the recipes of docs/recipes.md from their folders in docs/recipes/.

.venv/bin/python tools/recipe_page.py           # writes what has changed
.venv/bin/python tools/recipe_page.py --check   # writes nothing; exits with 1 and says what is stale
"""

import sys
from pathlib import Path

from generated import main, spliced

ROOT = Path(__file__).parents[1]
PAGE = "docs/recipes.md"
FOLDER = ROOT / "docs" / "recipes"

# The section of each recipe, in the page's order.
SECTIONS = {
    "limits": ("gpu-limit-by-namespace", "slices-for-notebooks", "only-operators", "end-of-bare-pods"),
    "places": ("own-nodes", "small-on-l4", "training-on-hopper", "spot-if-asked", "gang-in-one-rack"),
    "settings": (
        "priority-by-size",
        "memory-by-another-key",
        "nvidia-runtime",
        "nccl-settings",
        "shared-memory",
        "time-to-save",
        "leave-large-pods",
    ),
    "order": (
        "team-label",
        "default-queue",
        "cost-center",
        "own-registry",
        "no-moving-tag",
        "no-host-network",
        "cpus-for-the-others",
    ),
}


def _recipe(name: str) -> str:
    text = (FOLDER / name / "policy.yaml").read_text(encoding="utf-8")
    return (
        f"### {name}\n\n```yaml recipes/{name}/policy.yaml\n{text.rstrip()}\n```\n\n"
        f"[Its tests](recipes/{name}/tests.yaml)\n"
    )


if __name__ == "__main__":
    parts = {section: "\n".join(map(_recipe, names)) for section, names in SECTIONS.items()}
    sys.exit(main({PAGE: spliced(PAGE, parts)}))
