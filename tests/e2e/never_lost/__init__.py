"""Never a lost pod: what is done to podberth and its cluster while pods are created, and what of them may suffer.

`scenarios` has the table, `disturbances` and `hosts` what is done, `stage` what it is done to, `judge` what is right.
tests/e2e/test_never_lost.py and test_service_reference.py hold each row to its promise; `python -m bench.never_lost`
prints docs/never-lost.md's figures.
"""
