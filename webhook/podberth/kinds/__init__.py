"""All that podberth knows of things that are not its own: one dossier for each, with the source of every fact.

A dossier says where the pod templates of a thing stand, what its controllers write on pods, what is read of it as an
owner, how its pods name their gang, and what podberth leaves alone. ``dossiers`` lists them; no dossier imports
another: what several of them share is in the plain modules of this room. Nothing is decided here: ``topology``,
``workload`` and ``group_checks`` make their tables from the list.
"""
