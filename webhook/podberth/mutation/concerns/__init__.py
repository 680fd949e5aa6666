"""One module for each mutation, with the name that policies give it; its ``CONCERN`` says everything about it.

Most mutations add to the user's fields, take nothing away, and do nothing twice. ``apply_configuration`` and
``json_patch`` write what the policy says, whatever the user wrote, within ``bounds``. The modules do not know each
other, the policy, or the cluster; code that several of them share is in ``mutation``.
"""
