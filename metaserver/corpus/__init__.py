"""Readers of articles as plain text: text files, JATS and publishers' XML, PubMed, BioC.

They return values and store nothing.
"""

from metaserver.corpus.reader import read_articles

__all__ = ["read_articles"]
