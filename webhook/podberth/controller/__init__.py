"""``podberth controller``: of several replicas one acts for waiting pods. What it does is ``reconcile``'s."""
