"""Converts GPUPolicies to native policies with bindings, and native policies about pods to GPUPolicies.

A native policy is a ValidatingAdmissionPolicy. A part of a GPUPolicy that a native policy cannot express is left out
and reported, and the reverse. No policy becomes stricter or wider in silence: if a match condition cannot be expressed,
the whole policy is left out. No policy is evaluated here.
"""
