"""The evaluator: INT, IPT and ACT runs scored as BioCreative II.5 did. Pure; needs no hub."""
