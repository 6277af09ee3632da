"""The UniProt release index: its build, and its verdicts on accessions.

Releases are folders of files outside the store.
"""

from metaserver.uniprot.build import build_release
from metaserver.uniprot.directory import NamedEntry, NameDirectory
from metaserver.uniprot.release import Release
from metaserver.uniprot.verdicts import AccessionVerdict, Ruling, SecondaryPolicy, Status
from metaserver.uniprot.vocabulary import FormatVocabulary, ReleaseVocabulary

__all__ = [
    "AccessionVerdict",
    "FormatVocabulary",
    "NameDirectory",
    "NamedEntry",
    "Release",
    "ReleaseVocabulary",
    "Ruling",
    "SecondaryPolicy",
    "Status",
    "build_release",
]
