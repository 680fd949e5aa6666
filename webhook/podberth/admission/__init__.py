"""Admission: an AdmissionReview in, a decision and an answer out. Pure and total; the transport is elsewhere.

``review`` reads the envelope, ``response`` builds every answer there is, ``snapshot`` is all a decision may know,
``mutate``, ``validate`` and ``workload`` decide.
"""
