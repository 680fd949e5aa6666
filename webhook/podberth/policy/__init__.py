"""The policy engine: GPUPolicy documents are parsed, matched, compiled and evaluated.

``mutation`` and ``admission`` apply its decisions; this room does not depend on them.
"""
