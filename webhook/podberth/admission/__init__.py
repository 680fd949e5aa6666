"""Decides on AdmissionReviews and returns the answers, without I/O. The package ``server`` has the HTTP part.

``review`` reads the envelope of a review, ``checked`` checks the shape of the pod, and ``description`` collects the
pod's accelerators and gang. Then ``decide`` runs the steps of the decision, one module each: ``matching``, ``asking``,
``writing`` (/mutate) or ``judging`` (/validate), ``answering``. The steps share one object,
``under_review.PodUnderReview``. ``snapshot`` has the policies and the state of the cluster, which a decision may also
read.
"""
