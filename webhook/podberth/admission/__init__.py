"""Admission: takes an AdmissionReview, decides on it and returns the answer. It does no I/O; ``server`` has the HTTP.

A review is read once: ``review`` reads the envelope, ``checked`` the shape of the pod, ``description`` the accelerators
and the gang of the pod. The stages follow in the order in which ``decide`` calls them: ``matching``, ``asking``,
``writing`` or ``judging``, ``answering``. The stages share ``under_review``; ``snapshot`` has the policies and the
state of the cluster, which a decision may also read.
"""
