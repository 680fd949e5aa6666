"""The files of a repository that belong to a chart, and those that are patches."""

from pathlib import Path

import pytest

from podberth.files.repository import charts, patches


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a chart in a chart, and a kustomization based on another."""
    for name, text in {
        "web/Chart.yaml": "",
        "web/values.yaml": "",
        "web/templates/a.yaml": "",
        "web/templates/jobs/b.yaml": "",
        "web/charts/db/Chart.yaml": "",
        "web/charts/db/templates/c.yaml": "",
        "templates/d.yaml": "",
        "base/kustomization.yaml": "resources: [d.yaml]\n",
        "base/d.yaml": "",
        "over/kustomization.yaml": "resources: [../base]\npatches: [{path: ./p.yaml}, {path: ../shared/q.yaml}]\n",
        "over/p.yaml": "",
        "shared/q.yaml": "",
        "broken/kustomization.yaml": "patches: [\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def below(root: Path) -> list[str]:
    return sorted(str(each) for each in root.rglob("*.yaml"))


def test_templates_belong_to_the_outermost_chart(root: Path) -> None:
    names = ("web/charts/db/templates/c.yaml", "web/templates/a.yaml", "web/templates/jobs/b.yaml")
    assert charts(below(root)) == {str(root / name): str(root / "web") for name in names}


def test_a_folder_in_a_chart_is_still_the_charts(root: Path) -> None:
    file = str(root / "web" / "templates" / "jobs" / "b.yaml")
    assert charts([file]) == {file: str(root / "web")}


def test_patches_are_found_wherever_they_stand(root: Path) -> None:
    by = str(root / "over" / "kustomization.yaml")
    assert patches(below(root)) == {str(root / "over" / "p.yaml"): by, str(root / "shared" / "q.yaml"): by}
