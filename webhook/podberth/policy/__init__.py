"""The policy engine: GPUPolicy documents parsed, matched, compiled and evaluated.

Nothing here knows how a verdict is carried out: that is ``mutation`` and ``admission``.
"""
