"""The policy engine: GPUPolicy documents are parsed, matched, compiled and evaluated.

``mutation`` and ``admission`` apply its decisions; nothing here knows how.
"""
