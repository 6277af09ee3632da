"""Readers of articles as plain text: text files, JATS, Elsevier, PubMed, BioC XML and BioC JSON.

They return values and store nothing. It may import model.
"""

from metaserver.corpus.reader import read_articles

__all__ = ["read_articles"]
