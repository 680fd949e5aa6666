"""Admission: an AdmissionReview in, a decision and an answer out. Pure and total; the transport is elsewhere.

A review is read once: ``review`` reads the envelope, ``checked`` the shape of the pod, ``description`` what it asks for
and belongs to. The stages follow in the order in which ``decide`` calls them: ``matching``, ``asking``, ``writing`` or
``judging``, ``answering``. The stages share ``under_review``; ``snapshot`` has all else that a decision may read.
"""
