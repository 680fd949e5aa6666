"""Reviews of mutated real pods by the hundred thousand, and what must be true of every answer.

    python -m bench.fuzz [--reviews 1000000] [--seed 1] [--jobs 2] [--seconds S] [--first CASE] [--only CASE]

A *case* is a number. It is one pod, workload, policy or broken envelope, and the few reviews that the API server would
send of it: the pod, the pod that podberth made of it, both to /validate, a copy elsewhere, an update. All of a case
follows from the seed and its number. A *batch* is 250 cases that one snapshot answers, so that answers come from
memory; batches share nothing, so the counts are the same whatever the number of processes.

    material   real pods, workloads and policies: captured reviews, manifests of the tests, examples, the load of bench
    worlds     the snapshots that answer
    values, pods, gangs, wrong, records, envelopes
               what is changed about them; each change is a named feature, and is counted
    port       the real handler, behind a connection in memory and behind TLS on loopback
    stage      asks one review and judges the one answer
    stories    the reviews of a case, and what their answers must have to do with each other
    batches    runs batches, here or in processes
    tally      what is counted
"""
