"""Pure builders, one per concern: each adds to what the user wrote, takes nothing away, and does nothing twice.

Two write what the policy says, whatever the user wrote: ``apply_configuration`` and ``json_patch``, within ``bounds``.

A builder gets a draft of the pod and the plain value of a policy's leaf, checks that value as far as it relies on it (a
wrong one is the policy author's fault: EvaluationError), and returns what it wrote, or None. Builders do not know each
other, the policy that asked, or the topology.
"""
