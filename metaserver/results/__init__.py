"""Results packages: all that a paper on a phase needs, as files, from its freeze on.

It may import scoring, phases, curation and all below.
"""
