"""How long does ``podberth check`` take? ``python -m bench.check``.

Whole processes, as a person or a CI job starts them, each with the policies that podberth ships and no snapshot. Cold
start is held against the interpreter's own and, where the control plane's kubectl has been built, against ``kubectl
version --client``; manifests are those of ``tests/manifests``, each with a name of its own.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .figures import RATIO_HEADER, Ratio, table

_ROOT = Path(__file__).parents[1]
_ROUNDS = 7
_ENVIRONMENT = {"PYTHONPATH": str(_ROOT / "webhook"), "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "")}
_CHECK = (sys.executable, "-m", "podberth", "check", "-o", "json")
_COLD_SECONDS, _THOUSAND_SECONDS = 0.35, 2.0


def main() -> int:
    """Measure and print; return 1 where a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder, "1000"), Path(folder, "10000")
        _write(few, 1_000)
        _write(many, 10_000)
        pod = str(_ROOT / "examples" / "cuda-pod.yaml")
        commands: dict[str, Sequence[str]] = {
            "python -c pass": (sys.executable, "-c", "pass"),
            "check, one pod": (*_CHECK, pod),
            "check, one pod, text": (*_CHECK[:-1], "text", pod),
        }
        kubectl = next(iter(sorted((Path.home() / ".cache" / "podberth").rglob("kubectl"))), None)
        if kubectl is not None:
            commands["kubectl version --client"] = (str(kubectl), "version", "--client")
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(_ROUNDS):
            for name, command in commands.items():
                times[name].append(_seconds(command))
        thousand = [_seconds((*_CHECK, str(few))) for _ in range(3)]
        one = [_seconds((*_CHECK, str(many), "--jobs", "1"))]
        two = [_seconds((*_CHECK, str(many), "--jobs", "2"))]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    cold = times["check, one pod"]
    ratios = [
        Ratio(name="one pod, seconds", each=tuple(cold), most=_COLD_SECONDS),
        Ratio(name="one pod / python -c pass", each=_over(cold, times["python -c pass"])),
        Ratio(name="one pod as text / as JSON", each=_over(times["check, one pod, text"], cold)),
        Ratio(name="1,000 manifests, seconds", each=tuple(thousand), most=_THOUSAND_SECONDS),
        Ratio(name="10,000 manifests, two processes / one", each=_over(two, one)),
    ]
    if kubectl is not None:
        ratios.insert(
            2, Ratio(name="one pod / kubectl version --client", each=_over(cold, times["kubectl version --client"]))
        )
    print(table(RATIO_HEADER, [each.row() for each in ratios]))
    print(
        f"\n10,000 manifests: {one[0]:.1f} s in one process, {two[0]:.1f} s in two; at most {peak:.0f} MiB in a process"
    )
    return int(any(each.verdict == "MISSED" for each in ratios))


def _write(folder: Path, count: int) -> None:
    """Write ``count`` manifests of every kind in turn."""
    folder.mkdir()
    texts = [file.read_text(encoding="utf-8") for file in sorted((_ROOT / "tests" / "manifests").glob("*.yaml"))]
    for number in range(count):
        text = texts[number % len(texts)].replace("\n  name: ", f"\n  name: n{number}-", 1)
        (folder / f"{number:05}.yaml").write_text(text, encoding="utf-8")


def _seconds(command: Sequence[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, check=False)
    took = time.perf_counter() - start
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.decode()[-500:]}")
    return took


def _over(these: Sequence[float], those: Sequence[float]) -> tuple[float, ...]:
    return tuple(this / that for this, that in zip(these, those, strict=True))


if __name__ == "__main__":
    sys.exit(main())
