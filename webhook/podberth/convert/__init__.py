"""Converts GPUPolicies to native policies with bindings, and native policies about pods to GPUPolicies.

A native policy is a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy. A part of a policy that the other kind of
policy cannot express is left out and reported. No policy becomes stricter or wider in silence: if a match condition
cannot be expressed, the whole policy is left out. No policy is evaluated here.
"""
