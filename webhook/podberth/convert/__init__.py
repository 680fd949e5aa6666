"""GPUPolicies as native policies with their bindings, and native policies about pods as GPUPolicies.

What the other kind has no words for is left out and named. A policy is never made stricter or wider in silence: if a
condition cannot be said, the policy is not written. Nothing is evaluated here.
"""
