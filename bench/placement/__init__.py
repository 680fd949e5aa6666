"""What becomes of a cluster's GPUs: the OpenB trace replayed against the real kube-scheduler, podberth off and on.

    trace      the trace's two files, read, and a sample of them; no more than they say
    overlay    what the trace does not say: products, links, MIG layouts and racks, by a rule
    partitions MIG machines otherwise: as `podberth plan mig` lays them out, and behind a DRA driver
    manifests  a pod of the trace as a user would write it
    replay     a real API server and scheduler, podberth in front: which pod came out how, and where
    accounts   which devices each placed pod holds
    fragments  fragmentation as the FGD paper defines it
    outcome    the figures of one replay
    report     the tables
    plots      curves and bars as SVG
    __main__   all of it: ``python -m bench.placement --trace FOLDER``

Only ``replay`` and ``__main__`` touch anything outside; the others are pure. The figures: ../README.md.
"""
