"""Native policies judged by podberth and by a real API server, pair by pair: generated from a seed, put to both.

    PYTHONPATH=tests .venv/bin/python -m differential --policies 1000 --seed 1

prints how many pairs of policy and object there were, and each in which the two differ. A test runs a part:
tests/e2e/test_native_policies.py.
"""
