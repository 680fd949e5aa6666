"""The facts about controllers, schedulers, queues and kinds of other projects: one dossier for each, with sources.

A dossier states the paths of pod templates in objects, the fields that controllers write on pods, the fields that
podberth reads from an owner of pods, the way in which pods name their gang, and the fields that podberth leaves alone.
``dossiers`` lists all dossiers. No dossier imports another; the other modules of this room have the facts that several
dossiers share. This room decides nothing: ``topology``, ``workload`` and ``group_checks`` make their tables from the
list of dossiers.
"""
