"""The two demonstrations: ``make demo`` (offline.py) and ``make demo-cluster`` (cluster.py).

Both show podberth as a user meets it: the real server over HTTPS, the manifests of ``examples/``, the policies of
``policies/``. The first gives it a snapshot of its cluster. In the second it is installed from ``manifests/``
(install.py) and follows a live one, for which the agents' own code publishes (agents.py), and which changes under it in
the last act (changes.py). Here live the simulated cluster and what it takes to show what happened; nothing here decides
anything. Results go to stdout, the steps to stderr.
"""
