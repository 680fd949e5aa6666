"""One module for each mutation, named after the mutation's field in policies. ``CONCERN`` describes the mutation.

Most mutations only add to the user's fields, and a second application changes nothing. ``apply_configuration`` and
``json_patch`` may also replace and remove fields, within the limits of ``forbidden_fields``. The modules do not import
each other, and do not read the policy or the cluster; shared code is in ``mutation``.
"""
