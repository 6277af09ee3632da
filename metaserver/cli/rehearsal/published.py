"""Scores that runs of BioCreative II.5 got, as targets for simulated servers.

Source: F. Leitner, S. A. Mardis, M. Krallinger, G. Cesareni, L. A. Hirschman, A. Valencia, "An
Overview of BioCreative II.5", IEEE/ACM Transactions on Computational Biology and Bioinformatics
7(3), 2010, tables 1 (ACT), 2 (INT) and 3 (IPT), as read from the article for this project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

ARTICLES, TEAMS, SERVERS = 595, 15, 40
RELEVANT = 63


class Classified(NamedTuple):
    """Targets of an ACT run."""

    specificity: float
    sensitivity: float
    auc_ipr: float


class Listed(NamedTuple):
    """Targets of an INT or IPT run."""

    precision: float
    recall: float
    auc_ipr: float


ACT = (
    Classified(0.487, 0.952, 0.464), Classified(0.863, 0.667, 0.550),
    Classified(0.852, 0.667, 0.560), Classified(0.962, 0.524, 0.648),
    Classified(0.908, 0.698, 0.615), Classified(0.981, 0.413, 0.675),
    Classified(0.938, 0.698, 0.672), Classified(0.573, 0.905, 0.223),
    Classified(0.658, 0.730, 0.228), Classified(0.930, 0.349, 0.395),
    Classified(0.908, 0.270, 0.278), Classified(0.944, 0.524, 0.550),
    Classified(0.932, 0.429, 0.454), Classified(0.957, 0.587, 0.699),
    Classified(0.842, 0.857, 0.657), Classified(0.944, 0.571, 0.435),
)  # fmt: skip
INT = (
    Listed(0.304, 0.291, 0.247), Listed(0.192, 0.359, 0.276), Listed(0.165, 0.161, 0.133),
    Listed(0.190, 0.188, 0.149), Listed(0.206, 0.561, 0.373), Listed(0.253, 0.355, 0.306),
    Listed(0.234, 0.439, 0.338), Listed(0.029, 0.596, 0.373), Listed(0.028, 0.584, 0.301),
    Listed(0.028, 0.181, 0.079), Listed(0.144, 0.397, 0.160), Listed(0.162, 0.397, 0.181),
    Listed(0.068, 0.444, 0.178), Listed(0.212, 0.485, 0.242), Listed(0.221, 0.503, 0.304),
    Listed(0.434, 0.482, 0.386), Listed(0.167, 0.475, 0.303), Listed(0.195, 0.333, 0.227),
    Listed(0.105, 0.535, 0.333), Listed(0.015, 0.646, 0.432),
)  # fmt: skip
IPT = (
    Listed(0.128, 0.146, 0.128), Listed(0.116, 0.129, 0.123), Listed(0.074, 0.193, 0.155),
    Listed(0.120, 0.145, 0.134), Listed(0.037, 0.038, 0.035), Listed(0.068, 0.083, 0.063),
    Listed(0.290, 0.236, 0.208), Listed(0.004, 0.299, 0.079), Listed(0.146, 0.066, 0.057),
    Listed(0.180, 0.108, 0.096), Listed(0.123, 0.101, 0.086), Listed(0.080, 0.278, 0.150),
    Listed(0.103, 0.323, 0.187), Listed(0.115, 0.347, 0.223), Listed(0.213, 0.296, 0.194),
    Listed(0.022, 0.226, 0.061), Listed(0.019, 0.173, 0.053), Listed(0.037, 0.325, 0.079),
)  # fmt: skip
TARGETS: Mapping[str, Sequence[Classified | Listed]] = {"ACT": ACT, "INT": INT, "IPT": IPT}
TASKS = tuple(TARGETS)
