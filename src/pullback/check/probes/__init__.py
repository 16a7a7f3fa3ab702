"""The experiments, one per file, found by existing.

A probe is a module with a function ``probe(case)`` that yields findings, a line of documentation, and ``NEEDS``: how
far the plain experiment must have come for it to make sense (``nothing``, ``forward`` or ``gradient``).
"""
