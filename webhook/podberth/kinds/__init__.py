"""The facts about controllers, schedulers, queues and kinds of other projects: one dossier for each, with sources.

A dossier states where objects have pod templates, and which fields controllers write on pods. It states what podberth
reads from an owner of pods, how pods name their gang, and which fields podberth leaves alone.
``dossiers`` lists all dossiers. No dossier imports another; the other modules of this room have the facts that several
dossiers share. This room decides nothing: ``topology``, ``workload`` and ``group_checks`` make their tables from the
list of dossiers.
"""
