"""The mutations: one module for each, called as policies call it, with one ``CONCERN`` that says all of it.

Most add to what the user wrote, take nothing away, and do nothing twice. Two write what the policy says, whatever the
user wrote: ``apply_configuration`` and ``json_patch``, within ``bounds``. The modules do not know each other, the
policy that asked, or the cluster; what several of them need is beside this package.
"""
